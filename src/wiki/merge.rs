//! Joins two edits of the same text: by lines, and where lines clash by words.
//!
//! Nothing is dropped and nothing is said twice: a change that both made counts once, and where both changed the same
//! place differently the result is a clash that somebody must resolve.

use similar::{Algorithm, MergeResolution, TextMerge, TextMergeConfig};

use super::words::{lines, words};

/// Texts of more lines than this are compared by their rare lines first: the shortest edit takes too long to find.
const MANY_LINES: usize = 8_000;
/// Places of more words than this are not joined by words.
const MAX_WORDS: usize = 8_000;

/// Two edits joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// They do not meet.
    Clean(String),
    /// They meet somewhere.
    Clash(Vec<Piece>),
}

/// A piece of two edits that meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// What both leave, or only one of them says.
    Agreed(String),
    /// What both say differently.
    Clash(Clash),
}

/// A place where two edits say different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// Line of the head where it begins, from 1.
    pub line: usize,
    /// What was there before both.
    pub base: String,
    /// What the head says.
    pub head: String,
    /// What is proposed.
    pub proposed: String,
}

/// How a clash is to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// As the head has it.
    Head,
    /// As it is proposed.
    Proposed,
    /// The head's words, then the proposed ones.
    Both,
    /// As it was before both.
    Base,
    /// In other words.
    Text(String),
}

impl Resolution {
    /// Reads `head`, `proposed`, `both`, `base` or `text:…`.
    pub fn parse(given: &str) -> Option<Self> {
        Some(match given {
            "head" => Self::Head,
            "proposed" => Self::Proposed,
            "both" => Self::Both,
            "base" => Self::Base,
            other => Self::Text(other.strip_prefix("text:")?.to_owned()),
        })
    }
}

/// Joins the edits that lead from `base` to `head` and to `proposed`.
pub fn merge(base: &str, head: &str, proposed: &str) -> Merge {
    if head == proposed || base == proposed {
        return Merge::Clean(head.to_owned());
    }
    if base == head {
        return Merge::Clean(proposed.to_owned());
    }
    let many = [base, head, proposed].map(|text| text.matches('\n').count()).iter().sum::<usize>() > MANY_LINES;
    let algorithm = if many { Algorithm::Histogram } else { Algorithm::Myers };
    let merge = TextMergeConfig::new().algorithm(algorithm).merge_lines(base, head, proposed);
    let mut pieces = Pieces::default();
    for region in merge.regions() {
        let head_text: String = region.ours_range().filter_map(|at| merge.ours_line(at)).collect();
        let proposed_text: String = region.theirs_range().filter_map(|at| merge.theirs_line(at)).collect();
        match region.resolution() {
            MergeResolution::Unchanged | MergeResolution::Ours | MergeResolution::Both => pieces.agree(&head_text),
            MergeResolution::Theirs => pieces.agree(&proposed_text),
            _ => {
                let base_text: String = region.base_range().filter_map(|at| merge.base_line(at)).collect();
                let joined = contained(&base_text, &head_text, &proposed_text)
                    .or_else(|| by_words(&base_text, &head_text, &proposed_text));
                match joined {
                    Some(joined) => pieces.agree(&joined),
                    None => pieces.0.push(Piece::Clash(Clash {
                        line: region.ours_range().start + 1,
                        base: base_text,
                        head: head_text,
                        proposed: proposed_text,
                    })),
                }
            }
        }
    }
    pieces.merged()
}

/// The text that comes of `pieces` when each clash ends as said; `None` if there are not as many ends as clashes.
pub fn resolve(pieces: &[Piece], resolutions: &[Resolution]) -> Option<String> {
    let mut ends = resolutions.iter();
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Agreed(agreed) => text.push_str(agreed),
            Piece::Clash(clash) => match ends.next()? {
                Resolution::Head => text.push_str(&clash.head),
                Resolution::Proposed => text.push_str(&clash.proposed),
                Resolution::Both => text.extend([clash.head.as_str(), &clash.proposed]),
                Resolution::Base => text.push_str(&clash.base),
                Resolution::Text(other) => text.push_str(other),
            },
        }
    }
    ends.next().is_none().then_some(text)
}

#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn agree(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Agreed(last)) => last.push_str(text),
            _ => self.0.push(Piece::Agreed(text.to_owned())),
        }
    }

    fn merged(self) -> Merge {
        if self.0.iter().any(|piece| matches!(piece, Piece::Clash(_))) {
            return Merge::Clash(self.0);
        }
        let agreed = self.0.into_iter().map(|piece| match piece {
            Piece::Agreed(text) => text,
            Piece::Clash(_) => String::new(),
        });
        Merge::Clean(agreed.collect())
    }
}

/// The longer side, if both made the same change of the base and one side added lines within it.
fn contained(base: &str, head: &str, proposed: &str) -> Option<String> {
    let (base, head, proposed) = (lines(base), lines(head), lines(proposed));
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(one, other)| one == other).count();
    let above = same(&mut head.iter().zip(&proposed));
    let below = same(&mut head[above..].iter().rev().zip(proposed[above..].iter().rev()));
    let (short, long) = if head.len() < proposed.len() { (&head, &proposed) } else { (&proposed, &head) };
    // As many lines as the base had: what is added stands for none of them.
    (above + below == short.len() && above + below >= base.len()).then(|| long.concat())
}

/// The same by words, if both sides keep most of the base: else words that happen to be in all three would be taken for
/// what was kept, and sentences shuffled into each other.
fn by_words(base: &str, head: &str, proposed: &str) -> Option<String> {
    let texts = [base, head, proposed];
    if texts.map(|text| words(text).len()).iter().sum::<usize>() > MAX_WORDS {
        return None;
    }
    let spelled = texts.map(spell);
    let [base_words, head_words, proposed_words] = &spelled;
    let merge = TextMerge::from_lines(base_words.as_str(), head_words.as_str(), proposed_words.as_str());
    let kept = |resolutions: [MergeResolution; 2]| -> usize {
        let regions = merge.regions().iter().filter(|region| resolutions.contains(&region.resolution()));
        regions.map(|region| region.base_range().len()).sum()
    };
    let by_head = kept([MergeResolution::Unchanged, MergeResolution::Theirs]);
    let by_proposed = kept([MergeResolution::Unchanged, MergeResolution::Ours]);
    let most = |kept: usize| kept * 2 > merge.base_len();
    if merge.is_conflicted() || !most(by_head) || !most(by_proposed) {
        return None;
    }
    Some(merge.to_string().replace('\n', "").replace('\0', "\n"))
}

/// A word a line, for a library that merges lines. Line ends become NUL, which no text of ours contains.
fn spell(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len() * 2);
    for word in words(text) {
        spelled.push_str(if word == "\n" { "\0" } else { word });
        spelled.push('\n');
    }
    spelled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(text: &str) -> Merge {
        Merge::Clean(text.to_owned())
    }

    #[test]
    fn edits_that_do_not_meet_are_joined() {
        for (base, head, proposed, joined) in [
            ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
            ("a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n", "b\nc\nd\n"),
            ("a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n"),
            // The same change, and more beside it.
            ("a\nb\nc\n", "a\nB\nc\n", "a\nB\nmore\nc\n", "a\nB\nmore\nc\n"),
            // Within a line, by words and by Chinese characters.
            (
                "the quick brown fox jumps\n",
                "the slow brown fox jumps\n",
                "the quick brown fox leaps\n",
                "the slow brown fox leaps\n",
            ),
            ("模数为奇素数的情况\n", "模数是奇素数的情况\n", "模数为奇素数的情形\n", "模数是奇素数的情形\n"),
            ("one two three four", "one 2 three four", "one two three four\n", "one 2 three four\n"),
            ("one two three\r\nx\r\n", "1 two three\r\nx\r\n", "one two 3\r\nx\r\n", "1 two 3\r\nx\r\n"),
        ] {
            assert_eq!(merge(base, head, proposed), clean(joined), "{base:?} {head:?} {proposed:?}");
        }
    }

    #[test]
    fn edits_of_the_same_place_clash_and_are_resolved_region_by_region() {
        let Merge::Clash(pieces) = merge("a\nb\nc\nd\ne\n", "a\nB1\nc\nd\nE1\n", "a\nB2\nc\nd\nE2\n") else {
            panic!("both changed lines 2 and 5");
        };
        let clashes: Vec<(usize, &str)> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Clash(clash) => Some((clash.line, clash.base.as_str())),
                Piece::Agreed(_) => None,
            })
            .collect();
        assert_eq!(clashes, [(2, "b\n"), (5, "e\n")]);
        let resolved = |ends: &[&str]| {
            resolve(&pieces, &ends.iter().map(|end| Resolution::parse(end).expect("known")).collect::<Vec<_>>())
        };
        assert_eq!(resolved(&["head", "proposed"]).as_deref(), Some("a\nB1\nc\nd\nE2\n"));
        assert_eq!(resolved(&["both", "base"]).as_deref(), Some("a\nB1\nB2\nc\nd\ne\n"));
        assert_eq!(resolved(&["text:B\n", "text:"]).as_deref(), Some("a\nB\nc\nd\n"));
        assert_eq!((resolved(&["head"]), resolved(&["head", "head", "head"])), (None, None));
        assert_eq!(Resolution::parse("mine"), None);
    }

    #[test]
    fn sentences_are_not_shuffled_into_each_other() {
        let base = "The deploy runs at noon.\n";
        let merged = merge(base, "At noon the backup of the store runs.\n", "Never start the deploy by hand; ask.\n");
        assert!(matches!(merged, Merge::Clash(_)), "{merged:?}");
    }

    fn texts() -> impl Strategy<Value = (String, String, String)> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "one two three\n", "模数为奇\n", "\n", "d"]);
        let text = prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat());
        (text.clone(), text.clone(), text)
    }

    proptest! {
        #[test]
        fn one_sided_edits_win_and_equal_edits_count_once((base, one, other) in texts()) {
            prop_assert_eq!(merge(&base, &base, &one), clean(&one));
            prop_assert_eq!(merge(&base, &one, &base), clean(&one));
            prop_assert_eq!(merge(&base, &one, &one), clean(&one));
            // Either side's end of every clash, and the whole of a clean merge, comes from lines that somebody wrote.
            match (merge(&base, &one, &other), merge(&base, &other, &one)) {
                (Merge::Clean(joined), Merge::Clean(swapped)) => prop_assert_eq!(joined, swapped),
                (Merge::Clash(pieces), Merge::Clash(_)) => {
                    let clashes = pieces.iter().filter(|piece| matches!(piece, Piece::Clash(_))).count();
                    prop_assert!(resolve(&pieces, &vec![Resolution::Head; clashes]).is_some());
                }
                (merged, swapped) => prop_assert!(false, "{:?} but swapped {:?}", merged, swapped),
            }
        }
    }
}
