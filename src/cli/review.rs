//! review: what waits for a person, and the decisions. Approving names the hash that `review show` printed, so that exactly
//! the bytes that were read go live.

use std::{fmt::Write as _, path::PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Context,
    faces::{body, capitals, query, tool},
    memory::Target,
    output,
    paint::{self, Paint},
};

#[derive(Debug, Subcommand)]
pub(super) enum ReviewCommand {
    /// List proposals, oldest first; by default those still to be decided.
    List(ListArgs),
    /// Show a proposal: what it would change, its risks and evidence, and what was said of it.
    Show(ShowArgs),
    /// Hold a proposal for half an hour, or for longer; --next takes the oldest that nobody holds.
    Claim(ClaimArgs),
    /// Let a proposal go that you hold.
    Release(OneArgs),
    /// Say yes to exactly what `review show` showed.
    Approve(ApproveArgs),
    /// Say no, with a reason that the author learns from.
    Reject(RejectArgs),
    /// Give a proposal back to its author, with what to do.
    RequestChanges(RequestChangesArgs),
    /// Say something of a proposal.
    Comment(CommentArgs),
    /// Give a proposal of your own a new text.
    Revise(ReviseArgs),
    /// Take a proposal of your own back.
    Withdraw(WithdrawArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only in these states, separated by commas: pending, changes_requested, conflicted, approved, rejected, withdrawn,
    /// superseded, expired or reverted.
    #[arg(long, value_delimiter = ',')]
    states: Vec<String>,
    /// Only of these kinds, separated by commas: wiki_edit, memory_quarantine, memory_conflict, memory_merge or
    /// ontology_change.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only about this page.
    #[arg(long)]
    slug: Option<String>,
    /// Only by this author.
    #[arg(long)]
    author: Option<String>,
    /// Only of this agent run.
    #[arg(long)]
    run_id: Option<String>,
    /// true: only those that you hold; false: only those nobody holds.
    #[arg(long)]
    claimed: Option<bool>,
    /// true: only with a risk; false: only without.
    #[arg(long)]
    flagged: Option<bool>,
    /// How many at most.
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// The cursor of the last answer, for the next page.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The proposal.
    id: String,
    /// With --json: also the whole texts.
    #[arg(long)]
    texts: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct OneArgs {
    /// The proposal.
    id: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = false, args = ["id", "next"])]
pub(super) struct ClaimArgs {
    /// The proposal.
    id: Option<String>,
    /// The oldest pending one that nobody holds and that you may decide.
    #[arg(long)]
    next: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// The proposal.
    id: String,
    /// The hash that was shown with what you approve.
    #[arg(long)]
    content_hash: String,
    /// Number of the page's head, or of the version of the ontologies, that was shown; another one now is refused. 0 for a new
    /// page.
    #[arg(long, allow_negative_numbers = true)]
    expected_head: Option<i64>,
    /// A text to go live in place of the proposed one.
    #[arg(long)]
    body: Option<String>,
    /// The same from a file, or from standard input with -.
    #[arg(long, conflicts_with = "body")]
    file: Option<PathBuf>,
    /// Between memories: the one that stays.
    #[arg(long)]
    chosen: Option<String>,
    /// For the author and the audit log.
    #[arg(long)]
    comment: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct RejectArgs {
    /// The proposal.
    id: String,
    /// incorrect, unsupported, duplicate, out_of_scope, style, policy, harmful or other.
    #[arg(long)]
    reason: String,
    /// In your words; needed for other.
    #[arg(long)]
    note: Option<String>,
    /// The hash that was shown; another one now is refused.
    #[arg(long)]
    content_hash: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct RequestChangesArgs {
    /// The proposal.
    id: String,
    /// What is to be changed.
    note: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct CommentArgs {
    /// The proposal.
    id: String,
    /// What to say.
    text: String,
    /// The line of the proposed text it is about, from 1.
    #[arg(long, allow_negative_numbers = true)]
    line: Option<i64>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ReviseArgs {
    /// The proposal.
    id: String,
    /// The whole new text.
    #[arg(long, required_unless_present = "file")]
    body: Option<String>,
    /// The same from a file, or from standard input with -.
    #[arg(long, conflicts_with = "body")]
    file: Option<PathBuf>,
    /// New heading.
    #[arg(long)]
    title: Option<String>,
    /// Number of the revision that the new text was written on.
    #[arg(long, allow_negative_numbers = true)]
    base_revision: Option<i64>,
    /// New reason.
    #[arg(long)]
    rationale: Option<String>,
    /// Ids of memories that bear it out, separated by commas.
    #[arg(long, value_delimiter = ',')]
    evidence: Vec<String>,
    /// An answer to the reviewer.
    #[arg(long)]
    comment: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct WithdrawArgs {
    /// The proposal.
    id: String,
    /// Why.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// What every change of a proposal is told of.
const PROPOSAL: &str = "proposal { id: uuid kind state subject contentHash headRevision claimedBy claimedUntil }";

pub(super) async fn review(ctx: Context, command: ReviewCommand) -> anyhow::Result<()> {
    match command {
        ReviewCommand::List(args) => list(ctx, args).await,
        ReviewCommand::Show(args) => show(ctx, args).await,
        ReviewCommand::Claim(ClaimArgs { id: Some(id), target, .. }) => {
            change(ctx, target, "claimProposal", "ProposalInput", "", json!({"id": id})).await
        }
        ReviewCommand::Claim(ClaimArgs { target, .. }) => {
            change(ctx, target, "claimNextProposal", "ProposalFilter", "", json!({})).await
        }
        ReviewCommand::Release(OneArgs { id, target }) => {
            change(ctx, target, "releaseProposal", "ProposalInput", "", json!({"id": id})).await
        }
        ReviewCommand::Approve(args) => {
            let input = json!({"id": args.id, "contentHash": args.content_hash, "expectedHead": args.expected_head,
                "body": body(args.body, args.file.as_deref())?, "chosen": args.chosen, "comment": args.comment});
            change(ctx, args.target, "approveProposal", "ApproveProposalInput", DECIDED, input).await
        }
        ReviewCommand::Reject(args) => {
            let input = json!({"id": args.id, "reason": capitals(&args.reason), "note": args.note,
                "contentHash": args.content_hash});
            change(ctx, args.target, "rejectProposal", "RejectProposalInput", DECIDED, input).await
        }
        ReviewCommand::RequestChanges(args) => {
            let input = json!({"id": args.id, "note": args.note});
            change(ctx, args.target, "requestChanges", "RequestChangesInput", DECIDED, input).await
        }
        ReviewCommand::Comment(args) => {
            let input = json!({"id": args.id, "text": args.text, "line": args.line});
            change(ctx, args.target, "commentOnProposal", "CommentOnProposalInput", "", input).await
        }
        ReviewCommand::Revise(args) => {
            let body = body(args.body, args.file.as_deref())?;
            let request = json!({"id": args.id, "body": body, "title": args.title, "base_revision": args.base_revision,
                "rationale": args.rationale, "evidence": args.evidence, "comment": args.comment});
            shortly(&ctx, tool(&ctx, args.target, "review_revise", request).await?)
        }
        ReviewCommand::Withdraw(args) => {
            let request = json!({"id": args.id, "reason": args.reason});
            shortly(&ctx, tool(&ctx, args.target, "review_withdraw", request).await?)
        }
    }
}

/// What decisions tell beside the proposal.
const DECIDED: &str = "revision operationId";

/// Runs a mutation on one proposal and prints what it did.
async fn change(ctx: Context, target: Target, field: &str, kind: &str, more: &str, input: Value) -> anyhow::Result<()> {
    let document = format!(
        "mutation($input: {kind}!) {{ {field}(input: $input) {{ outcome {more} {PROPOSAL} userErrors {{ code field message }} }} }}"
    );
    let done = query(&ctx, target, &document, json!({"input": input})).await?;
    if ctx.json {
        return output::json(&done);
    }
    let outcome = text(&done["outcome"]);
    match done.get("proposal") {
        None => println!("{outcome}"),
        Some(proposal) => println!("{outcome} {}", line(proposal, &paint::plain())),
    }
    if let Some(revision) = done["revision"].as_i64() {
        println!("  revision {revision}");
    }
    if let Some(until) = done["proposal"]["claimed_until"].as_str() {
        println!("  yours until {until}");
    }
    Ok(())
}

fn shortly(ctx: &Context, done: Value) -> anyhow::Result<()> {
    if ctx.json {
        return output::json(&done);
    }
    println!("{}", line(&done, &paint::plain()));
    Ok(())
}

async fn list(ctx: Context, args: ListArgs) -> anyhow::Result<()> {
    let request = json!({"states": args.states, "kinds": args.kinds, "slug": args.slug, "author": args.author,
        "run_id": args.run_id, "claimed": args.claimed, "flagged": args.flagged, "limit": args.limit,
        "cursor": args.cursor});
    let found = tool(&ctx, args.target, "review_list", request).await?;
    if ctx.json {
        return output::json(&found);
    }
    let paint = paint::of_stdout();
    let items = found["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        println!("nothing waits");
    }
    for item in items {
        println!("{}", line(item, &paint));
        let risks: Vec<&str> = item["risk"].as_array().into_iter().flatten().map(|risk| text(&risk["kind"])).collect();
        let holder =
            item["claimed_by"].as_str().map(|by| format!(", held by {}", paint::shown(by))).unwrap_or_default();
        let stale = if item["stale"] == true { ", stale" } else { "" };
        println!("  by {} at {}{holder}{stale}", paint::shown(text(&item["author"])), text(&item["created_at"]));
        if !risks.is_empty() {
            println!("  {}", paint.warn(&risks.join(", ")));
        }
    }
    if let Some(cursor) = found["cursor"].as_str() {
        println!("more: --cursor {cursor}");
    }
    Ok(())
}

/// Everything that a person needs to decide.
const SHOWN: &str = "query($id: ID!) { proposal(id: $id) { id: uuid kind state subject change title author authorKind owner
    runId rationale createdAt contentHash baseRevision headRevision stale claimedBy claimedUntil approvalsNeeded
    approvals { by at } riskFlags { kind detail } evidence { id found title summary status }
    memories { id content status source } conflicts { line base head proposed } comments { by at text line }
    decision { by at reason note edited } ontology { file new changed removed shown warnings } diff { inserted deleted hunks { oldLine newLine lines { op parts { text changed } } } } } }";

async fn show(ctx: Context, args: ShowArgs) -> anyhow::Result<()> {
    if ctx.json {
        return output::json(
            &tool(&ctx, args.target, "review_get", json!({"id": args.id, "texts": args.texts})).await?,
        );
    }
    let found = query(&ctx, args.target, SHOWN, json!({"id": args.id})).await?;
    if !found.is_object() {
        return Err(crate::error::Error::not_found("id").into());
    }
    print!("{}", shown(&found, &paint::of_stdout()));
    Ok(())
}

/// A proposal for people. What its author wrote is printed with everything hidden in it shown.
fn shown(proposal: &Value, paint: &Paint) -> String {
    let said = |value: &Value| paint::shown(text(value));
    let mut out = format!("{}\n", line(proposal, paint));
    let owner = proposal["owner"].as_str().map(|owner| format!(" of {}", paint::shown(owner))).unwrap_or_default();
    let _ = writeln!(
        out,
        "by {} ({}{owner}) at {}",
        said(&proposal["author"]),
        text(&proposal["author_kind"]),
        text(&proposal["created_at"])
    );
    if let Some(holder) = proposal["claimed_by"].as_str() {
        let _ = writeln!(out, "held by {} until {}", paint::shown(holder), text(&proposal["claimed_until"]));
    }
    if let Some(rationale) = proposal["rationale"].as_str() {
        let _ = writeln!(out, "because: {}", paint::shown(rationale));
    }
    if proposal["stale"] == true {
        let moved = format!(
            "{} since it was written: from {} to {}",
            if proposal["ontology"].is_object() { "the ontologies have moved" } else { "the page has moved" },
            proposal["base_revision"],
            proposal["head_revision"]
        );
        let _ = writeln!(out, "{}", paint.warn(&moved));
    }
    for risk in items(&proposal["risk_flags"]) {
        let warning = format!("{}: {}", text(&risk["kind"]), said(&risk["detail"]));
        let _ = writeln!(out, "{}", paint.warn(&warning));
    }
    for clash in items(&proposal["conflicts"]) {
        let _ = writeln!(out, "\n{}", paint.warn(&format!("clash at line {}", clash["line"])));
        let _ = writeln!(out, "{}", paint.removed(&said(&clash["head"])));
        let _ = writeln!(out, "{}", paint.added(&said(&clash["proposed"])));
    }
    let change = &proposal["ontology"];
    if change.is_object() {
        let _ = writeln!(
            out,
            "{}: {} new, {} changed, {} removed",
            said(&change["file"]),
            change["new"],
            change["changed"],
            change["removed"]
        );
        let touched: i64 = ["new", "changed", "removed"].iter().filter_map(|count| change[*count].as_i64()).sum();
        if change["shown"].as_i64().is_some_and(|shown| shown < touched) {
            let _ = writeln!(out, "{}", paint.warn(&format!("only {} of these are shown", change["shown"])));
        }
        for warning in items(&change["warnings"]) {
            let _ = writeln!(out, "{}", paint.warn(&said(warning)));
        }
    }
    if proposal["diff"].is_object() {
        let _ = write!(out, "\n{}", paint::diff(&proposal["diff"], paint));
    }
    for memory in items(&proposal["memories"]) {
        let _ = writeln!(out, "\nmemory {} ({})\n{}", id(memory), text(&memory["status"]), said(&memory["content"]));
    }
    for memory in items(&proposal["evidence"]) {
        let what = if memory["found"] == true { said(&memory["summary"]) } else { paint.warn("not there") };
        let _ = writeln!(out, "evidence {}  {what}", id(memory));
    }
    for comment in items(&proposal["comments"]) {
        let place = comment["line"].as_i64().map(|line| format!(" on line {line}")).unwrap_or_default();
        let _ = writeln!(out, "{}{place}: {}", said(&comment["by"]), said(&comment["text"]));
    }
    for approval in items(&proposal["approvals"]) {
        let _ = writeln!(out, "approved by {}, {} needed", said(&approval["by"]), proposal["approvals_needed"]);
    }
    match proposal.get("decision") {
        Some(decision) => {
            let reason = decision["reason"].as_str().map(|reason| format!(" as {reason}")).unwrap_or_default();
            let note = decision["note"].as_str().map(|note| format!(": {}", paint::shown(note))).unwrap_or_default();
            let _ = writeln!(out, "decided by {}{reason}{note}", said(&decision["by"]));
        }
        None => {
            let head = proposal["head_revision"].as_i64().map(|head| format!(" --expected-head {head}"));
            let _ = writeln!(
                out,
                "\nto approve exactly this: recollect review approve {} --content-hash {}{}",
                text(&proposal["id"]),
                text(&proposal["content_hash"]),
                head.unwrap_or_default()
            );
        }
    }
    out
}

/// A proposal in one line.
fn line(proposal: &Value, paint: &Paint) -> String {
    let change = proposal["change"].as_str().unwrap_or(text(&proposal["kind"]));
    format!(
        "{}  {}  {change} {}",
        text(&proposal["id"]),
        paint.bold(text(&proposal["state"])),
        paint::shown(text(&proposal["subject"]))
    )
}

/// The plain id within a global one, as the schema gives those of memories.
fn id(memory: &Value) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let global = text(&memory["id"]);
    let inner = STANDARD.decode(global).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    inner.and_then(|inner| Some(inner.split_once(':')?.1.to_owned())).unwrap_or_else(|| global.to_owned())
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_laid_out_with_its_hash_and_what_it_hides() {
        let proposal = json!({"id": "p1", "kind": "wiki_edit", "state": "pending", "subject": "ops/on-call", "change": "edit",
            "author": "scribe", "author_kind": "agent", "owner": "ann", "created_at": "2026-11-30T12:00:00Z",
            "rationale": "It \u{1b}[2Jmoved.", "content_hash": "abc", "head_revision": 3, "stale": false,
            "risk_flags": [{"kind": "no_evidence", "detail": "none given"}], "evidence": [],
            "diff": {"hunks": [{"old_line": 1, "new_line": 1, "lines": [
                {"op": "delete", "parts": [{"text": "Call ", "changed": false}, {"text": "Mia", "changed": true}, {"text": "\n", "changed": false}]},
                {"op": "insert", "parts": [{"text": "Call ", "changed": false}, {"text": "Bo", "changed": true}, {"text": "\n", "changed": false}]}]}]}});
        let plain = shown(&proposal, &paint::plain());
        assert!(plain.contains("-Call [-Mia-]\n+Call {+Bo+}\n"), "{plain}");
        assert!(plain.contains("--content-hash abc --expected-head 3"), "{plain}");
        assert!(plain.contains("no_evidence: none given"), "{plain}");
        assert!(!plain.contains('\u{1b}') && plain.contains("U+001B"), "{plain}");
        let coloured = shown(&proposal, &paint::coloured());
        assert!(coloured.contains("\u{1b}[31m-Call \u{1b}[7mMia\u{1b}[27m\n\u{1b}[0m"), "{coloured:?}");
    }
}
