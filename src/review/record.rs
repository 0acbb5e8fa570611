//! Records of the domain as clients get them. Lists take [`listed`]; [`full`] reads the texts and compares them.

use std::collections::HashMap;

use super::{
    ApprovalRecord, Citation, CommentRecord, ConflictRecord, DecisionRecord, MemoryText, MoveRecord, ProposalRecord,
    ReviewContext, RevisionRecord, RiskRecord,
    candidate::{Candidate, Joined, candidate, pages_of},
    memory, terms,
};
use crate::{
    domain::{
        AsOf, Base, Caller, Memory, MemoryId, Page, PageId, Proposal, Revision, RiskFlag, RiskKind, Subject, Visibility,
    },
    error::{Error, ErrorCode},
    input::outgoing,
    wiki::{Clash, Diff, Piece},
};
use jiff::Timestamp;

/// Runs work that takes its time where it holds up nobody.
pub(super) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::new(ErrorCode::Internal, "internal fault"))
}

pub(super) fn revision(revision: &Revision) -> RevisionRecord {
    RevisionRecord {
        id: revision.id.to_string(),
        page_id: revision.page.to_string(),
        slug: revision.meta.slug.clone(),
        title: revision.meta.title.clone(),
        number: outgoing(revision.number),
        change: revision.change.to_string(),
        at: revision.at.to_string(),
        author: revision.author.clone(),
        author_kind: revision.author_kind.name().to_owned(),
        approvers: revision.approvers.clone(),
        editor: revision.editor.clone(),
        proposal_id: revision.proposal.map(|id| id.to_string()),
        run_id: revision.run.clone(),
        rationale: revision.rationale.clone(),
        evidence: revision.evidence.iter().map(ToString::to_string).collect(),
        reverts: revision.reverts.map(|id| id.to_string()),
        content_hash: revision.content_hash.clone(),
        size: outgoing(revision.size),
    }
}

pub(super) fn risks(flags: &[RiskFlag]) -> Vec<RiskRecord> {
    flags.iter().map(|flag| RiskRecord { kind: flag.kind.to_string(), detail: flag.detail.clone() }).collect()
}

/// The proposals as a list shows them.
pub(super) async fn listed(ctx: &ReviewContext<'_>, proposals: &[Proposal]) -> Result<Vec<ProposalRecord>, Error> {
    let everything = Visibility::system("proposals that were seen lead to their pages");
    let heads = pages_of(ctx, proposals.iter().filter_map(page_of), &everything).await?;
    let of_terms = |proposal: &Proposal| matches!(proposal.subject, Subject::OntologyChange(_));
    let current = if proposals.iter().any(of_terms) { ctx.ontology.store.current().await? } else { 0 };
    let now = ctx.write.clock.now();
    Ok(proposals
        .iter()
        .map(|proposal| {
            let head = page_of(proposal).and_then(|page| heads.get(&page));
            let mut record = short(ctx, proposal, head, now);
            if let Subject::OntologyChange(import) = &proposal.subject
                && proposal.state.is_open()
            {
                terms::mark_stale(&mut record, import, current);
            }
            record
        })
        .collect())
}

fn page_of(proposal: &Proposal) -> Option<PageId> {
    match &proposal.subject {
        Subject::WikiEdit { page, .. } => Some(*page),
        _ => None,
    }
}

fn short(ctx: &ReviewContext<'_>, proposal: &Proposal, head: Option<&Page>, now: Timestamp) -> ProposalRecord {
    let held = proposal.held(now).cloned();
    let mut record = ProposalRecord {
        id: proposal.id.to_string(),
        kind: proposal.subject.kind().to_string(),
        state: proposal.state.to_string(),
        subject: String::new(),
        content_hash: proposal.content_hash.clone(),
        author: proposal.author.clone(),
        author_kind: proposal.author_kind.name().to_owned(),
        owner: proposal.owner.clone(),
        run_id: proposal.run.clone(),
        rationale: proposal.rationale.clone(),
        created_at: proposal.created_at.to_string(),
        updated_at: proposal.updated_at.to_string(),
        page_id: None,
        slug: None,
        title: None,
        change: None,
        memory_ids: proposal.subject.memories().iter().map(ToString::to_string).collect(),
        base_revision: None,
        head_revision: None,
        stale: false,
        ontology: None,
        body: None,
        merged: None,
        base: None,
        current: None,
        diff: None,
        conflicts: Vec::new(),
        risk_flags: risks(&proposal.flags),
        evidence: Vec::new(),
        memories: Vec::new(),
        claimed_by: held.as_ref().map(|claim| claim.by.clone()),
        claimed_until: held.map(|claim| claim.until.to_string()),
        approvals_needed: 1,
        approval_groups: Vec::new(),
        approvals: proposal
            .approvals
            .iter()
            .map(|approval| ApprovalRecord { by: approval.by.clone(), at: approval.at.to_string() })
            .collect(),
        comments: proposal
            .comments
            .iter()
            .map(|comment| CommentRecord {
                by: comment.by.clone(),
                at: comment.at.to_string(),
                text: comment.text.clone(),
                line: comment.line.map(outgoing),
            })
            .collect(),
        decision: proposal.decision.as_ref().map(|decision| DecisionRecord {
            by: decision.by.clone(),
            at: decision.at.to_string(),
            reason: decision.reason.map(|reason| reason.to_string()),
            note: decision.note.clone(),
            edited: decision.edited,
            revision_id: decision.revision.map(|id| id.to_string()),
            memory_id: decision.memory.map(|id| id.to_string()),
            version: decision.version.map(outgoing),
        }),
        moves: proposal
            .moves
            .iter()
            .map(|step| MoveRecord {
                at: step.at.to_string(),
                by: step.by.clone(),
                from: step.from.map(|state| state.to_string()),
                to: step.to.to_string(),
                why: step.why.clone(),
            })
            .collect(),
    };
    match &proposal.subject {
        Subject::WikiEdit { page, base, change, meta, .. } => {
            record.subject.clone_from(&meta.slug);
            record.page_id = Some(page.to_string());
            record.slug = Some(meta.slug.clone());
            record.title = Some(meta.title.clone());
            record.change = Some(change.to_string());
            record.base_revision = Some(base.map_or(0, |base| outgoing(base.number)));
            record.head_revision = Some(head.map_or(0, |page| outgoing(page.number)));
            if proposal.state.is_open() {
                mark_stale(&mut record, *base, head.map_or(0, |page| page.number));
                let needed = ctx.settings.needed(&[&meta.slug, head.map_or(&meta.slug, |page| &page.meta.slug)]);
                record.approvals_needed = outgoing(needed.approvals);
                record.approval_groups = needed.groups;
            }
        }
        Subject::MemoryQuarantine { .. } | Subject::MemoryConflict { .. } | Subject::MemoryMerge { .. } => {
            record.subject = format!("memory {}", record.memory_ids.join(", "));
        }
        Subject::OntologyChange(import) => {
            record.subject = format!("vocabulary {}", import.vocabulary);
            record.base_revision = Some(outgoing(import.base));
            record.ontology = Some(terms::listed(import));
        }
    }
    record
}

fn mark_stale(record: &mut ProposalRecord, base: Option<Base>, head: u64) {
    record.stale = base.map_or(0, |base| base.number) != head;
    if record.stale {
        let detail = format!("the page is at revision {head}");
        record.risk_flags.push(RiskRecord { kind: RiskKind::StaleBase.to_string(), detail });
    }
}

/// A proposal with everything that a decision needs.
pub(super) async fn full(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: &Proposal,
) -> Result<ProposalRecord, Error> {
    let now = ctx.write.clock.now();
    let mut record = match &proposal.subject {
        Subject::WikiEdit { base, .. } => {
            let candidate = candidate(ctx, proposal).await?;
            let head = candidate.head.as_ref().map(|(page, _)| page.clone());
            let record = short(ctx, proposal, head.as_ref(), now);
            let (open, base) = (proposal.state.is_open(), *base);
            off_thread(move || with_texts(record, candidate, open, base)).await?
        }
        Subject::OntologyChange(import) => {
            let mut record = short(ctx, proposal, None, now);
            terms::with_terms(ctx, proposal, import, &mut record).await?;
            record
        }
        subject => {
            let memories = memory::about(ctx, subject).await?;
            let mut record = short(ctx, proposal, None, now);
            if proposal.state.is_open() {
                record.content_hash = memory::hash(subject, &memories);
            }
            let first = memories.first().map(|memory| memory.summary.clone());
            record.subject = first.unwrap_or(record.subject);
            if let (Subject::MemoryQuarantine { updates: Some(_), .. }, [new, old]) = (subject, memories.as_slice()) {
                record.diff = Some(Diff::of(&old.content, &new.content));
                record.body = Some(new.content.clone());
                record.current = Some(old.content.clone());
            }
            record.memories = memories.into_iter().map(memory_text).collect();
            record
        }
    };
    let given: Vec<(String, Option<MemoryId>)> =
        proposal.evidence.iter().map(|id| (id.to_string(), Some(*id))).collect();
    record.evidence = citations(ctx, given, &caller.visibility()).await?;
    Ok(record)
}

fn with_texts(mut record: ProposalRecord, candidate: Candidate, open: bool, base: Option<Base>) -> ProposalRecord {
    let base_text = candidate.base.as_ref().map(|state| state.text.clone());
    if !open {
        record.diff = Some(Diff::of(base_text.as_deref().unwrap_or_default(), &candidate.proposed.text));
        record.base = base_text;
        record.body = Some(candidate.proposed.text);
        return record;
    }
    let current = candidate.current().to_owned();
    record.content_hash = candidate.hash();
    record.stale = candidate.stale(base);
    record.change = Some(candidate.change.to_string());
    let compared = match &candidate.joined {
        Joined::Clean(state) => {
            record.slug = Some(state.meta.slug.clone());
            record.title = Some(state.meta.title.clone());
            record.merged = Some(state.text.clone());
            Diff::of(&current, &state.text)
        }
        Joined::Clash(_, pieces) => {
            record.conflicts = clashes(pieces).map(conflict).collect();
            Diff::of(&current, &candidate.proposed.text)
        }
        Joined::Deleted => Diff::of(&current, &candidate.proposed.text),
    };
    record.diff = Some(compared);
    record.current = candidate.head.is_some().then_some(current);
    record.base = base_text;
    record.body = Some(candidate.proposed.text);
    record
}

/// The clashes among pieces.
pub(super) fn clashes(pieces: &[Piece]) -> impl Iterator<Item = &Clash> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Clash(clash) => Some(clash),
        Piece::Agreed(_) => None,
    })
}

fn conflict(clash: &Clash) -> ConflictRecord {
    ConflictRecord {
        line: outgoing(clash.line),
        base: clash.base.clone(),
        head: clash.head.clone(),
        proposed: clash.proposed.clone(),
    }
}

fn memory_text(memory: Memory) -> MemoryText {
    MemoryText {
        id: memory.id.to_string(),
        status: memory.status.to_string(),
        scope: memory.scope.name().to_owned(),
        source: memory.source.to_string(),
        occurred_at: memory.occurred_at.to_string(),
        title: memory.title,
        content: memory.content,
    }
}

/// The memories that a text names, as far as the reader sees them.
pub(super) async fn citations(
    ctx: &ReviewContext<'_>,
    given: Vec<(String, Option<MemoryId>)>,
    visibility: &Visibility,
) -> Result<Vec<Citation>, Error> {
    let ids: Vec<MemoryId> = given.iter().filter_map(|(_, id)| *id).collect();
    let found: HashMap<MemoryId, Memory> = ctx
        .write
        .graph
        .memories(&ids, AsOf::default(), visibility)
        .await?
        .into_iter()
        .map(|memory| (memory.id, memory))
        .collect();
    Ok(given
        .into_iter()
        .map(|(given, id)| {
            let memory = id.and_then(|id| found.get(&id));
            Citation {
                id: given,
                found: memory.is_some(),
                title: memory.and_then(|memory| memory.title.clone()),
                summary: memory.map(|memory| memory.summary.clone()),
                status: memory.map(|memory| memory.status.to_string()),
            }
        })
        .collect())
}
