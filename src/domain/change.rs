//! A write is a value: a [`ChangeSet`] is decided purely, then applied at once or not at all, and twice is the same as once.
//!
//! The vector index learns of a change through [`ChangeSet::index_ops`], which the graph store keeps as outbox rows in
//! the same transaction.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt, str::FromStr};
use uuid::Uuid;

use super::{
    ChangeId, Concept, Edge, EdgeKind, Event, Kind, Language, Memory, MemoryId, MemoryType, NamedVector, Record,
    Status, UnknownName, memory::names,
};

/// Everything one use case writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Applying two sets with the same id is applying one.
    pub id: ChangeId,
    /// When it was decided.
    pub at: Timestamp,
    /// The principal it was decided for.
    pub actor: String,
    /// The use case, for the audit log.
    pub use_case: String,
    /// Why, in the words of whoever asked for it, for the audit log. Never the text of a memory.
    #[serde(default)]
    pub reason: Option<String>,
    /// What is written, in order.
    pub ops: Vec<Op>,
    /// The answer to give if the same request comes again.
    pub idempotency: Option<Idempotency>,
}

impl ChangeSet {
    /// Use case of the changes that only count uses: they say nothing to an audit or to a subscriber.
    pub const COUNT_USES: &str = "count_uses";
}

/// Ties a client's key to the answer it got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Idempotency {
    /// The client's key, unique per principal.
    pub key: String,
    /// SHA-256 of the request; another request under the same key is refused.
    pub request_hash: String,
    /// The answer, as JSON.
    pub answer: serde_json::Value,
}

impl Idempotency {
    /// Whether the answer names this id.
    pub fn names(&self, id: Uuid) -> bool {
        named_ids(&self.answer).contains(&id)
    }
}

/// Every UUID that is a whole string or field name of `answer`.
fn named_ids(answer: &serde_json::Value) -> Vec<Uuid> {
    match answer {
        serde_json::Value::String(text) => Uuid::try_parse(text).ok().into_iter().collect(),
        serde_json::Value::Array(items) => items.iter().flat_map(named_ids).collect(),
        serde_json::Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| Uuid::try_parse(name).ok().into_iter().chain(named_ids(value)))
            .collect(),
        _ => Vec::new(),
    }
}

/// One write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Creates the memory (`expected_revision` 0) or replaces the revision named. The replaced one is kept as history.
    PutMemory {
        /// The whole record.
        memory: Box<Memory>,
        /// Revision that must be stored now; 0 for a new memory. Anything else is a conflict.
        expected_revision: u64,
        /// Its vectors, one for each space it has.
        vectors: Vec<NamedVector>,
    },
    /// Ends the belief in a memory: status, `valid_to` and `retired_at` are set if it is active, else nothing changes.
    Retire {
        /// The memory.
        id: MemoryId,
        /// `superseded` or `archived`.
        status: Status,
        /// True in the world until then.
        valid_to: Option<Timestamp>,
    },
    /// The same memory was stored again, or returned: counter up.
    Touch {
        /// The memories.
        ids: Vec<MemoryId>,
    },
    /// Creates or replaces an edge between memories, or from a memory to a concept. An edge whose end is not there is
    /// left out.
    PutEdge(Edge),
    /// Says in which vector spaces a memory has a vector now. Not a revision: what it says is unchanged.
    SetSpaces {
        /// The memory.
        id: MemoryId,
        /// Names of the spaces.
        spaces: Vec<String>,
    },
    /// Removes the edges of these kinds that leave a node.
    DropEdges {
        /// The node.
        from: Uuid,
        /// Kinds to remove.
        kinds: Vec<EdgeKind>,
    },
    /// Creates the concept if it is not there.
    PutConcept(Concept),
    /// Appends a raw event.
    PutEvent(Event),
    /// Notes a vote on a memory, in place of the same principal's earlier one, with the confidence it leads to. A state of
    /// its own in the memory's history, not a revision: what it says is unchanged.
    Vote {
        /// The memory.
        id: MemoryId,
        /// Who votes; one vote each.
        principal: String,
        /// Whether it helped.
        useful: bool,
        /// Why, in the voter's words.
        note: Option<String>,
        /// The memory's confidence from now on, 0..=1.
        confidence: f32,
    },
    /// Removes a memory with its history, edges, votes, terms and vectors, the raw events it came from, and the reasons of
    /// earlier changes of it. Concepts of `text` origin that nothing names any longer go with it.
    Forget {
        /// The memory.
        id: MemoryId,
    },
    /// Creates a page, a revision or a proposal (`expected_version` 0), or replaces the version named, with the text beside
    /// it. A name of a page that another page of its scope has is a conflict.
    PutRecord {
        /// The whole record.
        record: Box<Record>,
        /// Its text; `None` leaves the one that is stored.
        text: Option<String>,
        /// Version that must be stored now; 0 for a new record. Anything else is a conflict.
        expected_version: u64,
    },
}

names! {
    /// How to forget.
    Forgetting {
        /// Removed from every copy.
        Delete = "delete",
        /// Halves importance and confidence.
        Decay = "decay",
        /// Kept, never recalled by default.
        Archive = "archive",
    }
}

names! {
    /// What became of a memory that was given to us.
    Outcome {
        /// A new memory.
        Stored = "stored",
        /// The same was known; its counter went up.
        Refreshed = "refreshed",
        /// A new memory that adds to near neighbours.
        Supplemented = "supplemented",
        /// A new memory that replaces older ones.
        Superseded = "superseded",
        /// Waiting for a person.
        Quarantined = "quarantined",
        /// Not taken; the reason says why.
        Refused = "refused",
        /// Below the importance threshold; the answer says so.
        Dropped = "dropped",
        /// Accepted and durable, written when the store is back.
        Queued = "queued",
    }
}

names! {
    /// What a change did to a memory, for the audit log and the change log.
    Effect {
        /// It was stored.
        Created = "created",
        /// Fields of it changed.
        Updated = "updated",
        /// It was replaced by a newer one.
        Superseded = "superseded",
        /// It was put aside.
        Archived = "archived",
        /// It was stored again or returned; its counter went up.
        Refreshed = "refreshed",
        /// An edge to or from it was made.
        Linked = "linked",
        /// Somebody said whether it helped.
        Voted = "voted",
        /// It was removed.
        Forgotten = "forgotten",
    }
}

/// What the index knows of a memory besides its vectors: filter fields only, never text. Times are microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// Scope key.
    pub visibility: String,
    /// See [`Memory::status`].
    pub status: Status,
    /// See [`Memory::kind`].
    pub kind: Kind,
    /// See [`Memory::memory_type`].
    pub memory_type: MemoryType,
    /// See [`Memory::language`].
    pub language: Language,
    /// See [`Memory::tags`].
    pub tags: Vec<String>,
    /// See [`Memory::session_id`].
    pub session_id: Option<String>,
    /// See [`Memory::task_id`].
    pub task_id: Option<String>,
    /// See [`Memory::occurred_at`].
    pub occurred_at: i64,
    /// See [`Memory::valid_from`]; `i64::MIN` is always.
    pub valid_from: i64,
    /// See [`Memory::valid_to`]; `i64::MAX` is open.
    pub valid_to: i64,
    /// See [`Memory::recorded_at`].
    pub recorded_at: i64,
    /// See [`Memory::retired_at`]; `i64::MAX` is open.
    pub retired_at: i64,
    /// See [`Memory::expires_at`]; `i64::MAX` is never.
    pub expires_at: i64,
}

impl Payload {
    /// The filter fields of `memory`.
    pub fn of(memory: &Memory) -> Self {
        let micros = |time: Option<Timestamp>, none: i64| time.map_or(none, Timestamp::as_microsecond);
        Self {
            visibility: memory.scope.key(),
            status: memory.status,
            kind: memory.kind,
            memory_type: memory.memory_type,
            language: memory.language,
            tags: memory.tags.clone(),
            session_id: memory.session_id.clone(),
            task_id: memory.task_id.clone(),
            occurred_at: memory.occurred_at.as_microsecond(),
            valid_from: micros(memory.valid_from, i64::MIN),
            valid_to: micros(memory.valid_to, i64::MAX),
            recorded_at: memory.recorded_at.as_microsecond(),
            retired_at: micros(memory.retired_at, i64::MAX),
            expires_at: micros(memory.expires_at, i64::MAX),
        }
    }
}

/// A memory as the index holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The memory.
    pub id: MemoryId,
    /// At least one.
    pub vectors: Vec<NamedVector>,
    /// Filter fields.
    pub payload: Payload,
}

/// One write to the vector index. Each is idempotent, and later ones win.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexOp {
    /// Creates or replaces a point.
    Upsert(Point),
    /// Sets the three fields that change when a memory is retired, if the point is there and active: like
    /// [`Op::Retire`], a second one changes nothing.
    Retire {
        /// The memory.
        id: MemoryId,
        /// New status.
        status: Status,
        /// New `valid_to`, microseconds; `None` leaves it.
        valid_to: Option<i64>,
        /// New `retired_at`, microseconds.
        retired_at: i64,
    },
    /// Replaces the filter fields and keeps the vectors; a missing point is left missing. For the doctor.
    SetPayload {
        /// The memory.
        id: MemoryId,
        /// All fields.
        payload: Payload,
    },
    /// Removes a point; a missing one is fine.
    Delete {
        /// The memory.
        id: MemoryId,
    },
}

impl IndexOp {
    /// The memory it is about.
    pub fn id(&self) -> MemoryId {
        match self {
            Self::Upsert(point) => point.id,
            Self::Retire { id, .. } | Self::SetPayload { id, .. } | Self::Delete { id } => *id,
        }
    }
}

impl ChangeSet {
    /// The ids that its kept answer tells of: those it names and those of memories that were written. Forgetting one of them
    /// ends the answer.
    pub fn answered_ids(&self) -> BTreeSet<Uuid> {
        let Some(idempotency) = &self.idempotency else { return BTreeSet::new() };
        let mut ids: BTreeSet<Uuid> = named_ids(&idempotency.answer).into_iter().collect();
        for op in &self.ops {
            match op {
                Op::PutMemory { memory, .. } => ids.extend([memory.id.0]),
                Op::Touch { ids: touched } => ids.extend(touched.iter().map(|id| id.0)),
                Op::Retire { id, .. } | Op::SetSpaces { id, .. } | Op::Vote { id, .. } => ids.extend([id.0]),
                Op::PutEdge(_)
                | Op::DropEdges { .. }
                | Op::PutConcept(_)
                | Op::PutEvent(_)
                | Op::Forget { .. }
                | Op::PutRecord { .. } => {}
            }
        }
        ids
    }

    /// What the index must do for this change, in order. Memories without vectors (quarantined ones) have no point.
    pub fn index_ops(&self) -> Vec<IndexOp> {
        self.ops
            .iter()
            .filter_map(|op| match op {
                Op::PutMemory { memory, vectors, .. } if !vectors.is_empty() => Some(IndexOp::Upsert(Point {
                    id: memory.id,
                    vectors: vectors.clone(),
                    payload: Payload::of(memory),
                })),
                Op::Retire { id, status, valid_to } => Some(IndexOp::Retire {
                    id: *id,
                    status: *status,
                    valid_to: valid_to.map(Timestamp::as_microsecond),
                    retired_at: self.at.as_microsecond(),
                }),
                Op::Forget { id } => Some(IndexOp::Delete { id: *id }),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_written_before_there_were_reasons_is_read() {
        let written = r#"{"id":"01940000-0000-7000-8000-000000000000","at":"2026-11-30T12:00:00Z","actor":"ann",
            "use_case":"forget","ops":[],"idempotency":null}"#;
        let change: ChangeSet = serde_json::from_str(written).expect("an older change");
        assert_eq!((change.actor.as_str(), change.reason), ("ann", None));
    }
}
