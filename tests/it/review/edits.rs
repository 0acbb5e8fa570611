//! A hundred real edits, replayed in their order, some of them written on a page that has moved since.

use std::collections::{HashMap, HashSet};

use recollect::{
    review::{ApproveProposalRequest, PageDiffRequest, PageRequest, ProposalRecord, RevertRevisionRequest},
    wiki::{Merge, Resolution, apply_patch, merge, resolve},
};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::support::desk::{Desk, agent, edit, reviewer, yes};

#[derive(Deserialize)]
struct Start {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Change {
    page: String,
    author: String,
    stale: bool,
    after_sha256: String,
    patch: String,
}

fn read<T: for<'de> Deserialize<'de>>(lines: &str) -> Vec<T> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn slug(page: &str) -> &str {
    page.trim_end_matches(".md")
}

/// What a merge by lines must give, from longest common subsequences: the text, or the first lines of the base in each
/// place where both changed something else. Slow and simple.
fn oracle(base: &str, head: &str, proposed: &str) -> Result<String, Vec<usize>> {
    let cut = |text: &'_ str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (base, head, proposed) = (cut(base), cut(head), cut(proposed));
    let (in_head, in_proposed) = (kept(&base, &head), kept(&base, &proposed));
    let (mut merged, mut clashes) = (String::new(), Vec::new());
    let (mut b, mut h, mut p) = (0, 0, 0);
    loop {
        // The next line that both kept, or the end.
        let next = (b..base.len()).find(|at| in_head[*at].is_some() && in_proposed[*at].is_some());
        let (to_b, to_h, to_p) = match next {
            Some(at) => (at, in_head[at].unwrap(), in_proposed[at].unwrap()),
            None => (base.len(), head.len(), proposed.len()),
        };
        let (was, ours, theirs) = (&base[b..to_b], &head[h..to_h], &proposed[p..to_p]);
        if was == ours || ours == theirs {
            merged.push_str(&theirs.concat());
        } else if was == theirs {
            merged.push_str(&ours.concat());
        } else {
            clashes.push(b);
        }
        let Some(at) = next else { break };
        merged.push_str(&base[at]);
        (b, h, p) = (to_b + 1, to_h + 1, to_p + 1);
    }
    if clashes.is_empty() { Ok(merged) } else { Err(clashes) }
}

/// Where each line of `base` is in `other`, if it was kept.
fn kept(base: &[String], other: &[String]) -> Vec<Option<usize>> {
    let mut numbers: HashMap<&String, usize> = HashMap::new();
    for line in base.iter().chain(other) {
        let next = numbers.len();
        numbers.entry(line).or_insert(next);
    }
    let numbered = |lines: &[String]| -> Vec<usize> { lines.iter().map(|line| numbers[line]).collect() };
    let (base, other) = (numbered(base), numbered(other));
    let mut longest = vec![vec![0_u32; other.len() + 1]; base.len() + 1];
    for (b, line) in base.iter().enumerate().rev() {
        for (o, with) in other.iter().enumerate().rev() {
            longest[b][o] =
                if line == with { longest[b + 1][o + 1] + 1 } else { longest[b + 1][o].max(longest[b][o + 1]) };
        }
    }
    let (mut b, mut o) = (0, 0);
    let mut places = vec![None; base.len()];
    while b < base.len() && o < other.len() {
        if base[b] == other[o] {
            places[b] = Some(o);
            (b, o) = (b + 1, o + 1);
        } else if longest[b + 1][o] >= longest[b][o + 1] {
            b += 1;
        } else {
            o += 1;
        }
    }
    places
}

/// How often each line is in a text.
fn lines(text: &str) -> HashMap<&str, usize> {
    text.split_inclusive('\n').fold(HashMap::new(), |mut counts, line| {
        *counts.entry(line).or_default() += 1;
        counts
    })
}

/// Its characters, each with the next.
fn pairs(text: &str) -> HashSet<(char, char)> {
    text.chars().zip(text.chars().skip(1)).collect()
}

/// Whatever either side says anew is in what was joined, and no line more often than both say it.
fn check_joined(page: &str, base: &str, head: &str, after: &str, joined: &str) {
    let (before, kept) = (pairs(base), pairs(joined));
    for side in [head, after] {
        let lost: Vec<(char, char)> =
            pairs(side).into_iter().filter(|it| !before.contains(it) && !kept.contains(it)).collect();
        assert!(lost.is_empty(), "{page}: {lost:?} is lost");
    }
    let (ours, theirs) = (lines(head), lines(after));
    for (line, count) in lines(joined) {
        let of = |side: &HashMap<&str, usize>| side.get(line).copied().unwrap_or(0);
        // A line joined by words is on neither side.
        let most = (of(&ours) + of(&theirs)).max(1);
        assert!(count <= most, "{page}: {line:?} {count} times");
    }
}

/// Whether both could be joined.
fn check_merge(read: &ProposalRecord, base: &str, head: &str, after: &str) -> bool {
    let page = read.subject.as_str();
    match (&read.merged, oracle(base, head, after)) {
        (Some(merged), Ok(expected)) => {
            assert_eq!(*merged, expected, "{page}");
            assert!(read.conflicts.is_empty());
        }
        // Lines clash, words do not.
        (Some(merged), Err(_)) => check_joined(page, base, head, after, merged),
        // Lines that repeat can be matched in several ways, and another one may leave a clash.
        (None, _) => {
            assert!(!read.conflicts.is_empty());
            for conflict in &read.conflicts {
                assert!(head.contains(&conflict.head) && after.contains(&conflict.proposed));
                assert!(base.contains(&conflict.base));
                assert!(conflict.head != conflict.proposed && conflict.base != conflict.head);
            }
            let Merge::Clash(pieces) = merge(base, head, after) else { panic!("{page}: they do not clash") };
            let both = resolve(&pieces, &vec![Resolution::Both; read.conflicts.len()]).unwrap();
            check_joined(page, base, head, after, &both);
        }
    }
    read.merged.is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_real_edits_land_as_they_were_written_and_can_be_traced_and_taken_back() {
    let desk = Desk::open().await;
    let rita = reviewer("rita");
    let mut history: HashMap<String, Vec<String>> = HashMap::new();
    for Start { id, text } in read(include_str!("../data/wiki-edits/pages.jsonl")) {
        desk.page_of(slug(&id), &text).await;
        history.insert(id, vec![text]);
    }
    let (mut clean, mut clashed) = (0, 0);
    for Change { page, author, stale, after_sha256, patch } in read(include_str!("../data/wiki-edits/edits.jsonl")) {
        let texts = history.get_mut(&page).unwrap();
        let head = texts.last().unwrap().clone();
        let after = apply_patch(&head, &patch).unwrap();
        assert_eq!(hex::encode(Sha256::digest(&after)), after_sha256, "{page}");
        // Its author had not seen the last edit.
        let base = if stale { texts.len() - 1 } else { texts.len() };
        let request = edit(slug(&page), &after, Some(i64::try_from(base).unwrap()));
        let proposal = desk.propose(&agent(&author.replace(' ', "-")), request).await;
        let read = desk.proposal(&rita, &proposal.id).await;
        assert_eq!(read.stale, stale);
        let request = if stale {
            if check_merge(&read, &texts[base - 1], &head, &after) {
                clean += 1
            } else {
                clashed += 1
            }
            // The reviewer knows what the page should say.
            ApproveProposalRequest { body: Some(after.clone()), ..yes(&read) }
        } else {
            assert_eq!(read.merged.as_deref(), Some(after.as_str()));
            yes(&read)
        };
        let decided = desk.service.approve_proposal(&rita, request).await.unwrap();
        assert_eq!(decided.outcome, "approved");
        texts.push(after);
    }
    assert_eq!(clean + clashed, 43);
    assert!(clean > 0 && clashed > 0, "{clean} joined, {clashed} clashed");
    for (page, texts) in &history {
        check_history(&desk, slug(page), texts).await;
    }
    for (page, texts) in history {
        check_reverts(&desk, slug(&page), texts).await;
    }
}

async fn check_history(desk: &Desk, slug: &str, texts: &[String]) {
    let rita = reviewer("rita");
    for (number, text) in (1..).zip(texts) {
        let revision = desk.page_at(slug, Some(number)).await.unwrap();
        assert_eq!(revision.body.as_ref(), Some(text), "{slug} {number}");
    }
    let request = PageRequest { slug: slug.to_owned(), ..PageRequest::default() };
    let blame = desk.service.page_blame(&rita, request).await.unwrap().unwrap();
    let whole: String = blame.lines.iter().map(|run| run.text.as_str()).collect();
    assert_eq!(Some(&whole), texts.last());
    for run in &blame.lines {
        let number = usize::try_from(run.revision.number).unwrap();
        for line in run.text.split_inclusive('\n') {
            // It was there in that revision, and it has an author who proposed it.
            assert!(texts[number - 1].split_inclusive('\n').any(|said| said == line), "{slug} {number}: {line:?}");
        }
        assert!(run.revision.proposal_id.is_some() && run.revision.approvers == ["rita"]);
    }
    let last = i64::try_from(texts.len()).unwrap();
    let request = PageDiffRequest { slug: slug.to_owned(), from: last - 1, to: Some(last) };
    let diff = desk.service.page_diff(&rita, request).await.unwrap().unwrap().diff;
    if texts.len() > 1 {
        assert_eq!(apply_patch(&texts[texts.len() - 2], &diff.unified()).as_ref(), Ok(&texts[texts.len() - 1]));
    }
}

/// From the last edit to the first, each taken back brings the text before it.
async fn check_reverts(desk: &Desk, slug: &str, texts: Vec<String>) {
    for number in (2..=texts.len()).rev() {
        let revision = i64::try_from(number).unwrap();
        let request = RevertRevisionRequest { slug: slug.to_owned(), revision, ..RevertRevisionRequest::default() };
        let reverted = desk.service.revert_revision(&reviewer("rita"), request).await.unwrap();
        assert_eq!(reverted.revision.change, "revert");
        assert_eq!(desk.page(slug).await.body.as_ref(), Some(&texts[number - 2]), "{slug} {number}");
    }
}
