//! Text cut into the pieces that differences and merges go by: lines, and within lines words.
//!
//! Every byte is in exactly one piece. Scripts that are written without spaces are cut at each character.

use icu_properties::{CodePointMapData, props::Script};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letters and digits of scripts with spaces.
    Word,
    /// Blanks within a line.
    Blank,
    /// One piece a character: line ends, punctuation, Chinese and the like.
    Alone,
}

fn class(c: char) -> Class {
    if c == '\n' || c == '\r' {
        Class::Alone
    } else if c.is_whitespace() {
        Class::Blank
    } else if c.is_ascii() {
        if c.is_ascii_alphanumeric() || c == '_' { Class::Word } else { Class::Alone }
    } else if c.is_alphanumeric() && !is_unspaced(c) {
        Class::Word
    } else {
        Class::Alone
    }
}

fn is_unspaced(c: char) -> bool {
    const UNSPACED: [Script; 9] = [
        Script::Han,
        Script::Hiragana,
        Script::Katakana,
        Script::Hangul,
        Script::Bopomofo,
        Script::Thai,
        Script::Lao,
        Script::Khmer,
        Script::Myanmar,
    ];
    UNSPACED.contains(&CodePointMapData::<Script>::new().get(c))
}

/// Words, runs of blanks, and single other characters, in their order.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut last: Option<Class> = None;
    for (at, c) in text.char_indices() {
        let class = class(c);
        if last.is_some_and(|last| last != class || class == Class::Alone) {
            words.push(&text[start..at]);
            start = at;
        }
        last = Some(class);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// Lines with their ends; the last may have none.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_one_piece() {
        for (text, expected) in [
            ("", &[][..]),
            ("one two", &["one", " ", "two"]),
            ("a_b, c\n", &["a_b", ",", " ", "c", "\n"]),
            ("模数 $p$", &["模", "数", " ", "$", "p", "$"]),
            ("naïve\r\n\r\n", &["naïve", "\r", "\n", "\r", "\n"]),
        ] {
            assert_eq!(words(text), expected);
            assert_eq!(words(text).concat(), text);
        }
        assert_eq!(lines("a\n\nb"), ["a\n", "\n", "b"]);
    }
}
