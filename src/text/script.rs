//! Which characters make words, and how a script writes them.

use std::sync::LazyLock;

use icu_properties::{
    CodePointMapData,
    props::{GeneralCategory, Script},
};
use icu_segmenter::{
    GraphemeClusterSegmenter, GraphemeClusterSegmenterBorrowed, WordSegmenter, WordSegmenterBorrowed,
    options::WordBreakInvariantOptions,
};

use super::normal;

static WORDS: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_auto(WordBreakInvariantOptions::default()));
static GRAPHEMES: GraphemeClusterSegmenterBorrowed<'static> = GraphemeClusterSegmenter::new();

/// How a script separates words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// With spaces.
    Spaced,
    /// Han, kana, hangul: without, or with particles attached; a pair of characters carries meaning.
    Cjk,
    /// Thai, Lao, Khmer, Burmese: without; an orthographic syllable is several characters.
    SouthEastAsian,
}

/// How the script of `c` separates words.
pub(super) fn writing(c: char) -> Writing {
    if c < '\u{e00}' {
        return Writing::Spaced;
    }
    match CodePointMapData::<Script>::new().get(c) {
        Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo => Writing::Cjk,
        // The prolonged sound mark belongs to both kana and so to neither.
        _ if c == 'ー' => Writing::Cjk,
        Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar => Writing::SouthEastAsian,
        _ => Writing::Spaced,
    }
}

/// Letters, digits and the marks on them.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric()
        || !c.is_ascii()
            && matches!(
                normal::category(c),
                GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark | GeneralCategory::EnclosingMark
            )
}

/// The words of `text` with their byte offsets; dictionaries find those of scripts without spaces.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    WORDS.segment_str(text).iter_with_word_type().filter_map(move |(end, kind)| {
        let word = (start, &text[start..end]);
        start = end;
        (kind.is_word_like() && !word.1.is_empty()).then_some(word)
    })
}

/// What a reader takes for one character.
pub(super) fn graphemes(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    GRAPHEMES.segment_str(text).skip(1).map(move |end| {
        let grapheme = &text[start..end];
        start = end;
        grapheme
    })
}

/// Cuts `text` wherever `key` changes from one character to the next.
pub(super) fn runs<K: PartialEq>(text: &str, key: impl Fn(char) -> K) -> impl Iterator<Item = (K, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = key(rest.chars().next()?);
        let end = rest.char_indices().find(|(_, c)| key(*c) != first).map_or(rest.len(), |(at, _)| at);
        let (run, tail) = rest.split_at(end);
        rest = tail;
        Some((first, run))
    })
}
