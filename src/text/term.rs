//! Search terms: what the keyword arm indexes and asks for.
//!
//! One pass for stored text and query, and each stretch without white space is cut without regard to what is around it:
//! so a word copied out of a text finds that text. Only the English stemmer is used, on every word of plain Latin
//! letters: another language's words come out shortened the same way on both sides.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};

use super::{
    normal,
    script::{self, Writing},
    stop,
};

/// A query is asked with at most this many terms.
const MAX_QUERY_TERMS: usize = 256;
/// Longer tokens are cut: nobody types them, and stores limit them.
const MAX_TOKEN_CHARS: usize = 128;
/// A stretch with Chinese or Japanese in it is an identifier only up to this length; beyond, it is a sentence.
const MAX_MIXED_CHARS: usize = 32;

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// The terms of a text, in its order, repeated as they are repeated there. They contain no white space and no control
/// characters.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_token(text, |token, _| terms.push(token));
    terms
}

/// The terms to search for: those of [`terms`], each once, without English and Chinese function words, at most 256.
/// None for a query of function words only.
pub fn query_terms(text: &str) -> Vec<String> {
    let (mut terms, mut seen) = (Vec::new(), HashSet::new());
    each_token(text, |token, is_stop_word| {
        if !is_stop_word && terms.len() < MAX_QUERY_TERMS && seen.insert(token.clone()) {
            terms.push(token);
        }
    });
    terms
}

/// The stretches of [`normal::plain`] text that may be identifiers: word characters and what joins them (`a.b-c`, `x::y`,
/// `me@here`), without joiners at the ends but for `c++` and `c#`.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !script::is_word_char(c) && !is_joiner(c)).map(trim_joiners).filter(|piece| !piece.is_empty())
}

/// Whether `c` joins the parts of an identifier.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | ':' | '/' | '\\' | '@' | '+' | '#' | '\'' | '&' | '=' | '?' | '%' | '~' | '$')
}

fn trim_joiners(piece: &str) -> &str {
    let piece = piece.trim_start_matches(is_joiner);
    let trimmed = piece.trim_end_matches(is_joiner);
    let suffix = &piece[trimmed.len()..];
    let kept = if trimmed.ends_with(|c: char| c.is_ascii_alphabetic()) {
        ["++", "#"].into_iter().find(|kept| suffix.starts_with(kept)).map_or(0, str::len)
    } else {
        0
    };
    &piece[..trimmed.len() + kept]
}

fn each_token(text: &str, mut emit: impl FnMut(String, bool)) {
    // NFKC would turn the marks between Chinese clauses into joiners of identifiers.
    let text = text.replace(['？', '：', '＆', '＝', '％', '～', '＇'], " ");
    let text = normal::plain(&text);
    let text = typewriter(&text);
    for piece in pieces(&text) {
        piece_tokens(piece, &mut emit);
    }
}

/// Apostrophes as typed, and numbers without thousands separators.
fn typewriter(text: &str) -> Cow<'_, str> {
    if !text.contains([',', '’', '‘']) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let separates = |at: usize| {
        at > 0 && digit(at - 1) && (1..=3).all(|ahead| digit(at + ahead)) && !digit(at + 4)
    };
    text.char_indices()
        .filter(|(at, c)| *c != ',' || !separates(*at))
        .map(|(_, c)| if matches!(c, '’' | '‘') { '\'' } else { c })
        .collect::<String>()
        .into()
}

fn piece_tokens(piece: &str, emit: &mut impl FnMut(String, bool)) {
    let piece = piece.strip_suffix("'s").or_else(|| piece.strip_suffix("'S")).filter(|base| !base.is_empty()).unwrap_or(piece);
    if !piece.contains(is_joiner) {
        return part_tokens(piece, emit);
    }
    let whole = normal::bare(piece);
    if stop::is_english(&whole) {
        return emit(whole, true);
    }
    let is_mixed = piece.chars().any(|c| script::writing(c) != Writing::Spaced);
    if !is_mixed {
        emit(cut(whole), false);
    } else {
        let has_ascii = piece.contains(|c: char| c.is_ascii_alphanumeric());
        if has_ascii && piece.chars().count() <= MAX_MIXED_CHARS {
            emit(whole, false);
        }
        for run in piece.split(|c: char| !c.is_ascii()).map(trim_joiners) {
            if run.len() < piece.len() && run.contains(is_joiner) {
                emit(cut(normal::bare(run)), false);
            }
        }
    }
    for part in piece.split(is_joiner).filter(|part| !part.is_empty()) {
        part_tokens(part, emit);
    }
}

/// The tokens of a stretch of word characters.
fn part_tokens(part: &str, emit: &mut impl FnMut(String, bool)) {
    for (writing, run) in script::runs(part, script::writing) {
        match writing {
            Writing::Spaced => spaced_tokens(run, emit),
            Writing::Cjk => unspaced_tokens(run, run.chars().map(char::len_utf8), emit),
            Writing::SouthEastAsian => unspaced_tokens(run, script::graphemes(run).map(str::len), emit),
        }
    }
}

/// The word, and its parts where case or digits show some: `camelCase`, `HTTPServer`, `E0658`.
fn spaced_tokens(word: &str, emit: &mut impl FnMut(String, bool)) {
    let folded = normal::bare(word);
    if folded.is_empty() {
        return;
    }
    let is_stop_word = stop::is_english(&folded);
    emit(stem(folded), is_stop_word);
    let mut rest = word;
    while let Some(at) = border(rest) {
        let (part, tail) = rest.split_at(at);
        rest = tail;
        sub_token(part, emit);
    }
    if rest.len() < word.len() {
        sub_token(rest, emit);
    }
}

fn sub_token(part: &str, emit: &mut impl FnMut(String, bool)) {
    if part.chars().nth(1).is_some() {
        let folded = normal::bare(part);
        let is_stop_word = stop::is_english(&folded);
        emit(stem(folded), is_stop_word);
    }
}

/// Where the first part of a compound word ends.
fn border(word: &str) -> Option<usize> {
    let mut chars = word.char_indices().peekable();
    let (_, mut before) = chars.next()?;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let after_next = next.is_some_and(char::is_lowercase)
            && chars.clone().nth(1).is_some_and(|(_, after)| after.is_lowercase());
        let camel = before.is_lowercase() && c.is_uppercase();
        // `HTTPServer`, but not the plural `APIs`.
        let acronym = before.is_uppercase() && c.is_uppercase() && after_next;
        let digits = before.is_alphabetic() && c.is_numeric() || before.is_numeric() && c.is_alphabetic();
        if camel || acronym || digits {
            return Some(at);
        }
        before = c;
    }
    None
}

/// Dictionary words of two units or more, single units that stand alone, and each overlapping pair of units: the
/// dictionary may cut a query and a text apart in different places, the pairs never do.
fn unspaced_tokens(run: &str, unit_lens: impl Iterator<Item = usize>, emit: &mut impl FnMut(String, bool)) {
    let mut ends = vec![0];
    for len in unit_lens {
        ends.push(ends[ends.len() - 1] + len);
    }
    let units = ends.len() - 1;
    for (start, word) in script::words(run) {
        let first = ends.partition_point(|end| *end < start);
        let last = ends.partition_point(|end| *end < start + word.len());
        // A word of two units is a pair and comes below.
        if last - first != 2 || ends[first] != start || ends[last] != start + word.len() {
            emit(cut(word.to_owned()), stop::is_chinese(word));
        }
    }
    if units == 1 && script::words(run).next().is_none() {
        emit(run.to_owned(), stop::is_chinese(run));
    }
    for at in 2..=units {
        let pair = &run[ends[at - 2]..ends[at]];
        emit(pair.to_owned(), stop::is_chinese(pair));
    }
}

fn stem(word: String) -> String {
    let word = cut(word);
    if word.bytes().all(|b| b.is_ascii_alphabetic()) { STEMMER.stem(&word).into_owned() } else { word }
}

fn cut(mut token: String) -> String {
    if let Some((at, _)) = token.char_indices().nth(MAX_TOKEN_CHARS) {
        token.truncate(at);
    }
    token
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(terms(text).join(" "), expected, "{text}");
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        check("Running tests, quickly!", "run test quick");
        check("Caroline's cafés don't open", "carolin cafe don't open");
        check("Москва и Ёлки", "москва и елки");
        check("مُحَمَّـد", "محمد");
        check("שָׁלוֹם עולם", "שלום עולם");
        check("1,000,000 of 2,50", "1000000 of 2 50");
    }

    #[test]
    fn identifiers_are_kept_whole_and_split() {
        check("snake_case", "snake_case snake case");
        check("camelCase HTTPServer APIs", "camelcas camel case httpserver http server api");
        check("error[E0658]", "error e0658 0658");
        check("foo::bar", "foo::bar foo bar");
        check("v1.2.3", "v1.2.3 v1 2 3");
        check("c++ C# (rust)", "c++ c c# c rust");
        check("user@example.com.", "user@example.com user exampl com");
        check("https://a.example/x?q=1", "https://a.example/x?q=1 https a exampl x q 1");
        check("/usr/local/bin", "usr/local/bin usr local bin");
        check("state-of-the-art", "state-of-the-art state of the art");
        check("O'Brien", "o'brien o brien");
    }

    #[test]
    fn chinese_gives_words_and_pairs() {
        check("故宫博物院", "博物院 故宫 宫博 博物 物院");
        check("猫", "猫");
        check("MCP服务-v2", "mcp服务-v2 mcp 服务 v2");
        check("用MCP吗？好", "用 mcp 吗 好");
    }

    #[test]
    fn query_leaves_function_words_out() {
        for (query, expected) in [
            ("Who is the author of the book?", "author book"),
            ("who is it", ""),
            ("这是什么", ""),
            ("什么时候去故宫", "故宫"),
            ("run RUN running", "run"),
        ] {
            let found = query_terms(query).join(" ");
            assert!(
                if expected.is_empty() { found.is_empty() } else { expected.split(' ').all(|t| found.contains(t)) },
                "{query}: {found}"
            );
        }
        assert_eq!(query_terms(&(0..400).map(|n| format!("w{n} ")).collect::<String>()).len(), 256);
    }

    #[test]
    fn short_queries_in_any_script_find_their_text() {
        for (query, text) in [
            ("故宫", "我们昨天去了北京的故宫博物院参观。"),
            ("猫", "我家的猫很可爱"),
            ("五月", "他今年五月去了上海"),
            ("東京", "私は東京に住んでいます"),
            ("サーバー", "新しいサーバーを設定した"),
            ("서울", "서울에서 만났어요"),
            ("กรุงเทพ", "ผมอาศัยอยู่ในกรุงเทพมหานคร"),
            ("ไทย", "ประเทศไทยมีอากาศร้อน"),
            ("ភាសា", "ខ្ញុំនិយាយភាសាខ្មែរ"),
            ("Москва", "Столица — МОСКВА."),
            ("محمد", "مُحَمَّد في البيت"),
            ("שלום", "שָׁלוֹם לכולם"),
            ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
            ("服务", "重启MCP服务-v2即可"),
            ("MCP服务-v2", "请重启MCP服务-v2即可"),
            ("e0658", "rustc reports E0658 here"),
            ("1000", "it cost 1,000 euros"),
            ("resume", "his résumé"),
        ] {
            let stored: HashSet<String> = terms(text).into_iter().collect();
            assert!(query_terms(query).iter().any(|term| stored.contains(term)), "{query}: {:?}", query_terms(query));
        }
    }

    proptest! {
        #[test]
        fn terms_are_clean_and_short(text in any::<String>()) {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && term.chars().count() <= MAX_TOKEN_CHARS);
                prop_assert!(!term.contains(|c: char| c.is_whitespace() || c.is_control()), "{term:?}");
            }
        }

        #[test]
        fn a_word_of_a_text_finds_that_text(text in "(\\PC{0,8}[ \\n,。]|[a-zA-Z0-9_.:'-]{1,12} |[故宫博物院的服务ア-ンก-ฮะ-ูเ-ไ]{1,6}[ 。]?|[а-яА-Я]{1,6} ){0,12}") {
            let stored: HashSet<String> = terms(&text).into_iter().collect();
            for word in text.split_whitespace() {
                let asked = terms(word);
                prop_assert!(asked.is_empty() || asked.iter().any(|term| stored.contains(term)), "{word:?} {asked:?} {stored:?}");
            }
        }

        #[test]
        fn two_characters_out_of_a_chinese_text_find_it(text in "[故宫博物院北京上海服务器天安门猫狗]{2,20}", at in 0usize..18) {
            let chars: Vec<char> = text.chars().collect();
            let at = at.min(chars.len() - 2);
            let pair: String = chars[at..at + 2].iter().collect();
            prop_assert!(terms(&text).contains(&pair));
            prop_assert!(terms(&pair).contains(&pair));
        }
    }
}
