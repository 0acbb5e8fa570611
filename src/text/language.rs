//! English or not: all that routing between vector spaces asks.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    script::{self, Writing},
    stop,
};
use crate::domain::Language;

/// Only so much of a text is looked at: the answer comes on each query.
const MAX_CHARS: usize = 1_000;
/// A character of a script without spaces says as much as this many Latin letters.
const UNSPACED_WEIGHT: usize = 3;
/// From this share of foreign letters on, a text is not English.
const FOREIGN_SHARE: f32 = 0.35;
/// From this share of letters with accents on, a text of some length without a majority of English function
/// words is not English.
const ACCENT_SHARE: f32 = 0.04;
const MIN_LETTERS: usize = 12;

/// Languages in Latin letters that are told from English by their function words.
const LATIN: [&str; 14] = ["de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "pl", "ro", "tr", "id"];

/// Function word -> a bit for each language of [`LATIN`].
static FUNCTION_WORDS: LazyLock<HashMap<&str, u16>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (bit, code) in LATIN.iter().enumerate() {
        for word in stop_words::get(code) {
            *words.entry(*word).or_default() |= 1 << bit;
        }
    }
    words
});

/// The language of a text. A text without other evidence (a name, code, a few words) is English if its letters are
/// Latin; one without letters is not known, so [`Language::Other`].
///
/// By script and function words, because statistical detectors guess on short texts: a chat turn is twenty words, a query
/// six.
pub fn language(text: &str) -> Language {
    let (mut latin, mut accented, mut foreign) = (0, 0, 0);
    let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| at);
    let text = &text[..end];
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        match c {
            _ if c.is_ascii() => latin += 1,
            '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => accented += 1,
            _ if script::writing(c) == Writing::Spaced => foreign += 1,
            _ => foreign += UNSPACED_WEIGHT,
        }
    }
    let letters = latin + accented + foreign;
    let share = |part: usize| part as f32 / letters as f32;
    if letters == 0 || share(foreign) >= FOREIGN_SHARE {
        return Language::Other;
    }
    let (english, other) = function_words(text);
    let is_other =
        other > english && other >= 2 || english <= other && share(accented) >= ACCENT_SHARE && letters >= MIN_LETTERS;
    if is_other { Language::Other } else { Language::English }
}

/// How many function words are English, and how many are of the other language that has most.
fn function_words(text: &str) -> (usize, usize) {
    let (mut english, mut others, mut folded) = (0, [0; LATIN.len()], String::new());
    for word in text.split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’').filter(|word| !word.is_empty()) {
        folded.clear();
        folded.extend(word.chars().flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }));
        english += usize::from(stop::is_english(&folded));
        let bits = FUNCTION_WORDS.get(folded.as_str()).copied().unwrap_or(0);
        for (bit, count) in others.iter_mut().enumerate() {
            *count += usize::from(bits >> bit & 1 == 1);
        }
    }
    (english, others.into_iter().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn english_is_told_from_the_rest() {
        for text in [
            "Hey Mel! Good to see you!",
            "Who was the first president of the association?",
            "E0658",
            "snake_case foo::bar --release",
            "kubectl get pods -n prod",
            "Beyoncé and Zoë went to a café",
            "Robert De Niro",
            "What does 你好 mean in English, and who says it?",
            "I do not know, so do as I say",
            "Run cargo test before pushing",
            "The Universidad Nacional de Colombia is in Bogotá",
        ] {
            assert_eq!(language(text), Language::English, "{text}");
        }
        for text in [
            "",
            "12345 !!!",
            "我用MCP服务器部署了它",
            "部署 kubernetes 集群",
            "Столица — Москва",
            "私は東京に住んでいます",
            "مرحبا بالعالم",
            "Ich bin gestern in Berlin gewesen und habe ihn nicht gesehen",
            "La casa es muy bonita y está cerca del río",
            "Je ne sais pas où il est allé hier soir",
            "Il treno per Roma parte alle nove di sera",
            "Ik heb het boek niet gelezen maar hij wel",
            "Bugün hava çok güzel, dışarı çıkalım",
            "Wczoraj poszedłem do sklepu i kupiłem chleb",
            "Saya tidak tahu di mana dia sekarang",
            "ประเทศไทยมีอากาศร้อน",
        ] {
            assert_eq!(language(text), Language::Other, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_language(text in any::<String>()) {
            language(&text);
        }
    }
}
