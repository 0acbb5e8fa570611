//! What several texts say, in their own sentences.
//!
//! SumBasic (Nenkova and Vanderwende, 2005): the sentence whose words are the most common ones comes first, and words that
//! were said count for less afterwards, so that the next one says something else. It needs terms and sentence borders and
//! nothing of a language; the same texts give the same digest.

use std::collections::HashMap;

use icu_segmenter::{SentenceSegmenter, options::SentenceBreakInvariantOptions};

use super::{normal, summary, term};

/// Sentences that are looked at; those beyond are left out.
const MAX_SENTENCES: usize = 2000;
/// A longer sentence is cut, or one alone would be the digest.
const SENTENCE_CHARS: usize = 300;

/// A sentence of a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Place of the text it is from.
    pub text: usize,
    /// The sentence, on one line.
    pub sentence: String,
}

/// A digest as one text: a line for each text it draws on.
pub fn joined(digest: &[Said]) -> String {
    let lines = digest.chunk_by(|one, next| one.text == next.text);
    lines
        .map(|line| line.iter().map(|said| said.sentence.as_str()).collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

struct Candidate {
    said: Said,
    terms: Vec<String>,
    chars: usize,
}

/// The sentences that stand for `texts`, together at most `max_chars` characters long with one between two, in the order
/// of the texts.
pub fn digest(texts: &[&str], max_chars: usize) -> Vec<Said> {
    let candidates = candidates(texts);
    let mut counts: HashMap<&str, f64> = HashMap::new();
    for term in candidates.iter().flat_map(|candidate| &candidate.terms) {
        *counts.entry(term).or_default() += 1.0;
    }
    let total: f64 = counts.values().sum();
    let mut shares: HashMap<&str, f64> = counts.into_iter().map(|(term, count)| (term, count / total)).collect();
    let mut left = max_chars;
    let mut waiting: Vec<usize> = (0..candidates.len()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while !waiting.is_empty() {
        waiting.retain(|at| candidates[*at].chars <= left);
        let weight = |at: &usize| weight(&candidates[*at].terms, &shares);
        // Of equals the earlier one; `max_by` would take the last.
        let Some(best) = waiting.iter().copied().reduce(|a, b| if weight(&b) > weight(&a) { b } else { a }) else {
            break;
        };
        waiting.retain(|at| *at != best && candidates[*at].terms != candidates[best].terms);
        for term in &candidates[best].terms {
            if let Some(share) = shares.get_mut(term.as_str()) {
                *share *= *share;
            }
        }
        left = left.saturating_sub(candidates[best].chars + 1);
        chosen.push(best);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| candidates[at].said.clone()).collect()
}

fn candidates(texts: &[&str]) -> Vec<Candidate> {
    let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
    let mut candidates = Vec::new();
    for (text, given) in texts.iter().enumerate() {
        let squeezed = normal::squeeze(given);
        let borders: Vec<usize> = segmenter.segment_str(&squeezed).collect();
        for border in borders.windows(2) {
            let sentence = summary(&squeezed[border[0]..border[1]], SENTENCE_CHARS);
            let terms = term::query_terms(&sentence);
            if terms.is_empty() {
                continue;
            }
            if candidates.len() == MAX_SENTENCES {
                return candidates;
            }
            let chars = sentence.chars().count();
            candidates.push(Candidate { said: Said { text, sentence }, terms, chars });
        }
    }
    candidates
}

/// What a sentence says of what is common. The paper takes the mean, by which one common word alone wins over every sentence
/// that tells something of it; a sum damped by length does not.
fn weight(terms: &[String], shares: &HashMap<&str, f64>) -> f64 {
    let said: f64 = terms.iter().filter_map(|term| shares.get(term.as_str())).sum();
    said / (terms.len() as f64 + 2.0).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sentences(texts: &[&str], max_chars: usize) -> Vec<String> {
        digest(texts, max_chars).into_iter().map(|said| said.sentence).collect()
    }

    #[test]
    fn what_is_common_is_said_once_and_in_order() {
        for (texts, max_chars, expected) in [
            (
                &["The pump failed. Lunch was late.", "We replaced the pump. It was the pump again."][..],
                52,
                &["The pump failed.", "We replaced the pump."][..],
            ),
            (&["The pump failed.", "The pump failed."], 100, &["The pump failed."]),
            (&["水泵坏了。天气不错。", "我们换了水泵。"], 15, &["水泵坏了。", "我们换了水泵。"]),
            (&["of the and"], 100, &[]),
            (&[], 100, &[]),
            (&["The pump failed."], 0, &[]),
        ] {
            assert_eq!(sentences(texts, max_chars), expected, "{texts:?}");
        }
    }

    #[test]
    fn everything_is_said_where_there_is_room_and_each_sentence_names_its_text() {
        let said = digest(&["One ship left. Two stayed.", "Three came back."], 1000);
        let places: Vec<(usize, &str)> = said.iter().map(|said| (said.text, said.sentence.as_str())).collect();
        assert_eq!(places, [(0, "One ship left."), (0, "Two stayed."), (1, "Three came back.")]);
    }

    proptest! {
        #[test]
        fn digest_fits_and_is_the_same_each_time(texts in prop::collection::vec(any::<String>(), 0..6), max in 0usize..200) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let said = digest(&texts, max);
            let length: usize = said.iter().map(|said| said.sentence.chars().count() + 1).sum();
            prop_assert!(length <= max + 1);
            prop_assert!(said.is_sorted_by_key(|said| said.text));
            prop_assert_eq!(&said, &digest(&texts, max));
        }
    }
}
