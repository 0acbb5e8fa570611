//! Markdown to HTML that is safe to show.
//!
//! Links of ours become `wiki://page/SLUG`, citations `memory://ID`, the addresses that MCP uses; who shows a page turns
//! them into its own. Formulas and code keep their text for scripts that draw them.

use std::{collections::HashSet, sync::LazyLock};

use ammonia::Builder;
use comrak::{Options, markdown_to_html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::markup::{Reference, references};

const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::default();
    cleaner
        .add_url_schemes(["memory", "wiki"])
        .add_tag_attributes("code", ["class", "data-math-style"])
        .add_tag_attributes("span", ["data-math-style"])
        .add_tag_attributes("pre", ["lang"])
        .add_tags(["input", "section"])
        .set_tag_attribute_value("input", "disabled", "")
        .add_tag_attribute_values("input", "type", ["checkbox"])
        .add_tag_attributes("input", ["checked"])
        .add_allowed_classes("section", ["footnotes"])
        // Pictures of other servers tell these who reads.
        .rm_tags(["img"])
        .link_rel(Some("noopener noreferrer nofollow"));
    cleaner.clean_content_tags(HashSet::from(["script", "style", "template", "noscript"]));
    cleaner
});

/// A page as HTML.
pub fn html(text: &str) -> String {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.autolink = true;
    options.extension.footnotes = true;
    options.extension.math_dollars = true;
    options.extension.cjk_friendly_emphasis = true;
    options.render.r#unsafe = true;
    CLEANER.clean(&markdown_to_html(&linked(text), &options)).to_string()
}

/// The text with our links and citations as links of Markdown.
fn linked(text: &str) -> String {
    let mut linked = String::with_capacity(text.len());
    let mut at = 0;
    for (place, reference) in references(text) {
        linked.push_str(&text[at..place.start]);
        at = place.end;
        match reference {
            Reference::Link { name, label } => {
                let label = label.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
                linked.push_str(&format!("[{label}](wiki://page/{})", utf8_percent_encode(&name, KEPT)));
            }
            Reference::Citation { given, memory: Some(memory) } => {
                linked.push_str(&format!("[\\[{}\\]](memory://{memory})", &given[given.len().saturating_sub(4)..]));
            }
            Reference::Citation { memory: None, .. } => linked.push_str(&text[place]),
        }
    }
    linked.push_str(&text[at..]);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_runs_or_hides_gets_through() {
        for text in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "![x](https://tracker.example/x.png)",
            "[x](javascript:alert(1))",
            "<a href='java\tscript:alert(1)'>x</a>",
            "<div style='display:none' onclick=x()>y</div>",
            "<svg><script>alert(1)</script></svg>",
            "<iframe src='https://evil.example'></iframe>",
            "<form action='/x'><input type=password name=p></form>",
            "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
            "[[x|<img src=x onerror=alert(1)>]]",
            "<!-- hidden -->",
        ] {
            let html = html(text).to_lowercase();
            for bad in [
                "<script",
                "onerror=",
                "<img",
                "href=\"javascript",
                "style=",
                "onclick=",
                "<iframe",
                "<form",
                "password",
                "<!--",
                "<svg",
            ] {
                assert!(!html.contains(bad), "{text} gives {html}");
            }
        }
    }

    #[test]
    fn links_code_and_formulas_are_kept() {
        let id = "01940000-0000-7000-8000-00000000beef";
        let html = html(&format!(
            "# T\n\nSee [[On Call|the rota]].[^mem:{id}] $p \\nmid a$\n\n$$\nx^2\n$$\n\n```rust\nlet a = \"[[no]]\";\n```\n\n- [x] done\n"
        ));
        for kept in [
            "<h1>T</h1>",
            "href=\"wiki://page/on-call\"",
            ">the rota</a>",
            &format!("href=\"memory://{id}\""),
            "[beef]",
            "data-math-style=\"inline\"",
            "p \\nmid a",
            "data-math-style=\"display\"",
            "class=\"language-rust\"",
            "[[no]]",
            "checkbox",
        ] {
            assert!(html.contains(kept), "{kept} is missing in {html}");
        }
    }
}
