//! What a batch of changes comes to: from the records it touches, as they are stored, to the rows that are to be written.
//!
//! Pure. The operations are played in their order on what was found; only the end is written, so a batch of any length
//! takes the same few statements. The writer holds the `Store` node from before the records were read until the commit,
//! so nobody else writes in between.
//!
//! To add an operation: what it needs in [`Needs::of`], what it does in [`Plan::play`], its rows in [`Writes`].

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    error::Neo4jError,
    rows::{SEPARATOR, integer, memory},
};
use crate::{
    domain::{
        self, ChangeSet, Concept, Edge, EdgeKind, Effect, Event, Idempotency, IndexOp, Memory, MemoryId, Op, Status,
    },
    ports::{Applied, DecidedRow},
};

/// A key of two parts.
pub(super) fn joined(first: &str, second: &str) -> String {
    format!("{first}{SEPARATOR}{second}")
}

/// Which records the operations of a batch look at.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) changes: BTreeSet<Uuid>,
    /// Memories that change.
    pub(super) whole: BTreeSet<Uuid>,
    /// Memories of which it is enough to know that they are there, and their counters.
    pub(super) others: BTreeSet<Uuid>,
    pub(super) sessions: BTreeSet<String>,
    pub(super) tasks: BTreeSet<String>,
    pub(super) external: BTreeSet<String>,
    pub(super) active: BTreeSet<String>,
    /// Ends of edges between memories that are written.
    pub(super) pairs: BTreeSet<(Uuid, Uuid)>,
    /// Memories whose edges to others may go.
    pub(super) leaving: BTreeSet<Uuid>,
    /// Memories whose edges to concepts may change.
    pub(super) naming: BTreeSet<Uuid>,
    /// Memories that may leave concepts behind.
    pub(super) loosening: BTreeSet<Uuid>,
    pub(super) concepts: BTreeSet<Uuid>,
    pub(super) votes: BTreeSet<String>,
    pub(super) answers: BTreeSet<String>,
    /// Pages, revisions and proposals.
    pub(super) kept: BTreeSet<Uuid>,
    /// Names of pages.
    pub(super) names: BTreeSet<String>,
}

impl Needs {
    pub(super) fn of(changes: &[ChangeSet]) -> Self {
        let mut needs = Self::default();
        for change in changes {
            needs.changes.insert(change.id.0);
            if let Some(idempotency) = &change.idempotency {
                needs.answers.insert(joined(&change.actor, &idempotency.key));
            }
            for op in &change.ops {
                needs.add(op);
            }
        }
        needs.others = needs.others.difference(&needs.whole).copied().collect();
        needs
    }

    pub(super) fn keep(&mut self, record: &domain::Record) {
        self.kept.insert(record.id());
        self.names.extend(names_of(record));
    }

    fn add(&mut self, op: &Op) {
        match op {
            Op::PutMemory { memory, .. } => {
                let scope = memory.scope.key();
                self.whole.insert(memory.id.0);
                self.naming.insert(memory.id.0);
                self.sessions.extend(memory.session_id.as_ref().map(|name| joined(&scope, name)));
                self.tasks.extend(memory.task_id.as_ref().map(|name| joined(&scope, name)));
                self.external.extend(external_key(memory));
                self.active.extend(active_key(memory));
            }
            Op::Retire { id, .. } | Op::SetSpaces { id, .. } => {
                self.whole.insert(id.0);
            }
            Op::Vote { id, principal, .. } => {
                self.whole.insert(id.0);
                self.votes.insert(vote_key(*id, principal));
            }
            Op::Touch { ids } => self.others.extend(ids.iter().map(|id| id.0)),
            Op::PutEdge(edge) if edge.kind.to_concept() => {
                self.others.insert(edge.from);
                self.naming.insert(edge.from);
                self.concepts.insert(edge.to);
            }
            Op::PutEdge(edge) if among_concepts(edge.kind) => self.concepts.extend([edge.from, edge.to]),
            Op::PutEdge(edge) => {
                self.others.extend([edge.from, edge.to]);
                if matches!(edge.kind, EdgeKind::SameSession | EdgeKind::SameTask) {
                    // For its place.
                    self.whole.insert(edge.to);
                }
                self.pairs.insert((edge.from, edge.to));
            }
            Op::DropEdges { from, .. } => {
                self.leaving.insert(*from);
                self.naming.insert(*from);
                self.loosening.insert(*from);
            }
            Op::PutConcept(concept) => {
                self.concepts.insert(concept.id.0);
            }
            Op::PutEvent(_) => {}
            Op::PutRecord { record, .. } => {
                self.keep(record);
            }
            Op::Forget { id } => {
                self.whole.insert(id.0);
                self.naming.insert(id.0);
                self.loosening.insert(id.0);
            }
        }
    }
}

pub(super) fn among_concepts(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Broader | EdgeKind::Related)
}

pub(super) fn vote_key(id: MemoryId, principal: &str) -> String {
    joined(&id.to_string(), principal)
}

pub(super) fn external_key(memory: &Memory) -> Option<String> {
    memory.external_id.as_ref().map(|id| joined(&memory.scope.key(), id))
}

pub(super) fn active_key(memory: &Memory) -> Option<String> {
    (memory.status == Status::Active).then(|| joined(&memory.scope.key(), &memory.content_hash))
}

/// The keys of a page's names.
pub(super) fn names_of(record: &domain::Record) -> impl Iterator<Item = String> {
    let scope = record.scope().key();
    record.keys().names.into_iter().map(move |name| joined(&scope, &name))
}

/// A memory as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) memory: Memory,
    pub(super) session_position: Option<i64>,
    pub(super) task_position: Option<i64>,
    pub(super) revised_at: i64,
}

impl Record {
    /// A stored memory with its counters in it.
    pub(super) fn of_body(
        body: &str,
        counters: &Counters,
        positions: (Option<i64>, Option<i64>),
        revised_at: i64,
    ) -> Result<Self, Neo4jError> {
        let memory = memory(body, counters.access_count, counters.last_accessed)?;
        Ok(Self { memory, session_position: positions.0, task_position: positions.1, revised_at })
    }
}

/// The counters of a memory, which move without it, and its scope.
#[derive(Debug, Clone)]
pub(super) struct Counters {
    pub(super) visibility: String,
    pub(super) access_count: i64,
    pub(super) last_accessed: Option<i64>,
}

/// What an edge says, whichever ends it has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    pub(super) visibility: String,
    pub(super) weight: f64,
    pub(super) reason: Option<String>,
    pub(super) recorded_at: i64,
    /// When it got its present weight and reason, if that was later.
    pub(super) since: Option<i64>,
}

impl Link {
    fn of(edge: &Edge) -> Self {
        Self {
            visibility: edge.scope.key(),
            weight: f64::from(edge.weight),
            reason: edge.reason.clone(),
            recorded_at: edge.recorded_at.as_microsecond(),
            since: None,
        }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        (&self.visibility, self.weight, &self.reason) == (&other.visibility, other.weight, &other.reason)
    }
}

/// An edge from a memory to a concept, with the scope of the memory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mention {
    pub(super) memory_visibility: String,
    pub(super) link: Link,
}

pub(super) type EdgeKey = (Uuid, Uuid, EdgeKind);

/// The records that [`Needs`] asked for.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) change_seq: i64,
    pub(super) outbox_seq: i64,
    pub(super) state_seq: i64,
    pub(super) changes: BTreeSet<Uuid>,
    pub(super) records: BTreeMap<Uuid, Record>,
    pub(super) counters: BTreeMap<Uuid, Counters>,
    /// The last position given in a session, and in a task.
    pub(super) sessions: BTreeMap<String, i64>,
    pub(super) tasks: BTreeMap<String, i64>,
    pub(super) external: BTreeMap<String, Uuid>,
    pub(super) active: BTreeMap<String, Uuid>,
    pub(super) edges: BTreeMap<EdgeKey, Link>,
    pub(super) mentions: BTreeMap<EdgeKey, Mention>,
    /// Concepts that earlier states of a memory named.
    pub(super) named_before: Vec<(Uuid, Uuid)>,
    pub(super) concepts: BTreeSet<Uuid>,
    pub(super) votes: BTreeMap<String, bool>,
    pub(super) answers: BTreeSet<String>,
    /// Versions of pages, revisions and proposals.
    pub(super) versions: BTreeMap<Uuid, u64>,
    /// Which page has a name.
    pub(super) name_owners: BTreeMap<String, Uuid>,
}

/// Something that may be stored, may have changed, or may be gone.
#[derive(Debug)]
struct Slot<T> {
    stored: Option<T>,
    now: Option<T>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self { stored: None, now: None }
    }

    fn stored(&self) -> Option<&T> {
        self.stored.as_ref()
    }

    fn now(&self) -> Option<&T> {
        self.now.as_ref()
    }
}

impl<T: Clone> Slot<T> {
    fn of(stored: T) -> Self {
        Self { now: Some(stored.clone()), stored: Some(stored) }
    }
}

/// What is to be written of a kind of edge.
#[derive(Debug)]
pub(super) struct EdgeWrites<T> {
    pub(super) created: Vec<(EdgeKey, T)>,
    pub(super) changed: Vec<(EdgeKey, T)>,
    pub(super) dropped: Vec<EdgeKey>,
    /// What edges said until a moment.
    pub(super) ended: Vec<(EdgeKey, T, i64)>,
}

impl<T> Default for EdgeWrites<T> {
    fn default() -> Self {
        Self { created: Vec::new(), changed: Vec::new(), dropped: Vec::new(), ended: Vec::new() }
    }
}

impl<T> EdgeWrites<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.created.is_empty() && self.changed.is_empty() && self.dropped.is_empty() && self.ended.is_empty()
    }
}

/// A row of the change log.
#[derive(Debug)]
pub(super) struct ChangeRow {
    pub(super) seq: i64,
    pub(super) id: Uuid,
    pub(super) at: i64,
    pub(super) actor: String,
    pub(super) use_case: String,
    pub(super) reason: Option<String>,
    pub(super) ops: usize,
}

/// What a change did to a memory, and the scope whose readers are told.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) effect: Effect,
    pub(super) visibility: String,
}

/// An answer kept under its key, and the ids whose forgetting ends it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) key: String,
    pub(super) change: Uuid,
    pub(super) request_hash: String,
    /// JSON.
    pub(super) answer: String,
    pub(super) names: BTreeSet<Uuid>,
}

/// A vote as it stands after the batch.
#[derive(Debug)]
pub(super) struct Vote {
    pub(super) memory: Uuid,
    pub(super) principal: String,
    pub(super) useful: bool,
    pub(super) note: Option<String>,
    pub(super) at: i64,
}

/// A row of the outbox.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) seq: i64,
    pub(super) memory: Uuid,
    pub(super) op: IndexOp,
}

/// A page, a revision or a proposal as it is after the batch; no text leaves the one that is stored.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) record: domain::Record,
    pub(super) text: Option<String>,
}

/// A state of a memory that ended.
#[derive(Debug)]
pub(super) struct State {
    pub(super) record: Record,
    pub(super) ended_at: i64,
    /// Orders the states of a memory that began at the same moment.
    pub(super) seq: i64,
}

/// Rows to write, in the order of their statements.
#[derive(Debug, Default)]
pub(super) struct Writes {
    pub(super) forgotten: BTreeSet<Uuid>,
    /// Raw events that hold the words of a forgotten memory, beside those that say so themselves.
    pub(super) forgotten_events: BTreeSet<Uuid>,
    /// Memories that let go of a key that another may take.
    pub(super) released: BTreeSet<Uuid>,
    pub(super) records: Vec<Record>,
    pub(super) counters: Vec<(Uuid, Counters)>,
    pub(super) states: Vec<State>,
    /// How many more memories each scope has; 0 for one that has to be known for its events.
    pub(super) scope_counts: BTreeMap<String, i64>,
    pub(super) edges: EdgeWrites<Link>,
    pub(super) concepts: Vec<Concept>,
    pub(super) mentions: EdgeWrites<Mention>,
    /// How many more memories name a concept and are about it, by concept, scope of the memory and scope of the edge.
    pub(super) uses: BTreeMap<(Uuid, String, String), (i64, i64)>,
    pub(super) concept_drops: BTreeSet<(Uuid, EdgeKind)>,
    pub(super) concept_edges: BTreeMap<EdgeKey, Link>,
    pub(super) events: Vec<Event>,
    pub(super) votes: BTreeMap<String, Vote>,
    pub(super) kept: BTreeMap<Uuid, Kept>,
    /// What became of proposals.
    pub(super) proposals: BTreeMap<(i64, Uuid), DecidedRow>,
    pub(super) changes: Vec<ChangeRow>,
    pub(super) notes: BTreeMap<(i64, Uuid), Note>,
    pub(super) answers: Vec<Answer>,
    /// Memories whose rows of the outbox need not be carried over any more.
    pub(super) outbox_drops: BTreeSet<Uuid>,
    pub(super) outbox: Vec<Waiting>,
    pub(super) change_seq: i64,
    pub(super) outbox_seq: i64,
    pub(super) state_seq: i64,
    /// Concepts that may now be named by nothing.
    pub(super) loosened: BTreeSet<Uuid>,
}

/// Plays the changes on what was found.
pub(super) fn plan(changes: &[ChangeSet], found: Found) -> Result<(Vec<Applied>, Writes), Neo4jError> {
    let mut plan = Plan::on(found);
    let applied = changes.iter().map(|change| plan.apply(change)).collect::<Result<_, _>>()?;
    Ok((applied, plan.finish()))
}

struct Plan {
    changes: BTreeSet<Uuid>,
    records: BTreeMap<Uuid, Record>,
    /// Which of them are not as stored.
    changed: BTreeSet<Uuid>,
    created: BTreeSet<Uuid>,
    counters: BTreeMap<Uuid, Counters>,
    counted: BTreeSet<Uuid>,
    sessions: BTreeMap<String, i64>,
    tasks: BTreeMap<String, i64>,
    external: BTreeMap<String, Uuid>,
    active: BTreeMap<String, Uuid>,
    edges: BTreeMap<EdgeKey, Slot<Link>>,
    mentions: BTreeMap<EdgeKey, Slot<Mention>>,
    named_before: Vec<(Uuid, Uuid)>,
    concepts: BTreeSet<Uuid>,
    votes: BTreeMap<String, bool>,
    answers: BTreeSet<String>,
    versions: BTreeMap<Uuid, u64>,
    name_owners: BTreeMap<String, Uuid>,
    writes: Writes,
}

impl Plan {
    fn on(found: Found) -> Self {
        let writes = Writes {
            change_seq: found.change_seq,
            outbox_seq: found.outbox_seq,
            state_seq: found.state_seq,
            ..Writes::default()
        };
        Self {
            changes: found.changes,
            records: found.records,
            changed: BTreeSet::new(),
            created: BTreeSet::new(),
            counters: found.counters,
            counted: BTreeSet::new(),
            sessions: found.sessions,
            tasks: found.tasks,
            external: found.external,
            active: found.active,
            edges: found.edges.into_iter().map(|(key, link)| (key, Slot::of(link))).collect(),
            mentions: found.mentions.into_iter().map(|(key, mention)| (key, Slot::of(mention))).collect(),
            named_before: found.named_before,
            concepts: found.concepts,
            votes: found.votes,
            answers: found.answers,
            versions: found.versions,
            name_owners: found.name_owners,
            writes,
        }
    }

    fn apply(&mut self, change: &ChangeSet) -> Result<Applied, Neo4jError> {
        if !self.changes.insert(change.id.0) {
            return Ok(Applied::Before);
        }
        self.writes.change_seq += 1;
        self.writes.changes.push(ChangeRow {
            seq: self.writes.change_seq,
            id: change.id.0,
            at: change.at.as_microsecond(),
            actor: change.actor.clone(),
            use_case: change.use_case.clone(),
            reason: change.reason.clone(),
            ops: change.ops.len(),
        });
        let mut retired = Vec::new();
        for op in &change.ops {
            self.play(op, change, &mut retired)?;
        }
        self.note_links(change);
        // A memory that was not active has not changed, so its point must not either.
        let mut retired = retired.into_iter();
        for op in change.index_ops() {
            if !matches!(op, IndexOp::Retire { .. }) || retired.next() == Some(true) {
                self.put_outbox(op);
            }
        }
        // After the operations: the answer to a forget request names what was forgotten and must outlive it.
        if let Some(idempotency) = &change.idempotency {
            self.put_answer(change, idempotency)?;
        }
        Ok(Applied::Now)
    }

    fn play(&mut self, op: &Op, change: &ChangeSet, retired: &mut Vec<bool>) -> Result<(), Neo4jError> {
        let at = change.at;
        match op {
            Op::PutMemory { memory, expected_revision, .. } => {
                self.put_memory(memory, *expected_revision, at)?;
                self.note(memory.id.0, if *expected_revision == 0 { Effect::Created } else { Effect::Updated });
            }
            Op::Retire { id, status, valid_to } => {
                let ended = self.retire(*id, *status, *valid_to, at);
                retired.push(ended);
                if ended {
                    let effect = if *status == Status::Superseded { Effect::Superseded } else { Effect::Archived };
                    self.note(id.0, effect);
                }
            }
            Op::Touch { ids } => {
                for id in ids {
                    self.touch(id.0, at);
                    if change.use_case != ChangeSet::COUNT_USES {
                        self.note(id.0, Effect::Refreshed);
                    }
                }
            }
            Op::SetSpaces { id, spaces } => {
                if let Some(record) = self.records.get_mut(&id.0) {
                    record.memory.spaces.clone_from(spaces);
                    self.changed.insert(id.0);
                }
            }
            Op::PutEdge(edge) => self.put_edge(edge, at)?,
            Op::DropEdges { from, kinds } => self.drop_edges(*from, kinds, at),
            Op::PutConcept(concept) => {
                if self.concepts.insert(concept.id.0) {
                    self.writes.concepts.push(concept.clone());
                }
            }
            Op::PutEvent(event) => {
                if !self.writes.events.iter().any(|other| other.id == event.id) {
                    self.count(&event.scope.key(), 0);
                    self.writes.events.push(event.clone());
                }
            }
            Op::Vote { id, principal, useful, note, confidence } => {
                let vote = Vote {
                    memory: id.0,
                    principal: principal.clone(),
                    useful: *useful,
                    note: note.clone(),
                    at: at.as_microsecond(),
                };
                self.vote(*id, vote, *confidence, at);
                self.note(id.0, Effect::Voted);
            }
            Op::Forget { id } => {
                // Before it is gone: the note needs its scope.
                self.note(id.0, Effect::Forgotten);
                self.forget(id.0);
            }
            Op::PutRecord { record, text, expected_version } => {
                self.put_record(record, text.as_ref(), *expected_version)?;
            }
        }
        Ok(())
    }

    fn exists(&self, id: Uuid) -> bool {
        self.counters.contains_key(&id)
    }

    /// Notes in the change log what became of a memory. The first note of a change stands; an id that is no memory has none.
    fn note(&mut self, id: Uuid, effect: Effect) {
        if let Some(visibility) = self.counters.get(&id).map(|counters| counters.visibility.clone()) {
            self.note_within(id, effect, visibility);
        }
    }

    /// [`Self::note`] for the readers of a scope alone, who may be fewer than those of the memory.
    fn note_within(&mut self, id: Uuid, effect: Effect, visibility: String) {
        if self.exists(id) {
            self.writes.notes.entry((self.writes.change_seq, id)).or_insert(Note { effect, visibility });
        }
    }

    /// Notes the ends of edges that are news. Last of all, since any other effect says more.
    fn note_links(&mut self, change: &ChangeSet) {
        for op in &change.ops {
            if let Op::PutEdge(edge) = op
                && edge.is_news()
            {
                for end in [edge.from, edge.to] {
                    self.note_within(end, Effect::Linked, edge.scope.key());
                }
            }
        }
    }

    fn put_memory(&mut self, memory: &Memory, expected: u64, at: Timestamp) -> Result<(), Neo4jError> {
        let (id, scope) = (memory.id.0, memory.scope.key());
        let before = self.records.remove(&id);
        if before.as_ref().map_or(0, |before| before.memory.revision) != expected {
            return Err(Neo4jError::Conflict("memory"));
        }
        if let Some(before) = &before {
            self.keep_state(before.clone(), at);
            self.release(before);
        }
        take(&mut self.external, external_key(memory), id)?;
        take(&mut self.active, active_key(memory), id)?;
        let same_scope = before.as_ref().filter(|before| before.memory.scope == memory.scope);
        let session_position = match same_scope.filter(|before| before.memory.session_id == memory.session_id) {
            Some(before) => before.session_position,
            None => next(&mut self.sessions, &scope, memory.session_id.as_deref()),
        };
        let task_position = match same_scope.filter(|before| before.memory.task_id == memory.task_id) {
            Some(before) => before.task_position,
            None => next(&mut self.tasks, &scope, memory.task_id.as_deref()),
        };
        if let Some(before) = &before {
            self.count(&before.memory.scope.key(), -1);
        }
        self.count(&scope, 1);
        if before.is_none() {
            self.created.insert(id);
        }
        if before.is_some() && same_scope.is_none() {
            for (_, slot) in self.mentions.range_mut(all_from(id)) {
                if let Some(mention) = &mut slot.now {
                    mention.memory_visibility.clone_from(&scope);
                }
            }
        }
        let counters = Counters {
            visibility: scope,
            access_count: integer(memory.access_count),
            last_accessed: memory.last_accessed.map(Timestamp::as_microsecond),
        };
        self.counters.insert(id, counters);
        let revised_at = if before.is_some() { at } else { memory.recorded_at }.as_microsecond();
        self.records.insert(id, Record { memory: memory.clone(), session_position, task_position, revised_at });
        self.changed.insert(id);
        Ok(())
    }

    /// A page that gives up a name keeps others from it until the batch is written: a batch that does both is refused.
    fn put_record(&mut self, record: &domain::Record, text: Option<&String>, expected: u64) -> Result<(), Neo4jError> {
        let id = record.id();
        if self.versions.get(&id).copied().unwrap_or(0) != expected {
            return Err(Neo4jError::Conflict("record"));
        }
        for name in names_of(record) {
            if *self.name_owners.entry(name).or_insert(id) != id {
                return Err(Neo4jError::Conflict("name of a page"));
            }
        }
        self.versions.insert(id, record.version());
        let earlier = self.writes.kept.remove(&id).and_then(|kept| kept.text);
        self.writes.kept.insert(id, Kept { record: record.clone(), text: text.cloned().or(earlier) });
        if let domain::Record::Proposal(proposal) = record {
            let decided = DecidedRow {
                proposal: proposal.id,
                kind: proposal.subject.kind(),
                state: proposal.state,
                author: proposal.author.clone(),
                scope: proposal.scope.clone(),
            };
            self.writes.proposals.insert((self.writes.change_seq, id), decided);
        }
        Ok(())
    }

    fn count(&mut self, scope: &str, by: i64) {
        *self.writes.scope_counts.entry(scope.to_owned()).or_default() += by;
    }

    /// Lets go of the keys of a memory as it was.
    fn release(&mut self, before: &Record) {
        let id = before.memory.id.0;
        for (owners, key) in
            [(&mut self.external, external_key(&before.memory)), (&mut self.active, active_key(&before.memory))]
        {
            if let Some(key) = key.filter(|key| owners.get(key) == Some(&id)) {
                owners.remove(&key);
            }
        }
        self.writes.released.insert(id);
    }

    /// Keeps the state that ends now as history.
    fn keep_state(&mut self, mut record: Record, at: Timestamp) {
        self.counted_in(&mut record);
        self.writes.state_seq += 1;
        self.writes.states.push(State { record, ended_at: at.as_microsecond(), seq: self.writes.state_seq });
    }

    /// Puts the counters into a record, where they stand when it is kept.
    fn counted_in(&self, record: &mut Record) {
        if let Some(counters) = self.counters.get(&record.memory.id.0) {
            record.memory.access_count = counters.access_count.cast_unsigned();
            record.memory.last_accessed =
                counters.last_accessed.and_then(|micros| Timestamp::from_microsecond(micros).ok());
        }
    }

    /// Whether there was an active memory to retire.
    fn retire(&mut self, id: MemoryId, status: Status, valid_to: Option<Timestamp>, at: Timestamp) -> bool {
        let Some(before) = self.records.get(&id.0).filter(|record| record.memory.status == Status::Active).cloned()
        else {
            return false;
        };
        self.keep_state(before.clone(), at);
        self.release(&before);
        let mut record = before;
        record.memory.status = status;
        record.memory.valid_to = valid_to.or(record.memory.valid_to);
        record.memory.retired_at = Some(at);
        record.revised_at = at.as_microsecond();
        if let Some(key) = external_key(&record.memory) {
            self.external.insert(key, id.0);
        }
        self.records.insert(id.0, record);
        self.changed.insert(id.0);
        true
    }

    fn touch(&mut self, id: Uuid, at: Timestamp) {
        if let Some(counters) = self.counters.get_mut(&id) {
            counters.access_count += 1;
            counters.last_accessed = counters.last_accessed.max(Some(at.as_microsecond()));
            self.counted.insert(id);
        }
    }

    /// A memory that is gone has no votes.
    fn vote(&mut self, id: MemoryId, vote: Vote, confidence: f32, at: Timestamp) {
        let Some(mut record) = self.records.get(&id.0).cloned() else { return };
        self.keep_state(record.clone(), at);
        let key = vote_key(id, &vote.principal);
        let earlier = self.votes.insert(key.clone(), vote.useful);
        record.memory.count_vote(earlier, vote.useful, confidence);
        record.revised_at = at.as_microsecond();
        self.records.insert(id.0, record);
        self.changed.insert(id.0);
        self.writes.votes.insert(key, vote);
    }

    /// Written again, an edge keeps the time it was first recorded: it was believed since then. What it said until now is
    /// kept as history. An edge whose end is not there is left out.
    fn put_edge(&mut self, edge: &Edge, at: Timestamp) -> Result<(), Neo4jError> {
        if self.passes_over_a_member(edge) {
            return Err(Neo4jError::Conflict("last member"));
        }
        let key = (edge.from, edge.to, edge.kind);
        let link = Link::of(edge);
        if among_concepts(edge.kind) {
            if self.concepts.contains(&edge.from) && self.concepts.contains(&edge.to) {
                self.writes.concept_edges.insert(key, link);
            }
        } else if edge.kind.to_concept() {
            let Some(memory) = self.counters.get(&edge.from).filter(|_| self.concepts.contains(&edge.to)) else {
                return Ok(());
            };
            let memory_visibility = memory.visibility.clone();
            let slot = self.mentions.entry(key).or_insert_with(Slot::new);
            match &mut slot.now {
                Some(mention) if mention.link.says_the_same(&link) => {}
                Some(mention) => {
                    self.writes.mentions.ended.push((key, mention.clone(), at.as_microsecond()));
                    mention.link = replaced(&mention.link, link, at);
                }
                None => slot.now = Some(Mention { memory_visibility, link }),
            }
        } else if self.exists(edge.from) && self.exists(edge.to) {
            let slot = self.edges.entry(key).or_insert_with(Slot::new);
            match &mut slot.now {
                Some(before) if before.says_the_same(&link) => {}
                Some(before) => {
                    self.writes.edges.ended.push((key, before.clone(), at.as_microsecond()));
                    *before = replaced(before, link, at);
                }
                None => slot.now = Some(link),
            }
        }
        Ok(())
    }

    /// Whether the edge of a new member leads past another: another process has come between, and the new one was decided on
    /// a last member that no longer was the last. A new member has the place after the last one there is.
    fn passes_over_a_member(&self, edge: &Edge) -> bool {
        let (Some(newer), Some(older)) = (self.records.get(&edge.from), self.records.get(&edge.to)) else {
            return false;
        };
        let (of_one, places) = match edge.kind {
            EdgeKind::SameSession => {
                (newer.memory.session_id == older.memory.session_id, older.session_position.zip(newer.session_position))
            }
            EdgeKind::SameTask => {
                (newer.memory.task_id == older.memory.task_id, older.task_position.zip(newer.task_position))
            }
            _ => return false,
        };
        self.created.contains(&edge.from)
            && newer.memory.scope == older.memory.scope
            && of_one
            && places.is_some_and(|(before, after)| before + 1 < after)
    }

    fn drop_edges(&mut self, from: Uuid, kinds: &[EdgeKind], at: Timestamp) {
        self.loosen(from);
        let ended_at = at.as_microsecond();
        for (key, slot) in self.edges.range_mut(all_from(from)).filter(|(key, _)| kinds.contains(&key.2)) {
            self.writes.edges.ended.extend(slot.now.take().map(|link| (*key, link, ended_at)));
        }
        for (key, slot) in self.mentions.range_mut(all_from(from)).filter(|(key, _)| kinds.contains(&key.2)) {
            self.writes.mentions.ended.extend(slot.now.take().map(|mention| (*key, mention, ended_at)));
        }
        for kind in kinds.iter().copied().filter(|kind| among_concepts(*kind)) {
            self.writes.concept_drops.insert((from, kind));
            self.writes.concept_edges.retain(|key, _| (key.0, key.2) != (from, kind));
        }
    }

    /// Notes the concepts that may be named by nothing once the memory lets go of them.
    fn loosen(&mut self, memory: Uuid) {
        let now = self.mentions.range(all_from(memory)).map(|(key, _)| key.1);
        let before = self.named_before.iter().filter(|(of, _)| *of == memory).map(|(_, concept)| *concept);
        self.writes.loosened.extend(now.chain(before));
    }

    /// Every copy that this batch holds; the statement removes those that are stored.
    fn forget(&mut self, id: Uuid) {
        let writes = &mut self.writes;
        for change in &mut writes.changes {
            // What was said of it goes with it; why it is forgotten, in this change, stays.
            if change.seq < writes.change_seq && writes.notes.contains_key(&(change.seq, id)) {
                change.reason = None;
            }
        }
        writes.answers.retain(|answer| !answer.names.contains(&id));
        writes.forgotten.insert(id);
        self.loosen(id);
        self.counters.remove(&id);
        let Some(record) = self.records.remove(&id) else { return };
        self.release(&record);
        self.count(&record.memory.scope.key(), -1);
        self.changed.remove(&id);
        self.counted.remove(&id);
        let writes = &mut self.writes;
        writes.released.remove(&id);
        writes.forgotten_events.extend(&record.memory.provenance);
        writes
            .events
            .retain(|event| !record.memory.provenance.contains(&event.id.0) && !event.made.contains(&record.memory.id));
        writes.states.retain(|state| state.record.memory.id != record.memory.id);
        writes.votes.retain(|_, vote| vote.memory != id);
        self.votes.retain(|key, _| !key.starts_with(&joined(&id.to_string(), "")));
        writes.edges.ended.retain(|(key, ..)| key.0 != id && key.1 != id);
        writes.mentions.ended.retain(|(key, ..)| key.0 != id);
        // The node takes its edges along, so none is left to drop; the uses of concepts are counted from what was stored.
        self.edges.retain(|key, _| key.0 != id && key.1 != id);
        for (_, slot) in self.mentions.range_mut(all_from(id)) {
            slot.now = None;
        }
    }

    fn put_outbox(&mut self, op: IndexOp) {
        let writes = &mut self.writes;
        let memory = match &op {
            IndexOp::Upsert(point) => point.id.0,
            IndexOp::Retire { id, .. } | IndexOp::SetPayload { id, .. } => id.0,
            IndexOp::Delete { id } => {
                writes.outbox.retain(|waiting| waiting.memory != id.0);
                writes.outbox_drops.insert(id.0);
                id.0
            }
        };
        writes.outbox_seq += 1;
        writes.outbox.push(Waiting { seq: writes.outbox_seq, memory, op });
    }

    fn put_answer(&mut self, change: &ChangeSet, idempotency: &Idempotency) -> Result<(), Neo4jError> {
        let key = joined(&change.actor, &idempotency.key);
        if !self.answers.insert(key.clone()) {
            return Err(Neo4jError::Conflict("idempotency key"));
        }
        let names = change.answered_ids();
        let (request_hash, answer) = (idempotency.request_hash.clone(), idempotency.answer.to_string());
        self.writes.answers.push(Answer { key, change: change.id.0, request_hash, answer, names });
        Ok(())
    }

    fn finish(mut self) -> Writes {
        for id in &self.changed {
            if let Some(mut record) = self.records.remove(id) {
                self.counted_in(&mut record);
                self.writes.records.push(record);
            }
        }
        for id in self.counted.difference(&self.changed) {
            if let Some(counters) = self.counters.remove(id) {
                self.writes.counters.push((*id, counters));
            }
        }
        let forgotten = &self.writes.forgotten;
        self.writes.uses = uses(&self.mentions);
        sort_out(self.edges, &mut self.writes.edges, |_| false);
        sort_out(self.mentions, &mut self.writes.mentions, |key| forgotten.contains(&key.0));
        self.writes
    }
}

/// All keys of edges that leave a node.
fn all_from(id: Uuid) -> std::ops::RangeInclusive<EdgeKey> {
    let (first, last) = (EdgeKind::ALL[0], EdgeKind::ALL[EdgeKind::ALL.len() - 1]);
    (id, Uuid::nil(), first)..=(id, Uuid::max(), last)
}

fn replaced(before: &Link, link: Link, at: Timestamp) -> Link {
    Link { recorded_at: before.recorded_at, since: Some(at.as_microsecond()), ..link }
}

fn take(owners: &mut BTreeMap<String, Uuid>, key: Option<String>, id: Uuid) -> Result<(), Neo4jError> {
    match key.map(|key| *owners.entry(key).or_insert(id)) {
        Some(owner) if owner != id => Err(Neo4jError::Conflict("memory")),
        _ => Ok(()),
    }
}

fn next(last: &mut BTreeMap<String, i64>, scope: &str, name: Option<&str>) -> Option<i64> {
    let position = last.entry(joined(scope, name?)).or_default();
    *position += 1;
    Some(*position)
}

/// What was stored and is gone is dropped, unless `gone_already`; what is there and was not is created.
fn sort_out<T: PartialEq>(
    slots: BTreeMap<EdgeKey, Slot<T>>,
    writes: &mut EdgeWrites<T>,
    gone_already: impl Fn(&EdgeKey) -> bool,
) {
    for (key, Slot { stored, now }) in slots {
        match (stored.filter(|_| !gone_already(&key)), now) {
            (None, Some(now)) => writes.created.push((key, now)),
            (Some(stored), Some(now)) if stored != now => writes.changed.push((key, now)),
            (Some(_), None) => writes.dropped.push(key),
            _ => {}
        }
    }
}

/// How the uses of concepts change. A memory that is about a concept and mentions it too, in the same scope, counts once.
fn uses(mentions: &BTreeMap<EdgeKey, Slot<Mention>>) -> BTreeMap<(Uuid, String, String), (i64, i64)> {
    type Roles<'a> = Vec<(EdgeKind, &'a Slot<Mention>)>;
    let mut pairs: BTreeMap<(Uuid, Uuid), Roles<'_>> = BTreeMap::new();
    for ((memory, concept, kind), slot) in mentions {
        pairs.entry((*memory, *concept)).or_default().push((*kind, slot));
    }
    let mut uses = BTreeMap::<_, (i64, i64)>::new();
    for ((_, concept), slots) in pairs {
        for (sign, side) in [(-1, Slot::stored as fn(&Slot<Mention>) -> Option<&Mention>), (1, Slot::now)] {
            let mut counted = BTreeMap::<_, (i64, i64)>::new();
            for (kind, slot) in &slots {
                if let Some(mention) = side(slot) {
                    let scopes = (mention.memory_visibility.clone(), mention.link.visibility.clone());
                    let count = counted.entry(scopes).or_default();
                    count.0 = 1;
                    count.1 += i64::from(*kind == EdgeKind::About);
                }
            }
            for ((memory_visibility, visibility), count) in counted {
                let change = uses.entry((concept, memory_visibility, visibility)).or_default();
                change.0 += sign * count.0;
                change.1 += sign * count.1;
            }
        }
    }
    uses.retain(|_, change| *change != (0, 0));
    uses
}
