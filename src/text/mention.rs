//! Concepts that a text names: people, places, things, identifiers, quoted terms, amounts, dates.
//!
//! Rules, no model: what they miss is found by looking up known titles ([`super::Labels`]), and what they find
//! too much is rare and weighs little. To add a kind: a function that appends [`Found`] spans.

use std::{collections::HashSet, sync::LazyLock};

use jieba_rs::Jieba;
use regex::Regex;

use super::{concept_key, normal, stop, term};
use crate::domain::ConceptKey;

/// A text names at most this many concepts.
const MAX_MENTIONS: usize = 64;
/// Only so much of a text is read for names.
const MAX_BYTES: usize = 20_000;
/// A quotation of more words than this is speech, not a term.
const MAX_QUOTED_WORDS: usize = 6;

/// A concept found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its key.
    pub key: ConceptKey,
    /// As the text spells it.
    pub label: String,
}

/// Byte offset and text of something found.
type Found<'t> = (usize, &'t str);

/// The concepts named in `text`, each once, in its order, at most 64.
pub fn mentions(text: &str) -> Vec<Mention> {
    let text = normal::plain(text);
    let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let text = &text[..end];
    let mut found = Vec::new();
    quoted(text, &mut found);
    matches(&DATES, text, &mut found);
    years(text, &mut found);
    matches(&AMOUNTS, text, &mut found);
    identifiers(text, &mut found);
    names(text, &mut found);
    chinese_names(text, &mut found);
    found.sort_by_key(|(at, label)| (*at, std::cmp::Reverse(label.len())));
    let mut seen = HashSet::new();
    found
        .into_iter()
        .map(|(_, label)| Mention { key: concept_key(label), label: normal::squeeze(label) })
        .filter(|mention| mention.key.0.chars().any(char::is_alphanumeric) && seen.insert(mention.key.clone()))
        .take(MAX_MENTIONS)
        .collect()
}

/// Loads the Chinese dictionary, which takes a noticeable part of a second and which [`mentions`] otherwise does at the first Chinese text.
pub fn warm() {
    LazyLock::force(&JIEBA);
}

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"“([^“”]{2,80})”|"([^"\n]{2,80})"|「([^「」]{1,40})」|『([^『』]{1,40})』|《([^《》]{1,60})》|〈([^〈〉]{1,60})〉|«([^«»]{2,80})»|`([^`\n]{2,80})`"#,
    )
});

static DATES: LazyLock<Regex> = LazyLock::new(|| {
    const MONTH: &str = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
    const DAY: &str = "[0-9]{1,2}(?:st|nd|rd|th)?";
    regex(&format!(
        r"(?i-u:\b{DAY} (?:of )?{MONTH}\b(?:,? [0-9]{{4}}\b)?|\b{MONTH}\.? {DAY}\b(?:,? [0-9]{{4}}\b)?|\b{MONTH},? [0-9]{{4}}\b|\b[0-9]{{4}}[-/][0-9]{{1,2}}(?:[-/][0-9]{{1,2}})?\b)|[0-9]{{4}}年[0-9]{{1,2}}月(?:[0-9]{{1,2}}[日号])?|[0-9]{{1,2}}月[0-9]{{1,2}}[日号]"
    ))
});

static AMOUNTS: LazyLock<Regex> = LazyLock::new(|| {
    const NUMBER: &str = r"[0-9]+(?:[.,][0-9]+)*";
    const UNIT: &str = "km|cm|mm|nm|kg|mg|lbs?|oz|[kmgt]i?b|ms|secs?|seconds?|mins?|minutes?|hours?|hrs?|days?|weeks?|months?|years?|miles?|feet|ft|inch(?:es)?|meters?|metres?|kilometers?|kilometres?|grams?|tons?|tonnes?|acres?|hectares?|usd|eur|dollars?|euros?|pounds?|yuan|percent|mph|[kmg]hz|kw|mw|gw|rpm|am|pm|people|m|g|s|k";
    const HAN_UNIT: &str = "个月|小时|分钟|公里|千米|厘米|公斤|平方米|万元|亿元|[元块万亿米斤克吨天年秒人次岁度]";
    regex(&format!(
        r"[$€£¥]\s?{NUMBER}(?:\s?(?i-u:k|m|bn|thousand|million|billion|trillion)\b)?|{NUMBER}(?:%|‰|\s?°[CF]?|\s?(?i-u:(?:(?:thousand|million|billion|trillion) )?(?:{UNIT})|thousand|million|billion|trillion)\b|\s?(?:{HAN_UNIT}))"
    ))
});

static NUMBERS: LazyLock<Regex> = LazyLock::new(|| regex("[0-9]+"));

static WORDS: LazyLock<Regex> = LazyLock::new(|| regex(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’\-][\p{L}\p{M}\p{N}]+)*"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that tests compile")
}

fn matches<'t>(pattern: &Regex, text: &'t str, found: &mut Vec<Found<'t>>) {
    found.extend(pattern.find_iter(text).map(|hit| (hit.start(), hit.as_str())));
}

fn quoted<'t>(text: &'t str, found: &mut Vec<Found<'t>>) {
    for hit in QUOTED.captures_iter(text) {
        let Some(inner) = hit.iter().skip(1).flatten().next() else { continue };
        let label = inner.as_str();
        let spoken =
            label.ends_with(['.', '!', '?', '。', '！', '？']) || label.split_whitespace().count() > MAX_QUOTED_WORDS;
        let title = text[..inner.start()].ends_with(['《', '〈', '『']);
        if title || !spoken {
            found.push((inner.start(), label));
        }
    }
}

fn years<'t>(text: &'t str, found: &mut Vec<Found<'t>>) {
    for hit in NUMBERS.find_iter(text) {
        let (before, after) = (&text[..hit.start()], &text[hit.end()..]);
        let is_digit = |c: char| c.is_ascii_digit();
        let is_part = before.ends_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '$' | '€' | '£' | '_' | '#'))
            || before.strip_suffix(['.', ',']).is_some_and(|before| before.ends_with(is_digit))
            || after.strip_prefix(['.', ',']).is_some_and(|after| after.starts_with(is_digit))
            || after.starts_with('_');
        if hit.len() == 4 && !is_part && ("1000".."2100").contains(&hit.as_str()) {
            found.push((hit.start(), hit.as_str()));
        }
    }
}

/// `snake_case`, `camelCase`, `foo::bar`, `E0658`, `GPT-4`, paths, addresses.
fn identifiers<'t>(text: &'t str, found: &mut Vec<Found<'t>>) {
    for piece in term::pieces(text) {
        for run in piece.split(|c: char| !c.is_ascii()) {
            let run = run.trim_matches(|c| term::is_joiner(c) && !matches!(c, '+' | '#'));
            if is_identifier(run) {
                found.push((run.as_ptr() as usize - text.as_ptr() as usize, run));
            }
        }
    }
}

fn is_identifier(run: &str) -> bool {
    let bytes = run.as_bytes();
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if letters == 0 || bytes.len() < 2 {
        return false;
    }
    // `3pm`, `20th`, `10k`: amounts and ordinals.
    let digits_first = bytes[0].is_ascii_digit();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let camel = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let inner = |marks: &[&str]| marks.iter().any(|mark| run.contains(mark));
    let dotted = run.split('.').filter(|part| part.len() >= 2).count() >= 2;
    inner(&["_", "::", "@", "://", "\\"])
        || run.matches('/').count() >= 2
        || run.ends_with("++")
        || run.ends_with('#')
        || dotted
        || camel && !run.contains(['-', '\''])
        || has_digit && !digits_first && !run.contains('\'')
}

struct Word<'t> {
    at: usize,
    text: &'t str,
    capital: bool,
    opens: bool,
}

/// Capitalised spans, in any script that has capitals.
fn names<'t>(text: &'t str, found: &mut Vec<Found<'t>>) {
    let mut end = 0;
    let words: Vec<Word<'t>> = WORDS
        .find_iter(text)
        .map(|hit| {
            let gap = &text[end..hit.start()];
            let opens = end == 0
                || gap.contains([
                    '.', '!', '?', ':', '\n', '。', '！', '？', '：', '…', '—', '"', '“', '«', '*', '•', '(',
                ]);
            end = hit.end();
            Word { at: hit.start(), text: hit.as_str(), capital: hit.as_str().starts_with(char::is_uppercase), opens }
        })
        .collect();
    let mut at = 0;
    while at < words.len() {
        if !words[at].capital {
            at += 1;
            continue;
        }
        let last = span_end(text, &words, at);
        if let Some(name) = name_of(text, &words, at, last) {
            found.push(name);
        }
        at = last + 1;
    }
}

/// The last word of the name that may start at `first`.
fn span_end(text: &str, words: &[Word<'_>], first: usize) -> usize {
    let joined = |left: usize| {
        let Some(right) = words.get(left + 1) else { return false };
        let gap = &text[words[left].at + words[left].text.len()..right.at];
        let abbreviated = words[left].text.chars().count() <= 3 && words[left].capital;
        !is_possessive(words[left].text) && (matches!(gap, " " | " & ") || abbreviated && matches!(gap, ". " | "."))
    };
    let mut last = first;
    loop {
        // Up to two small words between (`of the`, `van der`), if a capital follows.
        let mut next = last + 1;
        while next - last <= 2 && next < words.len() && joined(next - 1) && is_connector(words[next].text) {
            next += 1;
        }
        let numbered = |word: &Word<'_>| word.text.len() <= 4 && word.text.bytes().all(|b| b.is_ascii_digit());
        match words.get(next) {
            Some(word) if joined(next - 1) && (word.capital || next == last + 1 && numbered(word)) => last = next,
            _ => return last,
        }
    }
}

fn name_of<'t>(text: &'t str, words: &[Word<'t>], mut first: usize, last: usize) -> Option<Found<'t>> {
    let opens = words[first].opens;
    let folded = |word: &Word<'_>| normal::fold(word.text).replace('’', "'");
    // `Did Christopher Nolan`, `The Beatles`, `Hey Mel`; inside a sentence only function words are dropped.
    while first < last {
        let word = folded(&words[first]);
        let dropped = stop::is_english(&word) || opens && words[first].opens && stop::is_common(&word);
        if !dropped {
            break;
        }
        first += 1;
    }
    if !words[first].capital {
        return None;
    }
    let (head, tail) = (&words[first], &words[last]);
    if first == last {
        let word = folded(head);
        let base = word.trim_end_matches("'s");
        let acronym = head.text.chars().count() >= 2 && head.text.chars().all(|c| c.is_uppercase() || c.is_numeric());
        let participle = word.len() >= 7 && (word.ends_with("ing") || word.ends_with("ly"));
        let elsewhere = || words.iter().any(|other| !other.capital && other.text == word);
        let common = stop::is_english(base)
            || word.contains('\'') && stop::is_common(&word)
            || opens && !acronym && (stop::is_common(base) || participle || elsewhere());
        if common || head.text.chars().nth(1).is_none() {
            return None;
        }
    }
    let label = &text[head.at..tail.at + tail.text.len()];
    Some((head.at, label.strip_suffix("'s").or_else(|| label.strip_suffix("’s")).unwrap_or(label)))
}

fn is_possessive(word: &str) -> bool {
    word.ends_with("'s") || word.ends_with("’s")
}

fn is_connector(word: &str) -> bool {
    matches!(
        word,
        "of" | "the"
            | "de"
            | "van"
            | "von"
            | "der"
            | "den"
            | "del"
            | "della"
            | "di"
            | "da"
            | "do"
            | "dos"
            | "du"
            | "la"
            | "le"
            | "les"
            | "el"
            | "al"
            | "bin"
            | "ibn"
    )
}

fn chinese_names<'t>(text: &'t str, found: &mut Vec<Found<'t>>) {
    if !text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)) {
        return;
    }
    let mut at = 0;
    for tag in JIEBA.tag(text, false) {
        if tag.word.chars().nth(1).is_some()
            && ["nr", "ns", "nt", "nz"].iter().any(|proper| tag.tag.starts_with(proper))
        {
            found.push((at, tag.word));
        }
        at += tag.word.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let labels: Vec<String> = mentions(text).into_iter().map(|mention| mention.label).collect();
        assert_eq!(labels, expected, "{text}");
    }

    #[test]
    fn names_are_capitalised_spans() {
        check("Did Christopher Nolan direct The Prestige?", &["Christopher Nolan", "Prestige"]);
        check(
            "He studied at the University of Oxford with J. R. R. Tolkien.",
            &["University of Oxford", "J. R. R. Tolkien"],
        );
        check(
            "Yesterday we met Ludwig van Beethoven and Vincent van der Berg.",
            &["Ludwig van Beethoven", "Vincent van der Berg"],
        );
        check("Hey Mel! Good to see you!", &["Mel"]);
        check("Caroline's brother lives in St. Louis.", &["Caroline", "St. Louis"]);
        check("NASA launched Apollo 11", &["NASA", "Apollo 11"]);
        check("Marks & Spencer hired O'Brien", &["Marks & Spencer", "O'Brien"]);
        check("Мария Иванова живёт в Москве.", &["Мария Иванова", "Москве"]);
        check("В Москве холодно", &["Москве"]);
    }

    #[test]
    fn a_common_word_at_the_start_of_a_sentence_is_no_name() {
        check("The weather is fine. Painting helps me relax. I love it. Wow, that's great!", &[]);
        check("What time is it? Actually, never mind.", &[]);
        check("Dogs bark. I like dogs.", &[]);
        check("", &[]);
    }

    #[test]
    fn quoted_terms_identifiers_amounts_and_dates_are_found() {
        check("set `max_size` to “blue-green deploy”", &["max_size", "blue-green deploy"]);
        check("he said \"I will come back tomorrow.\"", &[]);
        check("我读了《红楼梦》", &["红楼梦"]);
        check("error E0658 in foo::bar uses camelCase", &["E0658", "foo::bar", "camelCase"]);
        check("mail me@example.com or see /etc/hosts.d/x", &["me@example.com", "etc/hosts.d/x"]);
        check("it took 20 minutes and cost $3.5 million, 40% more", &["20 minutes", "$3.5 million", "40%"]);
        check("on 8 May 2023 and in 1999", &["8 May 2023", "May 2023", "2023", "1999"]);
        check("a well-known and/or e.g. thing", &[]);
    }

    #[test]
    fn chinese_proper_nouns_are_found() {
        let labels: Vec<String> = mentions("李白在北京住了3年，2023年5月1日去了清华大学。")
            .into_iter()
            .map(|mention| mention.label)
            .collect();
        for label in ["李白", "北京", "3年", "2023年5月1日", "2023", "清华大学"] {
            assert!(labels.iter().any(|found| found == label), "{label}: {labels:?}");
        }
    }

    proptest! {
        #[test]
        fn mentions_are_few_distinct_and_clean(text in "(\\PC{0,6} |[A-Z][a-z]{0,6} |[a-z]{1,5}[.,!?] |[0-9]{1,5}|[北京上海李白]{1,3}|[\"“”《》`]){0,60}") {
            let found = mentions(&text);
            prop_assert!(found.len() <= MAX_MENTIONS);
            let keys: HashSet<_> = found.iter().map(|mention| &mention.key).collect();
            prop_assert_eq!(keys.len(), found.len());
            prop_assert!(found.iter().all(|mention| !mention.label.contains(char::is_control) && mention.key == concept_key(&mention.label)));
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            mentions(&text);
        }
    }
}
