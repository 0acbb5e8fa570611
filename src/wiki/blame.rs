//! Which revision each line came with. Carried from revision to revision, so that nobody walks a history to know it.

use similar::DiffTag;

use super::{diff::ops, words::lines};
use crate::domain::BlameRun;

/// The blame of the first revision of a page.
pub fn blame_first(text: &str) -> Vec<BlameRun> {
    runs(std::iter::repeat_n(1, lines(text).len()))
}

/// The blame of revision `number` with text `new`, from that of its parent with text `old`.
pub fn blame_next(parent: &[BlameRun], old: &str, new: &str, number: u64) -> Vec<BlameRun> {
    let came_with: Vec<u64> = parent
        .iter()
        .flat_map(|BlameRun(revision, count)| {
            std::iter::repeat_n(*revision, usize::try_from(*count).unwrap_or(usize::MAX))
        })
        .collect();
    let (old, new) = (lines(old), lines(new));
    let carried = ops(&old, &new).into_iter().flat_map(|op| {
        let kept = op.tag() == DiffTag::Equal;
        let start = op.old_range().start;
        let revisions: Vec<u64> = (0..op.new_range().len())
            .map(|at| if kept { came_with.get(start + at).copied().unwrap_or(number) } else { number })
            .collect();
        revisions
    });
    runs(carried)
}

fn runs(revisions: impl Iterator<Item = u64>) -> Vec<BlameRun> {
    let mut runs: Vec<BlameRun> = Vec::new();
    for revision in revisions {
        match runs.last_mut() {
            Some(BlameRun(last, count)) if *last == revision => *count += 1,
            _ => runs.push(BlameRun(revision, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_keeps_the_revision_it_came_with() {
        let texts = ["a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n", "x\na\nB\nd\n", ""];
        let mut blame = blame_first(texts[0]);
        let mut history = vec![blame.clone()];
        for (number, pair) in (2..).zip(texts.windows(2)) {
            blame = blame_next(&blame, pair[0], pair[1], number);
            history.push(blame.clone());
        }
        let run =
            |runs: &[(u64, u64)]| runs.iter().map(|(revision, count)| BlameRun(*revision, *count)).collect::<Vec<_>>();
        assert_eq!(
            history,
            [
                run(&[(1, 3)]),
                run(&[(1, 1), (2, 1), (1, 1)]),
                run(&[(1, 1), (2, 1), (1, 1), (3, 1)]),
                run(&[(4, 1), (1, 1), (2, 1), (3, 1)]),
                run(&[]),
            ]
        );
    }
}
