//! A short form of a text: its first sentences.

use icu_segmenter::{SentenceSegmenter, options::SentenceBreakInvariantOptions};

use super::{normal, script};

const ELLIPSIS: char = '…';

/// The first sentences of `text` that fit into `max_chars` characters, on one line. If not even the first fits, its
/// beginning up to a word border and an ellipsis; white space is squeezed.
pub fn summary(text: &str, max_chars: usize) -> String {
    let text = normal::squeeze(text);
    if text.chars().count() <= max_chars {
        return text;
    }
    let limit = text.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| at);
    let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
    let end = segmenter
        .segment_str(&text)
        .map(|border| text[..border].trim_end().len())
        .take_while(|end| *end <= limit)
        .last()
        .unwrap_or(0);
    if end > 0 { text[..end].to_owned() } else { shortened(&text, max_chars) }
}

fn shortened(text: &str, max_chars: usize) -> String {
    let Some(room) = max_chars.checked_sub(1) else { return String::new() };
    let limit = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let words = script::words(text).map(|(start, word)| start + word.len()).take_while(|end| *end <= limit);
    let mut end = words.last().unwrap_or(0);
    if end == 0 {
        end = script::graphemes(text)
            .scan(0, |end, grapheme| {
                *end += grapheme.len();
                Some(*end)
            })
            .take_while(|end| *end <= limit)
            .last()
            .unwrap_or(0);
    }
    format!("{}{ELLIPSIS}", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_sentences_that_fit_are_taken() {
        for (text, max_chars, expected) in [
            ("Short.", 10, "Short."),
            ("One  is\nhere. Two is there. Three.", 30, "One is here. Two is there."),
            ("A single sentence that is too long", 20, "A single sentence…"),
            ("一句话在这里。另一句话在那里。", 10, "一句话在这里。"),
            ("averyveryverylongword", 8, "averyve…"),
            ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 9, "👩‍👩‍👧‍👦…"),
            ("anything", 1, "…"),
            ("anything", 0, ""),
            ("", 5, ""),
        ] {
            assert_eq!(summary(text, max_chars), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn summary_fits(text in any::<String>(), max_chars in 0usize..40) {
            let summary = summary(&text, max_chars);
            prop_assert!(summary.chars().count() <= max_chars);
            prop_assert!(!summary.contains(char::is_control));
        }
    }
}
