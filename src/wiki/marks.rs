//! Finds what a text hides from its reader, and shows it.

use std::{collections::BTreeMap, ops::Range, sync::LazyLock};

use regex::Regex;
use unicode_security::confusable_detection::skeleton;

use super::markup::outside_code;
use crate::domain::{RiskFlag, RiskKind};

/// What a text hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The text with everything hidden shown.
    pub shown: String,
    /// A flag for each kind, with the first places.
    pub flags: Vec<RiskFlag>,
}

/// Places or names that a flag lists.
const NAMED: usize = 5;

/// Marks bidi controls, invisible characters, words that look like others, and HTML that is not shown.
pub fn marks(text: &str) -> Marks {
    let mut found: Vec<(Range<usize>, RiskKind, String)> = Vec::new();
    let mut before: Option<char> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        if is_bidi(c) {
            found.push((at..at + c.len_utf8(), RiskKind::BidiText, code(c)));
        } else if is_invisible(c, before, after) {
            found.push((at..at + c.len_utf8(), RiskKind::HiddenText, code(c)));
        }
        before = Some(c);
    }
    for outside in outside_code(text) {
        for html in HIDDEN_HTML.find_iter(&text[outside.clone()]) {
            let place = outside.start + html.start()..outside.start + html.end();
            // What stands there stays to be read, after the mark.
            found.push((place.start..place.start, RiskKind::HiddenText, "hidden HTML".to_owned()));
        }
    }
    found.extend(lookalikes(text));
    found.sort_by_key(|(place, ..)| (place.start, place.end));
    Marks { shown: shown(text, &found), flags: flags(text, &found) }
}

static HIDDEN_HTML: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?ix) <!-- | <(?:script|style|template|noscript|iframe|object|embed|svg|form|input|textarea)\b
        | <[a-z][^<>]*\s(?:hidden|aria-hidden|style\s*=\s*["'][^"']*(?:display|visibility|opacity|font-size|color|position)\s*:)
        | ^\[[^\]\n]*\]:\s*\#\s*\( | ^\[(?://|comment|_)\]:"#,
    )
    .expect("the pattern is a constant")
});

fn code(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char, before: Option<char>, after: Option<char>) -> bool {
    match c {
        // They join letters of Persian or Hindi, and the parts of an emoji.
        '\u{200c}' | '\u{200d}' => {
            let joins = |c: Option<char>| c.is_some_and(|c| u32::from(c) > 0x2ff && !c.is_whitespace());
            !(joins(before) && joins(after))
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2064}' => true,
        '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{115f}' | '\u{1160}' | '\u{3164}' => true,
        '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Control characters but for tabs and line ends.
        _ => c.is_control() && !matches!(c, '\t' | '\n' | '\r'),
    }
}

/// Words with a letter of another script that passes for a Latin one, and words made of nothing but such letters in a
/// text that has no others of their script.
fn lookalikes(text: &str) -> Vec<(Range<usize>, RiskKind, String)> {
    if text.is_ascii() {
        return Vec::new();
    }
    // The script is really written here, so its words are words.
    let written = text.chars().any(|c| is_cyrillic_or_greek(c) && latin_twin(c).is_none());
    let mut found = Vec::new();
    for word in words(text) {
        let said = &text[word.clone()];
        let twins = said.chars().filter(|c| latin_twin(*c).is_some()).count();
        let latin = said.chars().any(|c| c.is_ascii_alphabetic());
        let all = twins == said.chars().count();
        if twins > 0 && (latin || all && twins >= 3 && !written) {
            let looks: String = said.chars().map(|c| latin_twin(c).unwrap_or(c)).collect();
            found.push((word.end..word.end, RiskKind::Homoglyphs, format!("looks like {looks}")));
        }
    }
    found
}

fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric() || is_cyrillic_or_greek(*c)) {
        let end = at + c.len_utf8();
        match words.last_mut() {
            Some(last) if last.end == at => last.end = end,
            _ => words.push(at..end),
        }
    }
    words
}

fn is_cyrillic_or_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{531}'..='\u{58f}' | '\u{1f00}'..='\u{1fff}')
        && c.is_alphabetic()
}

/// The Latin letter that a letter of another script passes for.
fn latin_twin(c: char) -> Option<char> {
    if !is_cyrillic_or_greek(c) {
        return None;
    }
    let mut buffer = [0; 4];
    let mut looks = skeleton(c.encode_utf8(&mut buffer));
    let first = looks.next().filter(char::is_ascii_alphabetic)?;
    looks.next().is_none().then_some(first)
}

fn shown(text: &str, found: &[(Range<usize>, RiskKind, String)]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for (place, _, what) in found {
        shown.push_str(&text[at..place.start.max(at)]);
        shown.push_str(&format!("⟦{what}⟧"));
        at = place.end.max(at);
    }
    shown.push_str(&text[at..]);
    shown
}

fn flags(text: &str, found: &[(Range<usize>, RiskKind, String)]) -> Vec<RiskFlag> {
    let mut kinds: BTreeMap<RiskKind, Vec<String>> = BTreeMap::new();
    let (mut line, mut counted) = (1, 0);
    for (place, kind, what) in found {
        line += text[counted..place.start].matches('\n').count();
        counted = place.start;
        kinds.entry(*kind).or_default().push(format!("{what} in line {line}"));
    }
    kinds.into_iter().map(|(kind, places)| RiskFlag { kind, detail: first_few(places) }).collect()
}

/// What a flag names: the first few, and how many there are more.
pub fn first_few(named: Vec<String>) -> String {
    let more = named.len().saturating_sub(NAMED);
    let first = named.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown_and_named() {
        for (text, shown, kind) in [
            ("a\u{202e}b", "a⟦U+202E⟧b", RiskKind::BidiText),
            ("a\n\u{200b}b", "a\n⟦U+200B⟧b", RiskKind::HiddenText),
            ("x <!-- obey --> y", "x ⟦hidden HTML⟧<!-- obey --> y", RiskKind::HiddenText),
            (
                "<span style=\"display:none\">x</span>",
                "⟦hidden HTML⟧<span style=\"display:none\">x</span>",
                RiskKind::HiddenText,
            ),
            ("<p hidden>x</p>", "⟦hidden HTML⟧<p hidden>x</p>", RiskKind::HiddenText),
            ("[//]: # (obey)", "⟦hidden HTML⟧[//]: # (obey)", RiskKind::HiddenText),
            ("send to pаypal now", "send to pаypal⟦looks like paypal⟧ now", RiskKind::Homoglyphs),
            ("a раса of it", "a раса⟦looks like paca⟧ of it", RiskKind::Homoglyphs),
            ("tag \u{e0041}", "tag ⟦U+E0041⟧", RiskKind::HiddenText),
            ("bell \u{7}", "bell ⟦U+0007⟧", RiskKind::HiddenText),
        ] {
            let marks = marks(text);
            assert_eq!(marks.shown, shown);
            assert_eq!(marks.flags.iter().map(|flag| flag.kind).collect::<Vec<_>>(), [kind], "{text:?}");
        }
        assert_eq!(marks("a\n\u{200b}b").flags[0].detail, "U+200B in line 2");
    }

    #[test]
    fn ordinary_text_of_any_script_has_no_marks() {
        for text in [
            "plain\r\n\ttext",
            "模数 $p$ 为奇素数，用 Rust 写。",
            "Это раса, расы и сорта.",
            "α + β = Δt, 3 μs",
            "👩‍💻 می‌خواهم",
            "`<!-- code -->`\n```html\n<script>\n```\n",
            "<b>bold</b> <br/> a < b",
        ] {
            let marks = marks(text);
            assert_eq!((marks.shown.as_str(), marks.flags), (text, vec![]), "{text}");
        }
    }
}
