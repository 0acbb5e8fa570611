//! The tools of the wiki and of the review queue: rows of the table in `tools`, and the shapes in which agents get what they
//! ask for, cut to what fits into a conversation.
//!
//! An agent proposes, reads what became of it, and answers. No tool decides; a test holds that.

use futures::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    schema,
    tools::{Effect, Row, answer, read},
};
use crate::{
    domain::Caller,
    error::Error,
    input,
    read::browse,
    review::{
        ApprovalRecord, Citation, CommentRecord, ConflictRecord, DecisionRecord, MemoryText, OntologyChange,
        PageRecord, PageRequest, ProposalRecord, ProposalsRequest, ProposeEditRequest, ReviseProposalRequest,
        RiskRecord, SearchPagesReply, SearchPagesRequest, WithdrawProposalRequest,
    },
    service::Service,
};

/// Tokens of a page's text in one answer, roughly counted.
const TEXT_TOKENS: usize = 6000;
/// Proposals in one answer when no number is given, and at most.
const LISTED: i64 = 10;
const LISTED_MAX: usize = 100;

pub(super) static TOOLS: [Row; 7] = [
    Row {
        name: "wiki_search",
        title: "Search the wiki",
        description: "Find pages of the wiki that answer a question, best first, with the part of each page that does. The \
            wiki holds what people have approved: prefer it to memories where both speak. Ask in plain words of any \
            language, then read the page with wiki_get.",
        effect: Effect::Reads,
        required: &["query"],
        input: schema::input::<SearchPagesRequest>,
        output: schema::output::<SearchPagesReply>,
        call: |service, caller, given| {
            async move { answer(&service.search_pages(caller, read(given)?).await?) }.boxed()
        },
    },
    Row {
        name: "wiki_get",
        title: "Read a wiki page",
        description: "Read a page of the wiki by its address: the approved text in Markdown, with its revision, the \
            memories it cites and the pages it links to. Give `revision` to read an earlier one. A long page comes in \
            parts: with a `cursor` in the answer there is more, ask the same again with it. Take `revision` of the answer \
            as `base_revision` of an edit.",
        effect: Effect::Reads,
        required: &["slug"],
        input: schema::input::<GetPageRequest>,
        output: schema::output::<PageReply>,
        call: |service, caller, given| async move { answer(&get(service, caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "wiki_propose",
        title: "Propose a wiki edit",
        description: "Propose a new page, or an edit, rename or deletion of one. Nothing changes until a person approves \
            it. Read the page first and give its `revision` as `base_revision`; give the whole new text as `body`, or a \
            unified diff as `patch`. Say why in `rationale`, and name the memories that bear it out in `evidence`; cite them \
            in the text as [^mem:ID]. Link pages as [[slug]]. `risk` in the answer names what a reviewer will look at \
            twice: mend it with review_revise. One subject a proposal.",
        effect: Effect::Adds,
        required: &["slug"],
        input: schema::input::<ProposeEditRequest>,
        output: schema::output::<ProposeReply>,
        call: |service, caller, given| {
            async move { answer(&ProposeReply::from(service.propose_edit(caller, read(given)?).await?)) }.boxed()
        },
    },
    Row {
        name: "review_list",
        title: "List proposals",
        description: "What became of your proposals, oldest first: which wait, which need changes, which were taken or \
            turned down. By default those that are still open; give `states` for others, for example rejected, to learn \
            from the reasons. With a `cursor` in the answer there is more: ask the same again with it.",
        effect: Effect::Reads,
        required: &[],
        input: schema::input::<QueueRequest>,
        output: schema::output::<QueueReply>,
        call: |service, caller, given| async move { answer(&list(service, caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "review_get",
        title: "Read a proposal",
        description: "One proposal in full: what it would change, the risks found, the evidence, what reviewers said line by \
            line, where it clashes with what the page says by now, and how it was decided, with the reason. Call it when \
            review_list shows changes_requested, conflicted or rejected. With `texts`, also the whole texts.",
        effect: Effect::Reads,
        required: &["id"],
        input: schema::input::<GetProposalRequest>,
        output: schema::output::<ProposalReply>,
        call: |service, caller, given| async move { answer(&proposal(service, caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "review_revise",
        title: "Revise a proposal",
        description: "Give an open proposal of yours a new text: when changes were requested, when the page has moved, or to \
            mend a risk. The whole new text as `body`; `base_revision` if it was written on a newer revision; answer the \
            reviewer in `comment`. It waits for a decision again, and earlier approvals no longer count.",
        effect: Effect::Sets,
        required: &["id", "body"],
        input: schema::input::<ReviseProposalRequest>,
        output: schema::output::<QueueItem>,
        call: |service, caller, given| {
            async move { answer(&QueueItem::from(service.revise_proposal(caller, read(given)?).await?)) }.boxed()
        },
    },
    Row {
        name: "review_withdraw",
        title: "Withdraw a proposal",
        description: "Take an open proposal of yours back, for good: it was wrong, or it is no longer needed. Say why in \
            `reason`. To change it instead, use review_revise.",
        effect: Effect::Removes,
        required: &["id"],
        input: schema::input::<WithdrawProposalRequest>,
        output: schema::output::<QueueItem>,
        call: |service, caller, given| {
            async move { answer(&QueueItem::from(service.withdraw_proposal(caller, read(given)?).await?)) }.boxed()
        },
    },
];

/// A page to read.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct GetPageRequest {
    /// Its address, an alias or a former address.
    slug: String,
    /// Number of a revision. Default: the head.
    revision: Option<i64>,
    /// As it was then (RFC 3339 or a date).
    as_of: Option<String>,
    /// Of the last answer, for the next part of the text.
    cursor: Option<String>,
}

/// A page, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
struct PageReply {
    #[serde(flatten)]
    page: PageRecord,
    /// Where the next part of the text begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// What is proposed now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
struct ProposeReply {
    /// The proposal; read it with review_get.
    proposal_id: String,
    /// pending, unless a policy of the service took it at once.
    state: String,
    /// Hash of what would go live.
    content_hash: String,
    /// What a reviewer will look at twice.
    risk: Vec<RiskRecord>,
}

impl From<ProposalRecord> for ProposeReply {
    fn from(record: ProposalRecord) -> Self {
        let ProposalRecord { id, state, content_hash, risk_flags, .. } = record;
        Self { proposal_id: id, state, content_hash, risk: risk_flags }
    }
}

/// Which proposals to list; what is absent asks nothing.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct QueueRequest {
    /// Only in these states: pending, changes_requested, conflicted (these three by default), approved, rejected, withdrawn, superseded, expired or reverted.
    states: Vec<String>,
    /// Only of these kinds: wiki_edit, memory_quarantine, memory_conflict, memory_merge or ontology_change.
    kinds: Vec<String>,
    /// Only about this page.
    slug: Option<String>,
    /// Only by this author.
    author: Option<String>,
    /// Only of this agent run.
    run_id: Option<String>,
    /// Only those that you hold (true), or those nobody holds (false).
    claimed: Option<bool>,
    /// Only with a risk (true) or without (false).
    flagged: Option<bool>,
    /// How many at most, 1 to 100. Default 10.
    limit: Option<i64>,
    /// Of the last answer, for the next page.
    cursor: Option<String>,
}

/// A page of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
struct QueueReply {
    /// Oldest first.
    items: Vec<QueueItem>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// A proposal in short.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
struct QueueItem {
    /// Its id.
    id: String,
    /// wiki_edit, memory_quarantine, memory_conflict, memory_merge or ontology_change.
    kind: String,
    /// Where it is.
    state: String,
    /// What it is about, in a line.
    subject: String,
    /// For an edit: create, edit, rename, delete or restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    /// Who proposed it.
    author: String,
    /// The agent run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// When it was proposed.
    created_at: String,
    /// Hash of what would go live now.
    content_hash: String,
    /// Number of the revision that an edit was written on, or of the version that a vocabulary was compared with; 0 for a new page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_revision: Option<i64>,
    /// Number of the page's head, or of the version of the ontologies in force; 0 for a page that is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head_revision: Option<i64>,
    /// Whether the page or the ontologies have moved since it was written.
    stale: bool,
    /// For a vocabulary: what it would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ontology: Option<OntologyChange>,
    /// What to look at twice.
    risk: Vec<RiskRecord>,
    /// Who holds it, if somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed_by: Option<String>,
    /// How many comments there are.
    comment_count: i64,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionRecord>,
}

impl From<ProposalRecord> for QueueItem {
    fn from(record: ProposalRecord) -> Self {
        Self {
            comment_count: input::outgoing(record.comments.len()),
            id: record.id,
            kind: record.kind,
            state: record.state,
            subject: record.subject,
            change: record.change,
            author: record.author,
            run_id: record.run_id,
            created_at: record.created_at,
            content_hash: record.content_hash,
            base_revision: record.base_revision,
            head_revision: record.head_revision,
            stale: record.stale,
            ontology: record.ontology,
            risk: record.risk_flags,
            claimed_by: record.claimed_by,
            decision: record.decision,
        }
    }
}

/// A proposal with everything that was said of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
struct ProposalReply {
    #[serde(flatten)]
    item: QueueItem,
    /// Why it was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rationale: Option<String>,
    /// What would change, as a unified diff from what is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Whether the diff was cut; `texts` gives it whole.
    diff_cut: bool,
    /// Where the author's text and the page's clash.
    conflicts: Vec<ConflictRecord>,
    /// Memories that bear it out.
    evidence: Vec<Citation>,
    /// Of a decision about memories: these.
    memories: Vec<MemoryText>,
    /// How many must approve.
    approvals_needed: i64,
    /// Who has approved what it says now.
    approvals: Vec<ApprovalRecord>,
    /// What was said of it.
    comments: Vec<CommentRecord>,
    /// What the author wrote, if texts were asked for; the next three likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// What would go live: the author's text, or that joined with what the page says by now; of a vocabulary, the terms that it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merged: Option<String>,
    /// What the page was when it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// What the page, the memory or those terms say now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<String>,
}

impl ProposalReply {
    fn of(mut record: ProposalRecord, texts: bool) -> Self {
        let take = |record: Option<String>| record.filter(|_| texts);
        let mut diff = record.diff.take().map(|diff| diff.unified());
        let mut diff_cut = false;
        if let Some(diff) = diff.as_mut().filter(|_| !texts) {
            let kept = first_part(diff, TEXT_TOKENS);
            diff_cut = kept < diff.len();
            diff.truncate(kept);
        }
        Self {
            rationale: record.rationale.take(),
            diff,
            diff_cut,
            conflicts: std::mem::take(&mut record.conflicts),
            evidence: std::mem::take(&mut record.evidence),
            memories: std::mem::take(&mut record.memories),
            approvals_needed: record.approvals_needed,
            approvals: std::mem::take(&mut record.approvals),
            body: take(record.body.take()),
            merged: take(record.merged.take()),
            base: take(record.base.take()),
            current: take(record.current.take()),
            comments: record.comments.clone(),
            item: record.into(),
        }
    }
}

/// A proposal to read.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct GetProposalRequest {
    /// The proposal.
    id: String,
    /// Also the whole texts: what is proposed, what would go live, what it was written on and what the page says. Default false.
    texts: bool,
}

async fn list(service: &Service, caller: &Caller, request: QueueRequest) -> Result<QueueReply, Error> {
    let QueueRequest { states, kinds, slug, author, run_id, claimed, flagged, limit, cursor } = request;
    let first = input::count("limit", limit.unwrap_or(LISTED), LISTED_MAX)?;
    let wanted = ProposalsRequest { states, kinds, slug, author, run_id, claimed, flagged };
    let page = browse::PageRequest { first: i64::try_from(first).ok(), after: cursor };
    let found = service.proposals(caller, &wanted, &page).await.map_err(of_cursor)?;
    let cursor = found.items.last().filter(|_| found.more).map(|(cursor, _)| cursor.clone());
    Ok(QueueReply { items: found.items.into_iter().map(|(_, record)| record.into()).collect(), cursor })
}

/// Lists call it `after`.
fn of_cursor(error: Error) -> Error {
    if error.field.as_deref() != Some("after") {
        return error;
    }
    Error::bad_input("cursor", "not a cursor of this list").advise("take the cursor of the last answer, or none")
}

async fn proposal(service: &Service, caller: &Caller, request: GetProposalRequest) -> Result<ProposalReply, Error> {
    let found = service.proposal(caller, &request.id).await?.ok_or_else(|| Error::not_found("id"))?;
    Ok(ProposalReply::of(found, request.texts))
}

/// The page; of a long text one part.
async fn get(service: &Service, caller: &Caller, request: GetPageRequest) -> Result<PageReply, Error> {
    let GetPageRequest { slug, revision, as_of, cursor } = request;
    let from = cursor.as_deref().map(Place::parse).transpose()?;
    // The parts of a text are of one revision, whatever was approved in between.
    let revision = from.as_ref().map(|place| place.revision).or(revision);
    let wanted = PageRequest { slug, revision, as_of };
    let mut page = service.page(caller, wanted).await?.ok_or_else(|| Error::not_found("slug"))?;
    let text = page.body.take().unwrap_or_default();
    let start = from.map_or(0, |place| place.offset);
    let rest = text.get(start..).ok_or_else(not_ours)?;
    let taken = first_part(rest, TEXT_TOKENS);
    let more = taken < rest.len();
    page.body = Some(rest[..taken].to_owned());
    let cursor = more.then(|| format!("{}:{}", page.revision, start + taken));
    Ok(PageReply { page, cursor })
}

/// A place in the text of a revision.
struct Place {
    revision: i64,
    offset: usize,
}

impl Place {
    fn parse(cursor: &str) -> Result<Self, Error> {
        let place = cursor.trim().split_once(':').and_then(|(revision, offset)| {
            Some(Self { revision: revision.parse().ok()?, offset: offset.parse().ok()? })
        });
        place.ok_or_else(not_ours)
    }
}

fn not_ours() -> Error {
    Error::bad_input("cursor", "not a cursor of this page").advise("take the cursor of the last answer, or none")
}

/// Bytes of the first lines that take at most `budget` tokens; of a longer line, its beginning.
fn first_part(text: &str, budget: usize) -> usize {
    // Four ASCII characters or one other are taken for a token.
    let mut left = budget * 4;
    let mut end = text.len();
    for (at, letter) in text.char_indices() {
        let cost = if letter.is_ascii() { 1 } else { 4 };
        if cost > left {
            end = at;
            break;
        }
        left -= cost;
    }
    if end == text.len() { end } else { text[..end].rfind('\n').map_or(end, |at| at + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_lines_and_comes_whole_in_parts() {
        for text in ["", "short", "one\ntwo\nthree\n", &"字".repeat(30), &"a long line and no end ".repeat(9)] {
            let (mut at, mut parts) = (0, Vec::new());
            while at < text.len() {
                let taken = first_part(&text[at..], 5);
                assert!(taken > 0, "{text:?} at {at}");
                parts.push(&text[at..at + taken]);
                at += taken;
            }
            assert_eq!(parts.concat(), text);
            assert!(parts.iter().all(|part| part.chars().count() <= 20), "{parts:?}");
        }
        assert_eq!(first_part("one\ntwo\nthree four five six seven\n", 4), 8);
    }

    #[test]
    fn places_that_are_none_are_refused() {
        for cursor in ["", "7", "7:", ":7", "a:b", "7:-1", "1:2:3"] {
            assert_eq!(Place::parse(cursor).err().and_then(|error| error.field).as_deref(), Some("cursor"), "{cursor}");
        }
    }
}
