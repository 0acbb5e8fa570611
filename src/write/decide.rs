//! What a draft becomes, given what is known. Pure: the same input gives the same change set.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    Link, StoreReply, StoreState,
    validate::{Draft, Review},
};
use crate::domain::{
    ChangeId, ChangeSet, Concept, ConceptKey, Edge, EdgeKind, Idempotency, Memory, MemoryId, NamedVector, Op, Outcome,
    Proposal, ProposalId, Scope, Status, Subject,
};
use crate::ontology::{ConceptLink, link_ops};
use crate::text::Mention;

/// What was found out about the others before deciding.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The active memory of the same scope with the same hash.
    pub duplicate: Option<MemoryId>,
    /// The one before it in its session and in its task.
    pub before: Vec<(EdgeKind, MemoryId)>,
    /// Scopes of the memories that the request refers to.
    pub scopes: BTreeMap<MemoryId, Scope>,
    /// Near neighbours within the supplementing range: id, scope, calibrated similarity.
    pub neighbours: Vec<(MemoryId, Scope, f32)>,
    /// What it is about.
    pub about: Vec<Mention>,
    /// What it mentions.
    pub mentions: Vec<Mention>,
    /// The concepts of ontologies that it is about or mentions.
    pub links: Vec<ConceptLink>,
    /// Earlier memories that name what this one is about.
    pub named_by: Vec<(MemoryId, Scope, ConceptKey)>,
}

/// The change and the answer, whose state the caller of `apply` sets.
pub(super) fn decide(
    draft: &Draft,
    known: &Known,
    vectors: Vec<NamedVector>,
    change: ChangeId,
    at: Timestamp,
) -> (ChangeSet, StoreReply) {
    let new = known.duplicate.is_none();
    if let Some(review) = draft.review.as_ref().filter(|_| new) {
        return quarantined(draft, known, review, change, at);
    }
    let id = known.duplicate.unwrap_or(draft.memory.id);
    let scope = &draft.memory.scope;
    let mut ops = Vec::new();
    let mut links: Vec<Link> = Vec::new();
    let mut edge = |ops: &mut Vec<Op>, from: Uuid, to: Uuid, kind, weight, reason: Option<&str>, scope: Scope| {
        if !EdgeKind::to_concept(kind) {
            let other = if from == id.0 { to } else { from };
            links.push(Link { r#type: kind.name().to_owned(), id: other.to_string() });
        }
        ops.push(Op::PutEdge(Edge {
            from,
            to,
            kind,
            weight,
            reason: reason.map(str::to_owned),
            scope,
            recorded_at: at,
        }));
    };
    if new {
        // Believed from now on, not from when the request was read.
        let memory = Memory {
            spaces: vectors.iter().map(|vector| vector.space.clone()).collect(),
            recorded_at: at,
            ..draft.memory.clone()
        };
        ops.push(Op::PutMemory { memory: Box::new(memory), expected_revision: 0, vectors });
        ops.extend(concept_ops(id, scope, &known.about, &known.mentions, at));
        ops.extend(link_ops(id, scope, &known.links, at));
        ops.extend(mention_ops(&known.named_by, at));
        for (kind, before) in &known.before {
            edge(&mut ops, id.0, before.0, *kind, 1.0, None, scope.clone());
        }
    } else {
        ops.push(Op::Touch { ids: vec![id] });
    }
    let between = |other: &MemoryId| known.scopes.get(other).and_then(|other| narrower(scope, other));
    for effect in &draft.causes {
        if let Some(scope) = between(effect) {
            edge(&mut ops, id.0, effect.0, EdgeKind::Causes, 1.0, None, scope);
        }
    }
    for cause in &draft.caused_by {
        if let Some(scope) = between(cause) {
            edge(&mut ops, cause.0, id.0, EdgeKind::Causes, 1.0, None, scope);
        }
    }
    let mut superseded = Vec::new();
    for old in draft.supersedes.iter().filter(|old| **old != id) {
        let valid_to = Some(draft.memory.valid_from.unwrap_or(at));
        ops.push(Op::Retire { id: *old, status: Status::Superseded, valid_to });
        if let Some(scope) = between(old) {
            edge(&mut ops, id.0, old.0, EdgeKind::Supersedes, 1.0, Some("given by the client"), scope);
        }
        superseded.push(old.to_string());
    }
    let mut supplemented = false;
    if new {
        for (other, other_scope, similarity) in &known.neighbours {
            if let Some(scope) = narrower(scope, other_scope).filter(|_| !draft.supersedes.contains(other)) {
                edge(&mut ops, id.0, other.0, EdgeKind::Supplements, *similarity, Some(Edge::SIMILAR), scope);
                supplemented = true;
            }
        }
    }
    let outcome = match (new, superseded.is_empty(), supplemented) {
        (_, false, _) => Outcome::Superseded,
        (false, true, _) => Outcome::Refreshed,
        (true, true, true) => Outcome::Supplemented,
        (true, true, false) => Outcome::Stored,
    };
    let reply = StoreReply {
        id: Some(id.to_string()),
        outcome: outcome.name().to_owned(),
        state: StoreState::PendingIndex,
        links,
        superseded,
        redactions: Vec::new(),
        reason: (!new).then(|| "the same content is known in this scope".to_owned()),
        review_id: None,
        operation_id: change.to_string(),
    };
    (change_set(draft, change, at, ops, &reply), reply)
}

/// The memory in quarantine, with the proposal that somebody must decide on: nothing links to it by what it says.
fn quarantined(
    draft: &Draft,
    known: &Known,
    review: &Review,
    change: ChangeId,
    at: Timestamp,
) -> (ChangeSet, StoreReply) {
    let memory = Memory { recorded_at: at, ..draft.memory.clone() };
    let (id, scope) = (memory.id, memory.scope.clone());
    let subject = Subject::MemoryQuarantine {
        memory: id,
        causes: draft.causes.clone(),
        caused_by: draft.caused_by.clone(),
        supersedes: draft.supersedes.clone(),
        updates: None,
    };
    // One id for both: a change makes at most one proposal.
    let proposal = ProposalId(change.0);
    let hash = memory.content_hash.clone();
    let Review { why, author, flags } = review.clone();
    let opened = Proposal::open(proposal, subject, &scope, author, hash, at);
    let opened = Proposal { rationale: Some(why.clone()), flags, ..opened };
    let mut ops = vec![Op::PutMemory { memory: Box::new(memory), expected_revision: 0, vectors: Vec::new() }];
    ops.extend(known.before.iter().map(|(kind, before)| {
        let (from, to, scope) = (id.0, before.0, scope.clone());
        Op::PutEdge(Edge { from, to, kind: *kind, weight: 1.0, reason: None, scope, recorded_at: at })
    }));
    ops.push(opened.put(0));
    let reply = StoreReply {
        id: Some(id.to_string()),
        outcome: Outcome::Quarantined.name().to_owned(),
        state: StoreState::Indexed,
        links: Vec::new(),
        superseded: Vec::new(),
        redactions: Vec::new(),
        reason: Some(why),
        review_id: Some(proposal.to_string()),
        operation_id: change.to_string(),
    };
    (change_set(draft, change, at, ops, &reply), reply)
}

fn change_set(draft: &Draft, id: ChangeId, at: Timestamp, ops: Vec<Op>, reply: &StoreReply) -> ChangeSet {
    let idempotency = draft.idempotency_key.as_ref().map(|key| Idempotency {
        key: key.clone(),
        request_hash: draft.request_hash.clone(),
        answer: serde_json::to_value(reply).expect("a reply of strings is JSON"),
    });
    let actor = draft.memory.user_id.clone();
    ChangeSet { id, at, actor, use_case: "store".to_owned(), reason: None, ops, idempotency }
}

/// Creates the concepts that a memory is about and mentions, with the edges to them. A concept it is about is not
/// mentioned as well.
pub(super) fn concept_ops(
    id: MemoryId,
    scope: &Scope,
    about: &[Mention],
    mentions: &[Mention],
    at: Timestamp,
) -> Vec<Op> {
    let mut seen = BTreeSet::new();
    let mut ops = Vec::new();
    let about = about.iter().map(|mention| (EdgeKind::About, mention));
    for (kind, Mention { key, label }) in about.chain(mentions.iter().map(|mention| (EdgeKind::Mentions, mention))) {
        if !seen.insert(key) {
            continue;
        }
        let concept = Concept::from_text(key.clone(), label.clone());
        let to = concept.id.0;
        ops.push(Op::PutConcept(concept));
        let scope = scope.clone();
        ops.push(Op::PutEdge(Edge { from: id.0, to, kind, weight: 1.0, reason: None, scope, recorded_at: at }));
    }
    ops
}

/// The edges from earlier memories to a new subject that their texts name.
pub(super) fn mention_ops(named_by: &[(MemoryId, Scope, ConceptKey)], at: Timestamp) -> impl Iterator<Item = Op> {
    named_by.iter().map(move |(other, scope, key)| {
        Op::PutEdge(Edge {
            from: other.0,
            to: Concept::id_of(key).0,
            kind: EdgeKind::Mentions,
            weight: 1.0,
            reason: None,
            scope: scope.clone(),
            recorded_at: at,
        })
    })
}

/// The scope whose readers see both; `None` if no single scope says that.
pub(super) fn narrower(one: &Scope, other: &Scope) -> Option<Scope> {
    match (one, other) {
        (same, also) if same == also => Some(same.clone()),
        (Scope::Global, narrow) | (narrow, Scope::Global) => Some(narrow.clone()),
        // The owner of a private record reads the group's: the request could not name it otherwise.
        (Scope::Private(user), Scope::Shared(_)) | (Scope::Shared(_), Scope::Private(user)) => {
            Some(Scope::Private(user.clone()))
        }
        _ => None,
    }
}
