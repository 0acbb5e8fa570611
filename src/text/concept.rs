//! Concept keys: the form in which two spellings of a label are one concept.

use std::collections::HashSet;

use super::{
    Mention, normal,
    script::{self, Writing},
    stop,
};
use crate::domain::ConceptKey;

/// Longest n-gram looked up.
const MAX_WORDS: usize = 7;
/// Words further apart than this many bytes (`, `, `. `, ` & `) are not one label.
const MAX_GAP: usize = 3;

/// The key of a label: NFKC, case folded, every run of punctuation and white space one space, without a possessive 's and
/// a leading English article. A label of punctuation only is its own key.
pub fn concept_key(label: &str) -> ConceptKey {
    ConceptKey(key_of(&normal::plain(label)))
}

/// What a title says a memory is about: the title, and the title without a trailing parenthesis.
pub fn subjects(title: &str) -> Vec<Mention> {
    let title = title.trim();
    let mut subjects = vec![Mention { key: concept_key(title), label: title.to_owned() }];
    let open = title.rfind(['(', '（']).filter(|at| *at > 0 && title.ends_with([')', '）']));
    if let Some(short) = open.map(|at| title[..at].trim()).filter(|short| !short.is_empty()) {
        subjects.push(Mention { key: concept_key(short), label: short.to_owned() });
    }
    subjects.retain(|subject| !subject.key.0.is_empty());
    subjects.dedup_by(|one, other| one.key == other.key);
    subjects
}

/// A run of words that may be a known label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its key.
    pub key: ConceptKey,
    first_word: usize,
    words: usize,
}

/// All runs of up to `max_words` words of `text` (at most 7), to look up known labels in it. A single word counts if it is
/// no function word, has at least three characters and starts with a capital or a digit; in scripts without spaces, if it
/// has two characters. A longer run neither starts nor ends with a function word, unless that is capitalised.
pub fn label_candidates(text: &str, max_words: usize) -> Vec<Candidate> {
    let text = normal::plain(text);
    let words: Vec<(usize, usize)> = script::words(&text).map(|(start, word)| (start, start + word.len())).collect();
    let at_border: Vec<bool> = words
        .iter()
        .map(|&(start, end)| !text[start..end].starts_with(char::is_lowercase) || !stop::is_english(&text[start..end]))
        .collect();
    let mut candidates = Vec::new();
    for (first, &(start, _)) in words.iter().enumerate().filter(|(first, _)| at_border[*first]) {
        let mut before = start;
        for (count, &(from, end)) in (1..).zip(words.iter().skip(first).take(max_words.min(MAX_WORDS))) {
            if from > before && (from - before > MAX_GAP || text[before..from].contains(['\n', '。', '！', '？'])) {
                break;
            }
            before = end;
            if !at_border[first + count - 1] {
                continue;
            }
            // `c++`, `c#`
            let suffix = text[end..].len() - text[end..].trim_start_matches(['+', '#']).len();
            let label = &text[start..end + suffix];
            let key = key_of(label);
            if !key.is_empty() && (count > 1 || is_telling(label, &key)) {
                candidates.push(Candidate { key: ConceptKey(key), first_word: first, words: count });
            }
        }
    }
    candidates
}

/// The known labels of a text, longest first from left to right, without overlap, each once.
pub fn longest_matches(candidates: &[Candidate], is_known: impl Fn(&ConceptKey) -> bool) -> Vec<ConceptKey> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut next = 0;
    for at in candidates.chunk_by(|one, other| one.first_word == other.first_word) {
        if at[0].first_word < next {
            continue;
        }
        if let Some(label) = at.iter().rev().find(|candidate| is_known(&candidate.key)) {
            next = label.first_word + label.words;
            if seen.insert(&label.key) {
                found.push(label.key.clone());
            }
        }
    }
    found
}

fn is_telling(word: &str, key: &str) -> bool {
    let Some(first) = word.chars().next() else { return false };
    let chars = key.chars().count();
    if script::writing(first) != Writing::Spaced {
        return chars >= 2 && !stop::is_chinese(key);
    }
    let caseless = !first.is_lowercase() && !first.is_uppercase();
    chars >= 3
        && (first.is_uppercase() || caseless)
        && !stop::is_english(key)
        && !key.bytes().all(|b| b.is_ascii_digit())
}

fn key_of(label: &str) -> String {
    let folded = normal::fold(label).replace('’', "'");
    let mut key = String::with_capacity(folded.len());
    let mut rest = folded.as_str();
    while let Some(c) = rest.chars().next() {
        let possessive = rest.strip_prefix("'s").filter(|after| !after.starts_with(char::is_alphanumeric));
        if let Some(after) = possessive.filter(|_| !key.is_empty()) {
            rest = after;
            continue;
        }
        key.push(if is_inner(c) { c } else { ' ' });
        rest = &rest[c.len_utf8()..];
    }
    let squeezed = normal::squeeze(&key);
    let bare = ["the ", "a ", "an "].iter().find_map(|article| squeezed.strip_prefix(article)).unwrap_or(&squeezed);
    if bare.is_empty() { normal::squeeze(&folded) } else { bare.to_owned() }
}

/// Letters, digits, marks, and the signs that make another name of one (`c++`, `c#`, `$5`, `5%`, `snake_case`).
fn is_inner(c: char) -> bool {
    use icu_properties::props::GeneralCategory as Category;
    c.is_alphanumeric()
        || matches!(c, '+' | '#' | '$' | '%' | '@' | '&' | '_')
        || (!c.is_ascii()
            && matches!(
                normal::category(c),
                Category::NonspacingMark | Category::SpacingMark | Category::CurrencySymbol | Category::OtherSymbol
            ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_label_have_one_key() {
        for (label, key) in [
            ("The  Beatles", "beatles"),
            ("“The Beatles,”", "beatles"),
            ("  Marie\tCurie ", "marie curie"),
            ("《红楼梦》", "红楼梦"),
            ("ＭＣＰ服务", "mcp服务"),
            ("C++", "c++"),
            ("C#", "c#"),
            ("Yahoo!", "yahoo"),
            ("Person - centered therapy", "person centered therapy"),
            ("Person-centered therapy", "person centered therapy"),
            ("Hitchhiker’s Guide", "hitchhiker guide"),
            ("A", "a"),
            ("Another Place", "another place"),
            ("Café", "café"),
            ("МОСКВА", "москва"),
            ("?!", "?!"),
            ("", ""),
        ] {
            assert_eq!(concept_key(label).0, key, "{label}");
        }
    }

    #[test]
    fn titles_in_a_text_are_candidates() {
        for (text, title) in [
            ("He studied at the University of Oxford, then left.", "University of Oxford"),
            ("Did Christopher Nolan direct it?", "Christopher Nolan"),
            ("Nolan's film", "Nolan"),
            ("Born in Washington, D.C. in 1950", "Washington, D.C."),
            ("I write C++ daily", "C++"),
            ("我想去故宫博物院看看", "故宫博物院"),
            ("百雅轩798艺术中心有了解吗", "百雅轩798艺术中心"),
            ("A Tale of Two Cities is long", "A Tale of Two Cities"),
        ] {
            let key = concept_key(title);
            assert_eq!(longest_matches(&label_candidates(text, 7), |known| *known == key), [key.clone()], "{title}");
        }
    }

    #[test]
    fn single_words_must_tell_something() {
        assert_eq!(label_candidates("Who is it at 的 party", 1), []);
    }

    #[test]
    fn the_longest_known_label_wins_and_labels_do_not_overlap() {
        let known = ["new york", "new york city", "city hall"].map(concept_key);
        let found =
            longest_matches(&label_candidates("From New York City hall to New York", 7), |key| known.contains(key));
        assert_eq!(found, ["new york city", "new york"].map(concept_key));
    }

    #[test]
    fn a_title_is_about_its_name_without_the_parenthesis_too() {
        let keys = |title: &str| subjects(title).into_iter().map(|subject| subject.key.0).collect::<Vec<_>>();
        assert_eq!(keys("Lilu (mythology)"), ["lilu mythology", "lilu"]);
        assert_eq!(keys("故宫（北京）"), ["故宫 北京", "故宫"]);
        assert_eq!(keys("(untitled)"), ["untitled"]);
    }

    proptest! {
        #[test]
        fn key_of_a_key_is_that_key(label in "(the |a )?[\"(]?\\PC{0,12}[\")]?") {
            let key = concept_key(&label);
            let again = concept_key(&key.0);
            prop_assert!(again == key || ["the ", "a ", "an "].iter().any(|article| key.0.starts_with(article)), "{key:?} {again:?}");
        }

        #[test]
        fn candidates_are_clean(text in any::<String>(), max_words in 0usize..9) {
            let candidates = label_candidates(&text, max_words);
            prop_assert!(candidates.iter().all(|it| !it.key.0.is_empty() && !it.key.0.contains(char::is_control)));
        }
    }
}
