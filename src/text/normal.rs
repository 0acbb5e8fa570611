//! Normal forms: which spellings are the same.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::{
    CodePointMapData,
    props::{GeneralCategory, Script},
};

/// NFKC without invisible format characters (soft hyphen, zero-width and bidi marks), which would split or hide words.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut text = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    if text.chars().any(is_format) {
        text = Cow::Owned(text.chars().filter(|c| !is_format(*c)).collect());
    }
    // NFKC takes the vowel AM of Thai and Lao apart; the dictionaries know it whole.
    for (apart, whole) in [("\u{e4d}\u{e32}", "\u{e33}"), ("\u{ecd}\u{eb2}", "\u{eb3}")] {
        if text.contains(apart) {
            text = Cow::Owned(text.replace(apart, whole));
        }
    }
    text
}

/// Case folded, NFKC. Expects [`plain`] text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded = CaseMapper::new().fold_string(text);
    ComposingNormalizerBorrowed::new_nfkc().normalize(&folded).into_owned()
}

/// [`fold`], and without the marks that writers leave out: accents of Latin and Greek, vowel signs and the stretching
/// tatweel of Arabic, points of Hebrew, the dots of Russian ё. Marks that are letters elsewhere (Thai, Devanagari,
/// Japanese, й) stay.
pub(super) fn bare(text: &str) -> String {
    let folded = fold(text);
    if folded.is_ascii() {
        return folded;
    }
    if !folded.chars().any(has_optional_marks) {
        return folded.replace('ё', "е");
    }
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&folded);
    let stripped: String =
        decomposed.chars().filter(|c| *c != '\u{640}' && category(*c) != GeneralCategory::NonspacingMark).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&stripped).into_owned()
}

/// White space squeezed to single spaces, none at the ends; control characters count as white space.
pub(super) fn squeeze(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !squeezed.is_empty() {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    squeezed
}

pub(super) fn category(c: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(c)
}

fn is_format(c: char) -> bool {
    !c.is_ascii() && category(c) == GeneralCategory::Format
}

fn has_optional_marks(c: char) -> bool {
    let script = CodePointMapData::<Script>::new().get(c);
    [Script::Latin, Script::Greek, Script::Arabic, Script::Hebrew].contains(&script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_word_have_one_bare_form() {
        for (spelling, bare_form) in [
            ("CAFÉ", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("ＡＢＣ１２３", "abc123"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("Ἀθῆναι", "αθηναι"),
            ("مُحَمَّد", "محمد"),
            ("محـــمد", "محمد"),
            ("שָׁלוֹם", "שלום"),
            ("Ёлка", "елка"),
            ("Йод", "йод"),
            ("パーティー", "パーティー"),
            ("ﬁle", "file"),
            ("pass\u{200b}wo\u{ad}rd", "password"),
        ] {
            assert_eq!(bare(&plain(spelling)), bare_form, "{spelling}");
        }
    }

    #[test]
    fn thai_am_stays_whole() {
        assert_eq!(plain("กำลังใจ"), "กำลังใจ");
    }

    #[test]
    fn squeezing_leaves_single_spaces() {
        assert_eq!(squeeze(" a\u{0}\n\t b\u{3000}c "), "a b c");
    }
}
