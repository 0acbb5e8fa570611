//! Names found in a text, all of them in one pass: a vocabulary of any size costs the same.
//!
//! Text and names are compared case and width folded, with one space for each run of white space and punctuation. In scripts with
//! spaces a name is found as whole words, elsewhere wherever it stands; the longest name at a place counts.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use aho_corasick::{AhoCorasick, MatchKind};

use super::{
    normal,
    script::{self, Writing},
    stop,
};

/// A name that means more things than this means nothing.
const MAX_SENSES: usize = 8;
/// Weight of a plural or singular that nobody wrote down.
const VARIANT: f32 = 0.9;
/// A name in capitals of up to so many letters is found in capitals only: `WHO` is not who.
const LOUD_CHARS: usize = 4;

/// A name to be found, and whom it is of.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// The name.
    pub text: &'a str,
    /// Whose it is.
    pub owner: u32,
    /// How well it stands for its owner, 0..=1.
    pub weight: f32,
    /// Whether its plural is found too: it is English, or of no said language.
    pub inflected: bool,
}

/// Which names are not looked for.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Shorter names are passed over; in scripts without spaces two characters are enough.
    pub min_chars: usize,
    /// Names that are passed over.
    pub stopped: Vec<String>,
}

/// A name found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Where, in bytes of the text as NFKC has it.
    pub range: Range<usize>,
    /// Whose name it is, with weights that are shared among several.
    pub senses: Vec<(u32, f32)>,
}

#[derive(Debug)]
struct Pattern {
    senses: Vec<(u32, f32)>,
    /// Found in capitals only.
    loud: bool,
}

/// Names, ready to be found.
#[derive(Debug, Default)]
pub struct Lexicon {
    automaton: Option<AhoCorasick>,
    patterns: Vec<Pattern>,
}

impl Lexicon {
    /// Compiles names.
    pub fn of<'a>(names: impl Iterator<Item = Name<'a>>, limits: &Limits) -> Self {
        let stopped: HashSet<String> = limits.stopped.iter().map(|label| Form::of(label).folded).collect();
        let mut found: HashMap<String, (HashMap<u32, f32>, bool)> = HashMap::new();
        for name in names {
            let (form, loud) = (Form::of(name.text).folded, is_loud(name.text));
            if !is_telling(&form, loud, limits.min_chars) || stopped.contains(&form) {
                continue;
            }
            let mut add = |form: String, weight: f32| {
                let (senses, all_loud) = found.entry(form).or_insert_with(|| (HashMap::new(), true));
                *all_loud &= loud;
                let known = senses.entry(name.owner).or_insert(weight);
                *known = known.max(weight);
            };
            if name.inflected && !loud {
                for variant in variants(&form).into_iter().filter(|variant| !stop::is_english(variant)) {
                    add(variant, name.weight * VARIANT);
                }
            }
            add(form, name.weight);
        }
        found.retain(|_, (senses, _)| senses.len() <= MAX_SENSES);
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let automaton = (!found.is_empty()).then(|| {
            // All matches are needed: the longest may end inside of a word where a shorter one does not.
            let forms = found.iter().map(|(form, _)| form);
            AhoCorasick::builder().match_kind(MatchKind::Standard).build(forms).expect("names are short and few enough")
        });
        let patterns = found.into_iter().map(|(_, (senses, loud))| {
            let several = senses.len() as f32;
            let mut senses: Vec<(u32, f32)> =
                senses.into_iter().map(|(owner, weight)| (owner, weight / several)).collect();
            senses.sort_unstable_by_key(|(owner, _)| *owner);
            Pattern { senses, loud }
        });
        Self { automaton, patterns: patterns.collect() }
    }

    /// Names that are looked for.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The names in `text`, the longest at each place, from left to right without overlap.
    pub fn find(&self, text: &str) -> Vec<Found> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let form = Form::of(text);
        let mut hits: Vec<(usize, usize, usize)> = automaton
            .find_overlapping_iter(&form.folded)
            .filter(|hit| is_whole(&form.folded, hit.start(), hit.end()))
            .map(|hit| (hit.start(), hit.end(), hit.pattern().as_usize()))
            .collect();
        hits.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut found = Vec::new();
        let mut next = 0;
        for (start, end, pattern) in hits {
            if start < next {
                continue;
            }
            let range = form.place(start).start..form.place(end - 1).end;
            let Pattern { senses, loud } = &self.patterns[pattern];
            if *loud && form.plain[range.clone()].contains(char::is_lowercase) {
                continue;
            }
            next = end;
            found.push(Found { range, senses: senses.clone() });
        }
        found
    }

    /// The names that are the whole of `text`.
    pub fn whole(&self, text: &str) -> Vec<(u32, f32)> {
        let length = Form::of(text).folded.len();
        let found = self.find(text);
        match &found[..] {
            [only] if Form::of(&normal::plain(text)[only.range.clone()]).folded.len() == length => only.senses.clone(),
            _ => Vec::new(),
        }
    }
}

/// A text in the form in which names are compared, and where each of its words stood.
struct Form<'t> {
    plain: std::borrow::Cow<'t, str>,
    folded: String,
    /// Beginning in `folded`, and place in `plain`.
    words: Vec<(usize, Range<usize>)>,
}

impl<'t> Form<'t> {
    fn of(text: &'t str) -> Self {
        let plain = normal::plain(text);
        let mut folded = String::with_capacity(plain.len());
        let mut words = Vec::new();
        let mut rest = 0;
        while let Some(start) = plain[rest..].find(is_inner).map(|at| rest + at) {
            let end = plain[start..].find(|c| !is_inner(c)).map_or(plain.len(), |at| start + at);
            if !folded.is_empty() {
                folded.push(' ');
            }
            // Characters of scripts without spaces stand for themselves, so that a name in the middle has a place of its own.
            let mut from = start;
            for (writing, run) in script::runs(&plain[start..end], script::writing) {
                if writing == Writing::Spaced {
                    words.push((folded.len(), from..from + run.len()));
                    folded.push_str(&normal::fold(run));
                } else {
                    for c in run.chars() {
                        words.push((folded.len(), from..from + c.len_utf8()));
                        folded.push_str(&normal::fold(c.encode_utf8(&mut [0; 4])));
                        from += c.len_utf8();
                    }
                    continue;
                }
                from += run.len();
            }
            rest = end;
            // A possessive belongs to no name.
            let after = &plain[rest..];
            for possessive in ["'s", "’s"] {
                let border =
                    after.strip_prefix(possessive).is_some_and(|after| !after.starts_with(char::is_alphanumeric));
                if border {
                    rest += possessive.len();
                    break;
                }
            }
        }
        Self { plain, folded, words }
    }

    /// Where the word around byte `at` of the folded form stood.
    fn place(&self, at: usize) -> Range<usize> {
        let next = self.words.partition_point(|(start, _)| *start <= at);
        self.words[next.saturating_sub(1)].1.clone()
    }
}

/// Letters, digits, marks, and the signs that make another name of one.
fn is_inner(c: char) -> bool {
    script::is_word_char(c) || matches!(c, '+' | '#' | '_')
}

/// Whether no word of a script with spaces goes on at either end.
fn is_whole(folded: &str, start: usize, end: usize) -> bool {
    let goes_on = |one: Option<char>, other: Option<char>| {
        let spaced = |c: Option<char>| c.is_some_and(|c| c != ' ' && script::writing(c) == Writing::Spaced);
        spaced(one) && spaced(other)
    };
    let (before, inside, after) = (&folded[..start], &folded[start..end], &folded[end..]);
    !goes_on(before.chars().next_back(), inside.chars().next())
        && !goes_on(inside.chars().next_back(), after.chars().next())
}

fn is_telling(form: &str, loud: bool, min_chars: usize) -> bool {
    let Some(first) = form.chars().next() else { return false };
    let chars = form.chars().count();
    if script::writing(first) != Writing::Spaced {
        return chars >= 2 && !stop::is_chinese(form);
    }
    chars >= min_chars && (loud || !stop::is_english(form)) && form.chars().any(char::is_alphabetic)
}

fn is_loud(name: &str) -> bool {
    name.chars().count() <= LOUD_CHARS
        && name.chars().all(|c| c.is_uppercase() || c.is_numeric())
        && name.chars().any(char::is_uppercase)
}

/// English words that make their number as they please, and endings that come from Latin and Greek. What stems the same is
/// not enough to be another form of a name: a stemmer has one stem for `university` and `universe`, `organization` and
/// `organ`, `operation` and `operator`.
const IRREGULAR: [(&str, &str); 16] = [
    ("person", "people"),
    ("man", "men"),
    ("woman", "women"),
    ("child", "children"),
    ("foot", "feet"),
    ("tooth", "teeth"),
    ("goose", "geese"),
    ("mouse", "mice"),
    ("ox", "oxen"),
    ("datum", "data"),
    ("medium", "media"),
    ("bacterium", "bacteria"),
    ("curriculum", "curricula"),
    ("criterion", "criteria"),
    ("phenomenon", "phenomena"),
    ("schema", "schemata"),
];
/// Endings of the singular and the plural, where the word before them says so.
const ENDINGS: [(&str, &str, &[&str]); 5] = [
    ("ex", "ices", &["ind", "vert", "ap", "vort"]),
    ("ix", "ices", &["matr", "append", "hel", "rad"]),
    (
        "is",
        "es",
        &["analys", "bas", "cris", "thes", "hypothes", "synthes", "diagnos", "ax", "paralys", "parenthes", "oas"],
    ),
    ("f", "ves", &["lea", "hal", "shel", "sel", "wol", "cal", "loa", "thie", "shea"]),
    ("fe", "ves", &["li", "kni", "wi"]),
];

/// Singulars that look like plurals.
const SINGULAR: [&str; 5] = ["lens", "means", "news", "series", "species"];

/// The plural of a singular name, and the singular of a plural one, by the last word.
fn variants(form: &str) -> Vec<String> {
    let last = form.rsplit(' ').next().unwrap_or_default();
    if last.len() < 2 || !last.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let before = &form[..form.len() - last.len()];
    let (mut words, is_plural) = irregular(last);
    // `persons` are people and `bases` may be of a base, but `leaves` are of no leave.
    if !is_plural || last.ends_with("ses") {
        words.extend(regular(last));
    }
    words.into_iter().map(|word| format!("{before}{word}")).collect()
}

/// The other numbers of a word that the tables have, and whether it is a plural there.
fn irregular(word: &str) -> (Vec<String>, bool) {
    let singulars = other_numbers(word, |(one, many)| (many, one));
    if !singulars.is_empty() {
        return (singulars, true);
    }
    (other_numbers(word, |pair| pair), false)
}

fn other_numbers(
    word: &str,
    turned: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Vec<String> {
    let whole = IRREGULAR.into_iter().map(&turned).filter(|(from, _)| *from == word).map(|(_, to)| to.to_owned());
    let ending = ENDINGS.into_iter().filter_map(|(one, many, stems)| {
        let (from, to) = turned((one, many));
        let stem = word.strip_suffix(from)?;
        // The end of a longer word says the same: `bookshelf`, `photosynthesis`.
        let known = stems.iter().any(|known| stem == *known || known.len() > 3 && stem.ends_with(known));
        known.then(|| format!("{stem}{to}"))
    });
    whole.chain(ending).collect()
}

fn regular(word: &str) -> Vec<String> {
    if word.len() < 3 {
        return Vec::new();
    }
    if SINGULAR.contains(&word) {
        return vec![format!("{word}es")];
    }
    let sibilant = |word: &str| ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end));
    let after_consonant =
        |word: &str, end: char| word.strip_suffix(end).is_some_and(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() >= 2) {
        return vec![format!("{stem}y"), format!("{stem}ie")];
    }
    if let Some(stem) = word.strip_suffix("es").filter(|stem| sibilant(stem)) {
        return vec![stem.to_owned(), format!("{stem}e")];
    }
    if let Some(stem) = word.strip_suffix("oes").filter(|stem| stem.len() >= 2) {
        return vec![format!("{stem}o"), format!("{stem}oe")];
    }
    if let Some(stem) = word.strip_suffix('s').filter(|stem| stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i'])) {
        return vec![stem.to_owned()];
    }
    if after_consonant(word, 'y') {
        return vec![format!("{}ies", &word[..word.len() - 1])];
    }
    if after_consonant(word, 'o') {
        return vec![format!("{word}s"), format!("{word}es")];
    }
    vec![if sibilant(word) { format!("{word}es") } else { format!("{word}s") }]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lexicon(names: &[&str]) -> Lexicon {
        let names = (0..).zip(names).map(|(owner, text)| Name { text, owner, weight: 1.0, inflected: true });
        Lexicon::of(names, &Limits { min_chars: 3, stopped: vec!["Thing".to_owned()] })
    }

    fn check(names: &[&str], text: &str, expected: &[&str]) {
        let found: Vec<String> =
            lexicon(names).find(text).into_iter().map(|found| normal::plain(text)[found.range].to_owned()).collect();
        assert_eq!(found, expected, "{names:?} in {text:?}");
    }

    #[test]
    fn names_are_found_as_whole_words_and_the_longest_counts() {
        check(
            &["New York", "New York City"],
            "From New York City to new  york, not New Yorkers",
            &["New York City", "new  york"],
        );
        check(&["New York", "New York City"], "the New York cityscape", &["New York"]);
        check(&["art"], "a cart, part art", &["art"]);
        check(&["payment outage"], "Payment-outage: payment outages", &["Payment-outage", "payment outages"]);
        check(&["webhook timeout", "stripe"], "Stripe's webhook timeouts", &["Stripe", "webhook timeouts"]);
    }

    #[test]
    fn scripts_without_spaces_need_no_borders() {
        check(&["支付中断", "支付"], "昨天支付中断了，支付失败", &["支付中断", "支付"]);
        check(&["故宫博物院"], "我想去故宫博物院museum看看", &["故宫博物院"]);
        check(&["ＭＣＰ服务"], "mcp服务很快", &["mcp服务"]);
    }

    #[test]
    fn plurals_are_found_and_too_little_is_not() {
        check(&["category", "crash", "cache"], "categories, crashes and caches", &["categories", "crashes", "caches"]);
        check(&["payments"], "one payment", &["payment"]);
        check(
            &["database", "query", "process", "status"],
            "databases: queries of processes, statuses",
            &["databases", "queries", "processes", "statuses"],
        );
        for (name, other) in [
            ("webhook timeout", "webhook timeouts"),
            ("index", "indexes"),
            ("index", "indices"),
            ("indices", "index"),
            ("matrix", "matrices"),
            ("analysis", "analyses"),
            ("analyses", "analysis"),
            ("hypothesis", "hypotheses"),
            ("criterion", "criteria"),
            ("person", "people"),
            ("person", "persons"),
            ("bases", "base"),
            ("bases", "basis"),
            ("bookshelf", "bookshelves"),
            ("schema", "schemas"),
            ("schema", "schemata"),
            ("shelf", "shelves"),
            ("proof", "proofs"),
            ("knife", "knives"),
            ("hero", "heroes"),
            ("repo", "repos"),
            ("cookie", "cookies"),
            ("cookies", "cookie"),
            ("key", "keys"),
            ("bus", "buses"),
            ("lens", "lenses"),
        ] {
            check(&[name], other, &[other]);
        }
        check(
            &["IT", "WHO", "the", "thing", "ab", "的", "42"],
            "who is it, the thing ab 的 42; the WHO says",
            &["WHO"],
        );
    }

    #[test]
    fn what_only_stems_the_same_is_no_other_form_of_a_name() {
        let stemmer = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English);
        for (name, other) in [
            ("university", "universe"),
            ("organization", "organ"),
            ("building", "build"),
            ("marketing", "market"),
            ("operation", "operator"),
            ("relative", "relation"),
        ] {
            let [one, two] = [name, other].map(|word| stemmer.stem(word).into_owned());
            assert_eq!(one, two, "{name} {other}");
            check(&[name], other, &[]);
        }
        // Nor is what only ends alike.
        for (name, other) in [
            ("lens", "len"),
            ("good news", "good new"),
            ("doe", "does"),
            ("chief", "chieves"),
            ("leaves", "leave"),
            ("indices", "indice"),
            ("price", "prix"),
            ("basis", "base"),
            ("servant", "services"),
        ] {
            check(&[name], other, &[]);
        }
    }

    #[test]
    fn a_name_of_several_is_shared_among_them() {
        let found = lexicon(&["mercury", "Mercury", "venus"]).find("Mercury");
        assert_eq!(found[0].senses, [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn the_whole_of_a_title_is_told_from_a_part() {
        let lexicon = lexicon(&["payment outage", "stripe"]);
        assert_eq!(lexicon.whole("Payment outages!"), [(0, VARIANT)]);
        assert_eq!(lexicon.whole("the payment outage of Stripe"), []);
        assert_eq!(lexicon.whole(""), []);
    }

    proptest! {
        #[test]
        fn a_name_is_found_where_it_stands(
            before in "([a-z]{1,6} ){0,3}",
            name in "[A-Za-zéß]{4,8}( [a-z]{3,7}){0,2}|[\u{4e00}-\u{4e40}]{3,5}",
            after in "( [a-z]{1,6}){0,3}",
        ) {
            let lexicon = lexicon(&[&name]);
            let found = lexicon.find(&format!("{before}{name}{after}"));
            prop_assert!(lexicon.is_empty() || !found.is_empty(), "{name:?}");
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            for found in lexicon(&["abc", "支付", "ss"]).find(&text) {
                prop_assert!(normal::plain(&text).get(found.range).is_some());
            }
        }
    }
}
