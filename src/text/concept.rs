//! Concept keys: the form in which two spellings of a label are one concept.

use std::{collections::HashSet, ops::Range};

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

/// The runs of words in a text that may be known labels, as keys, to be looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// The whole text in the form of keys; every key is a slice of it.
    keyed: String,
    runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    key: Range<usize>,
    first_word: usize,
    words: usize,
}

impl Labels {
    /// All runs of up to `max_words` words of `text` (at most 7). A single word counts if it is no function word, has at
    /// least three characters and starts with a capital or a digit; in scripts without spaces, if it has two characters.
    /// A longer run neither starts nor ends with a function word, unless that is capitalised.
    pub fn of(text: &str, max_words: usize) -> Self {
        let text = normal::plain(text);
        let mut labels = Self { keyed: String::with_capacity(text.len()), runs: Vec::new() };
        let words = labels.key_words(&text);
        for (first, head) in words.iter().enumerate().filter(|(_, head)| head.at_border) {
            let mut before = head.start;
            for (count, word) in (1..).zip(words.iter().skip(first).take(max_words.min(MAX_WORDS))) {
                let gap = &text[before..word.start];
                if gap.len() > MAX_GAP || gap.contains(['\n', '。', '！', '？']) {
                    break;
                }
                before = word.end;
                if !word.at_border {
                    continue;
                }
                let key = without_article(&labels.keyed, head.key.start..word.key.end);
                let is_label = count > 1 || is_telling(&text[head.start..word.end], &labels.keyed[key.clone()]);
                if !key.is_empty() && is_label {
                    labels.runs.push(Run { key, first_word: first, words: count });
                }
            }
        }
        labels
    }

    /// Their keys; one may come several times.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| &self.keyed[run.key.clone()])
    }

    /// The known ones, longest first from left to right, without overlap, each once.
    pub fn longest(&self, is_known: impl Fn(&str) -> bool) -> Vec<ConceptKey> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut next = 0;
        for at in self.runs.chunk_by(|one, other| one.first_word == other.first_word) {
            if at[0].first_word < next {
                continue;
            }
            let key = |run: &Run| &self.keyed[run.key.clone()];
            if let Some(label) = at.iter().rev().find(|run| is_known(key(run))) {
                next = label.first_word + label.words;
                if seen.insert(key(label)) {
                    found.push(ConceptKey(key(label).to_owned()));
                }
            }
        }
        found
    }

    /// Fills `keyed` with `text` and says where its words are in both.
    fn key_words(&mut self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut done = 0;
        for (start, word) in script::words(text) {
            let end = start + word.len();
            push_keyed(&mut self.keyed, &text[done..start]);
            let key_start = self.keyed.len();
            push_keyed(&mut self.keyed, word);
            // `c++`, `c#`: the gap after the word starts with them, and so will its key.
            let suffix = text[end..].bytes().take_while(|sign| matches!(sign, b'+' | b'#')).count();
            let key = key_start..self.keyed.len() + suffix;
            let at_border = !word.starts_with(char::is_lowercase) || !stop::is_english(word);
            words.push(Word { start, end, key, at_border });
            done = end;
        }
        push_keyed(&mut self.keyed, &text[done..]);
        words
    }
}

/// A word's place in the text and in its keyed form.
struct Word {
    start: usize,
    end: usize,
    key: Range<usize>,
    at_border: bool,
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
    let mut key = String::with_capacity(label.len());
    push_keyed(&mut key, label);
    let bare = without_article(&key, 0..key.len());
    if bare.is_empty() { normal::squeeze(&normal::fold(label)) } else { key[bare].to_owned() }
}

/// Appends `piece` in the form of keys. What comes before does not matter, but for white space, which is never doubled.
fn push_keyed(key: &mut String, piece: &str) {
    let folded = normal::fold(piece);
    let folded = if folded.contains('’') { folded.replace('’', "'") } else { folded };
    let mut rest = folded.as_str();
    while let Some(c) = rest.chars().next() {
        let possessive = rest.strip_prefix("'s").filter(|after| !after.starts_with(char::is_alphanumeric));
        if let Some(after) = possessive.filter(|_| key.ends_with(|before: char| before != ' ')) {
            rest = after;
            continue;
        }
        if is_inner(c) {
            key.push(c);
        } else if !key.is_empty() && !key.ends_with(' ') {
            key.push(' ');
        }
        rest = &rest[c.len_utf8()..];
    }
}

/// The part of `range` without spaces around it and without a leading English article, unless that is all there is.
fn without_article(key: &str, range: Range<usize>) -> Range<usize> {
    let trimmed = key[range.clone()].trim_end();
    let end = range.start + trimmed.len();
    let trimmed = trimmed.trim_start();
    let bare = ["the ", "a ", "an "].iter().find_map(|article| trimmed.strip_prefix(article)).unwrap_or(trimmed);
    end - bare.len()..end
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
            assert_eq!(Labels::of(text, 7).longest(|known| known == key.0), std::slice::from_ref(&key), "{title}");
        }
    }

    #[test]
    fn single_words_must_tell_something() {
        assert_eq!(Labels::of("Who is it at 的 party", 1).keys().count(), 0);
    }

    #[test]
    fn the_longest_known_label_wins_and_labels_do_not_overlap() {
        let known = ["new york", "new york city", "city hall"].map(concept_key);
        let found = Labels::of("From New York City hall to New York", 7)
            .longest(|key| known.iter().any(|known| known.0 == key));
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
            let labels = Labels::of(&text, max_words);
            prop_assert!(labels.keys().all(|key| !key.is_empty() && !key.contains(char::is_control)));
        }

        #[test]
        fn a_label_has_the_same_key_alone_and_in_a_text(
            before in "([a-z]{1,4}[,.]? ){0,3}",
            label in "[A-Z][a-z]{2,6}( (of |the )?([A-Z][a-z]{1,5}|[0-9]{2,4}|C\\+\\+|Éa|[A-Z][a-zéß]{1,5}('s)?)){0,2}",
        ) {
            let labels = Labels::of(&format!("{before}{label}."), 7);
            let key = concept_key(&label);
            prop_assert!(labels.keys().any(|known| known == key.0) || stop::is_english(&key.0), "{labels:?} {key:?}");
        }
    }
}
