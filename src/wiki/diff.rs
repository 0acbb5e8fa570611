//! What changed between two texts: by lines, and within changed lines by words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use super::words::{lines, words};

/// Unchanged lines around a change that are shown with it.
const CONTEXT: usize = 3;
/// Blocks of more words than this are shown as wholly changed: comparing them takes longer than a reader gains.
const MAX_WORDS: usize = 4_000;

/// What changed between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Diff {
    /// Lines that came.
    pub inserted: i64,
    /// Lines that went.
    pub deleted: i64,
    /// The places where something changed, in order.
    pub hunks: Vec<Hunk>,
}

/// A place where something changed, with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Hunk {
    /// Its first line in the old text, from 1.
    pub old_line: i64,
    /// Its first line in the new text, from 1.
    pub new_line: i64,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct DiffLine {
    /// equal, delete or insert.
    pub op: String,
    /// The line in pieces, its end included.
    pub parts: Vec<DiffPart>,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct DiffPart {
    /// The piece.
    pub text: String,
    /// Whether it is what went or came.
    pub changed: bool,
}

impl DiffLine {
    /// The whole line.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

impl Diff {
    /// What changed from `old` to `new`.
    pub fn of(old: &str, new: &str) -> Self {
        let (old, new) = (lines(old), lines(new));
        let ops = ops(&old, &new);
        let mut diff = Self::default();
        for op in &ops {
            if op.tag() != DiffTag::Equal {
                diff.deleted += count(op.old_range().len());
                diff.inserted += count(op.new_range().len());
            }
        }
        diff.hunks = group_diff_ops(ops, CONTEXT)
            .into_iter()
            .filter_map(|group| {
                let first = group.first()?;
                Some(Hunk {
                    old_line: count(first.old_range().start) + 1,
                    new_line: count(first.new_range().start) + 1,
                    lines: group.iter().flat_map(|op| shown(op, &old, &new)).collect(),
                })
            })
            .collect();
        diff
    }

    /// The usual text form, for terminals and patches.
    pub fn unified(&self) -> String {
        let mut text = String::new();
        for hunk in &self.hunks {
            let length = |without: &str| hunk.lines.iter().filter(|line| line.op != without).count();
            let (old, new) = (length("insert"), length("delete"));
            let start = |line: i64, length: usize| if length == 0 { line - 1 } else { line };
            text.push_str(&format!(
                "@@ -{},{old} +{},{new} @@\n",
                start(hunk.old_line, old),
                start(hunk.new_line, new)
            ));
            for line in &hunk.lines {
                text.push(match line.op.as_str() {
                    "delete" => '-',
                    "insert" => '+',
                    _ => ' ',
                });
                let shown = line.text();
                text.push_str(&shown);
                if !shown.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }
}

/// The steps from one list of lines to another.
pub(super) fn ops(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    capture_diff_slices(Algorithm::Histogram, old, new)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn shown(op: &DiffOp, old: &[&str], new: &[&str]) -> Vec<DiffLine> {
    let (gone, came) = (&old[op.old_range()], &new[op.new_range()]);
    match op.tag() {
        DiffTag::Equal => whole("equal", gone, false),
        DiffTag::Delete => whole("delete", gone, true),
        DiffTag::Insert => whole("insert", came, true),
        DiffTag::Replace => replaced(gone, came),
    }
}

fn whole(op: &str, lines: &[&str], changed: bool) -> Vec<DiffLine> {
    let line =
        |text: &&str| DiffLine { op: op.to_owned(), parts: vec![DiffPart { text: (*text).to_owned(), changed }] };
    lines.iter().map(line).collect()
}

fn replaced(gone: &[&str], came: &[&str]) -> Vec<DiffLine> {
    let (old, new) = (gone.concat(), came.concat());
    let (old, new) = (words(&old), words(&new));
    if old.len() + new.len() > MAX_WORDS {
        return [whole("delete", gone, true), whole("insert", came, true)].concat();
    }
    let (mut before, mut after) = (Pieces::new("delete"), Pieces::new("insert"));
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let changed = op.tag() != DiffTag::Equal;
        before.push(&old[op.old_range()], changed);
        after.push(&new[op.new_range()], changed);
    }
    [before.lines(), after.lines()].concat()
}

/// Words gathered to lines, neighbours of a kind together.
struct Pieces {
    op: &'static str,
    lines: Vec<DiffLine>,
    parts: Vec<DiffPart>,
}

impl Pieces {
    fn new(op: &'static str) -> Self {
        Self { op, lines: Vec::new(), parts: Vec::new() }
    }

    fn push(&mut self, words: &[&str], changed: bool) {
        for word in words {
            match self.parts.last_mut() {
                Some(last) if last.changed == changed => last.text.push_str(word),
                _ => self.parts.push(DiffPart { text: (*word).to_owned(), changed }),
            }
            if *word == "\n" {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if !self.parts.is_empty() {
            self.lines.push(DiffLine { op: self.op.to_owned(), parts: std::mem::take(&mut self.parts) });
        }
    }

    fn lines(mut self) -> Vec<DiffLine> {
        self.end();
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Old and new text of a difference, where its hunks are the whole of both.
    fn both(diff: &Diff) -> (String, String) {
        let side = |without: &str| {
            diff.hunks
                .iter()
                .flat_map(|hunk| &hunk.lines)
                .filter(|line| line.op != without)
                .map(DiffLine::text)
                .collect()
        };
        (side("insert"), side("delete"))
    }

    #[test]
    fn only_the_words_that_changed_are_marked() {
        let diff = Diff::of("模数为奇素数。\nlast\n", "模数为奇质数。\nlast\n");
        let marked: Vec<&str> = diff.hunks[0]
            .lines
            .iter()
            .flat_map(|line| &line.parts)
            .filter(|part| part.changed)
            .map(|part| part.text.as_str())
            .collect();
        assert_eq!(marked, ["素", "质"]);
        assert_eq!((diff.inserted, diff.deleted), (1, 1));
    }

    #[test]
    fn both_texts_are_in_it() {
        for (old, new) in [
            ("a\nb\n", "a\nc\n"),
            ("", "x"),
            ("x", ""),
            ("a b c", "a c\nd"),
            ("one\r\ntwo", "one\ntwo\n"),
            ("a\n", "a"),
        ] {
            assert_eq!(both(&Diff::of(old, new)), (old.to_owned(), new.to_owned()));
        }
        assert_eq!(Diff::of("same\n", "same\n"), Diff::default());
    }

    #[test]
    fn unified_form_is_the_usual_one() {
        let text = Diff::of("a\nb\nc\n", "a\nx\nc").unified();
        assert_eq!(text, "@@ -1,3 +1,3 @@\n a\n-b\n-c\n+x\n+c\n\\ No newline at end of file\n");
        assert_eq!(Diff::of("", "new\n").unified(), "@@ -0,0 +1,1 @@\n+new\n");
    }
}
