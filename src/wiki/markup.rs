//! What a page points to: `[[links]]` to pages and `[^mem:ID]` citations of memories, outside of code.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::domain::{MemoryId, PageMeta};

/// Longest slug, in bytes.
const SLUG_BYTES: usize = 256;

/// A place in a text that points elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `[[slug#section|label]]`.
    Link {
        /// Name of the page.
        name: String,
        /// What is shown.
        label: String,
    },
    /// `[^mem:ID]`; none if it is no id.
    Citation {
        /// What stands there.
        given: String,
        /// The memory.
        memory: Option<MemoryId>,
    },
}

/// Names of the pages that a text links to, in its order, each once.
pub fn links(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (_, reference) in references(text) {
        if let Reference::Link { name, .. } = reference
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The citations of a text, in its order, each once: what stands there, and the memory if it is an id.
pub fn citations(text: &str) -> Vec<(String, Option<MemoryId>)> {
    let mut found: Vec<(String, Option<MemoryId>)> = Vec::new();
    for (_, reference) in references(text) {
        if let Reference::Citation { given, memory } = reference
            && !found.iter().any(|(known, _)| *known == given)
        {
            found.push((given, memory));
        }
    }
    found
}

/// Every reference with its place.
pub(super) fn references(text: &str) -> Vec<(Range<usize>, Reference)> {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]|\[\^mem:([^\[\]\s]{1,64})\]")
            .expect("the pattern is a constant")
    });
    let mut found = Vec::new();
    for outside in outside_code(text) {
        for captures in PATTERN.captures_iter(&text[outside.clone()]) {
            let Some(whole) = captures.get(0) else { continue };
            let place = outside.start + whole.start()..outside.start + whole.end();
            let reference = match (captures.get(1), captures.get(3)) {
                (Some(target), _) => {
                    let page = target.as_str().split('#').next().unwrap_or_default();
                    let label = captures.get(2).unwrap_or(target).as_str().trim().to_owned();
                    Reference::Link { name: PageMeta::name_of(&slug_of(page)), label }
                }
                (None, Some(id)) => {
                    Reference::Citation { given: id.as_str().to_owned(), memory: id.as_str().parse().ok() }
                }
                (None, None) => continue,
            };
            found.push((place, reference));
        }
    }
    found
}

/// A title or a slug as a slug: blanks become hyphens.
pub fn slug_of(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join("-")
}

/// The title of a page that gives none: the last part of its address.
pub fn title_of_slug(slug: &str) -> String {
    slug.rsplit('/').next().unwrap_or(slug).replace(['-', '_'], " ")
}

/// Whether `slug` can be an address: letters, digits and `-_.` of any script in parts between slashes, none of them empty
/// or beginning with a dot. Such a slug is also a path of a file.
pub fn is_slug(slug: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'))
    };
    slug.len() <= SLUG_BYTES && slug.split('/').all(part)
}

/// The stretches of a text that are no code: outside of fences, and outside of backticks within a line.
pub(super) fn outside_code(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start..start + line.len();
        start = here.end;
        let bare = line.trim_start_matches(' ');
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~')).filter(|_| line.len() - bare.len() <= 3);
        let length = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        match fence {
            Some((open, least)) => {
                if mark == Some(open) && length >= least && bare[length..].trim().is_empty() {
                    fence = None;
                }
            }
            None if length >= 3 && !(mark == Some('`') && bare[length..].contains('`')) => {
                fence = mark.map(|mark| (mark, length));
            }
            None => spans(line, here.start, &mut found),
        }
    }
    found
}

fn spans(line: &str, offset: usize, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(open) = line[at..].find('`').map(|open| at + open) {
        let ticks = line[open..].bytes().take_while(|byte| *byte == b'`').count();
        let close = closing(&line[open + ticks..], ticks);
        found.push(offset + at..offset + open);
        at = match close {
            Some(close) => open + ticks + close + ticks,
            // Backticks that nothing closes are text.
            None => open + ticks,
        };
    }
    found.push(offset + at..offset + line.len());
}

/// Where the next run of exactly `ticks` backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(open) = text[at..].find('`').map(|open| at + open) {
        let run = text[open..].bytes().take_while(|byte| *byte == b'`').count();
        if run == ticks {
            return Some(open);
        }
        at = open + run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01940000-0000-7000-8000-000000000001";

    #[test]
    fn links_and_citations_are_found_outside_of_code() {
        let text = format!(
            "See [[Ops/On Call|the rota]] and [[ops/on-call#night]].[^mem:{ID}]\n`[[not]]` ``a ` [[nor]]`` [[值班]] ` [[yes]]\n\
             ```\n[[in code]] [^mem:{ID}]\n```\n~~~md\n```\n[[in code]]\n~~~\n[^mem:nonsense] [^1] [[a]b]]\n    [[indented]]\n"
        );
        assert_eq!(links(&text), ["ops/on-call", "值班", "yes", "indented"]);
        let found = citations(&text);
        assert_eq!(found, [(ID.to_owned(), ID.parse().ok()), ("nonsense".to_owned(), None)]);
    }

    #[test]
    fn slugs_are_addresses_and_paths() {
        for (slug, expected) in [
            ("ops/on-call", true),
            ("数论/二次剩余", true),
            ("C++", true),
            ("a.b", true),
            ("", false),
            ("/a", false),
            ("a/", false),
            ("a//b", false),
            ("../a", false),
            (".git/config", false),
            ("a b", false),
            ("a\u{202e}b", false),
            ("a\\b", false),
            ("a?b", false),
        ] {
            assert_eq!(is_slug(slug), expected, "{slug:?}");
        }
        assert!(!is_slug(&"a".repeat(257)));
        assert_eq!(slug_of(" On  call "), "On-call");
    }
}
