//! Concept keys: the form in which two spellings of a label are one concept.

use std::collections::HashSet;

use super::{
    normal,
    script::{self, Writing},
    stop,
};
use crate::domain::ConceptKey;

/// Longest n-gram looked up.
const MAX_WORDS: usize = 7;
/// Words further apart than this many bytes (`, `, `. `, ` & `) are not one label.
const MAX_GAP: usize = 3;

/// The key of a label: NFKC, case folded, white space squeezed, without outer punctuation and a leading English article.
/// A label of punctuation only is its own key.
pub fn concept_key(label: &str) -> ConceptKey {
    ConceptKey(key_of_folded(&normal::fold(&normal::plain(label))))
}

/// The keys of all runs of up to `max_words` words of `text` (at most 7), each once, to look up known labels in it. A single
/// word counts if it is no function word and has at least three characters, or two in scripts without spaces.
pub fn label_candidates(text: &str, max_words: usize) -> Vec<ConceptKey> {
    let text = normal::fold(&normal::plain(text));
    let words: Vec<(usize, usize)> = script::words(&text).map(|(start, word)| (start, start + word.len())).collect();
    let (mut keys, mut seen) = (Vec::new(), HashSet::new());
    for (first, &(start, _)) in words.iter().enumerate() {
        let mut before = start;
        for &(from, end) in words.iter().skip(first).take(max_words.min(MAX_WORDS)) {
            if from > before && (from - before > MAX_GAP || text[before..from].contains(['\n', '。', '！', '？'])) {
                break;
            }
            before = end;
            // `c++`, `c#`
            let suffix = text[end..].len() - text[end..].trim_start_matches(['+', '#']).len();
            let label = &text[start..end + suffix];
            for label in [Some(label), label.strip_suffix("'s"), label.strip_suffix("’s")].into_iter().flatten() {
                let key = key_of_folded(label);
                if (from > start || is_telling(&key)) && !key.is_empty() && !seen.contains(&key) {
                    seen.insert(key.clone());
                    keys.push(ConceptKey(key));
                }
            }
        }
    }
    keys
}

fn is_telling(word: &str) -> bool {
    let unspaced = word.chars().next().is_some_and(|c| script::writing(c) != Writing::Spaced);
    let chars = word.chars().count();
    if unspaced { chars >= 2 && !stop::is_chinese(word) } else { chars >= 3 && !stop::is_english(word) }
}

fn key_of_folded(label: &str) -> String {
    let squeezed = normal::squeeze(label);
    let mut key = squeezed.trim_matches(is_outer);
    for article in ["the ", "a ", "an "] {
        if let Some(rest) = key.strip_prefix(article) {
            key = rest.trim_start_matches(is_outer);
            break;
        }
    }
    if key.is_empty() { squeezed } else { key.to_owned() }
}

/// Punctuation that wraps a label and is no part of it. `+`, `#`, `$`, `%`, `@`, `&` are.
fn is_outer(c: char) -> bool {
    c.is_whitespace()
        || if c.is_ascii() {
            matches!(
                c,
                '"' | '\'' | '`' | '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '*' | '_' | '-'
            )
        } else {
            use icu_properties::props::GeneralCategory as Category;
            matches!(
                normal::category(c),
                Category::OpenPunctuation
                    | Category::ClosePunctuation
                    | Category::InitialPunctuation
                    | Category::FinalPunctuation
                    | Category::DashPunctuation
                    | Category::OtherPunctuation
            )
        }
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
            let candidates = label_candidates(text, 7);
            assert!(candidates.contains(&concept_key(title)), "{title}: {candidates:?}");
        }
    }

    #[test]
    fn single_words_must_tell_something() {
        let keys: Vec<String> = label_candidates("who is it at 的", 1).into_iter().map(|key| key.0).collect();
        assert!(keys.is_empty(), "{keys:?}");
    }

    proptest! {
        #[test]
        fn key_of_a_key_is_that_key(label in "(the |a )?[\"(]?\\PC{0,12}[\")]?") {
            let key = concept_key(&label);
            let again = concept_key(&key.0);
            prop_assert!(again == key || ["the ", "a ", "an "].iter().any(|article| key.0.starts_with(article)), "{key:?} {again:?}");
        }

        #[test]
        fn candidates_are_distinct_and_clean(text in any::<String>(), max_words in 0usize..9) {
            let keys = label_candidates(&text, max_words);
            let distinct: HashSet<_> = keys.iter().collect();
            prop_assert_eq!(distinct.len(), keys.len());
            prop_assert!(keys.iter().all(|key| !key.0.is_empty() && !key.0.contains(char::is_control)));
        }
    }
}
