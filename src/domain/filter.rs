//! What a search is narrowed to. Stores and indexes apply it inside the search, never after it.

use jiff::Timestamp;

use super::{Kind, Language, Memory, MemoryType, Status};

/// The two clocks of a question. Both empty: what we believe now and what is in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AsOf {
    /// What was true in the world then.
    pub world: Option<Timestamp>,
    /// What we believed then: each record in the state it was in at that moment.
    pub known: Option<Timestamp>,
}

impl AsOf {
    /// Whether `memory`, in the state that [`Self::known`] leads to, was true in the world at [`Self::world`].
    pub fn holds(&self, memory: &Memory) -> bool {
        let retired_since = self.retires_later(memory);
        self.world.is_none_or(|at| {
            memory.valid_from.is_none_or(|from| from <= at)
                && (retired_since || memory.valid_to.is_none_or(|to| at < to))
        })
    }

    /// A stored memory as it was at [`Self::known`], as far as its retirement goes. One that came to us retired has no state
    /// from before; its end tells when it was still active.
    pub fn before_retirement(&self, memory: Memory) -> Memory {
        if self.retires_later(&memory) {
            return Memory { status: Status::Active, retired_at: None, ..memory };
        }
        memory
    }

    /// Whether `memory` was retired after [`Self::known`]: at that moment it was active, and the end of its validity, which
    /// the retirement set, open.
    fn retires_later(&self, memory: &Memory) -> bool {
        memory.status.is_retired() && self.known.is_some_and(|at| memory.retired_at.is_none_or(|end| at < end))
    }
}

/// Conditions on memories; empty fields ask nothing. Values within a field are alternatives, fields are all required.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Layers.
    pub kinds: Vec<Kind>,
    /// Types.
    pub types: Vec<MemoryType>,
    /// Tags.
    pub tags: Vec<String>,
    /// Session.
    pub session_id: Option<String>,
    /// Task.
    pub task_id: Option<String>,
    /// `occurred_at` from then (inclusive).
    pub since: Option<Timestamp>,
    /// `occurred_at` until then (exclusive).
    pub until: Option<Timestamp>,
    /// Only memories in this language.
    pub language: Option<Language>,
    /// Superseded memories too.
    pub include_superseded: bool,
    /// Expired memories are left out as of this moment.
    pub now: Option<Timestamp>,
    /// Time travel.
    pub as_of: AsOf,
}

impl Filter {
    /// Whether `memory` meets every condition. The meaning that each store's query must have; the in-memory ones call it.
    ///
    /// With `known`, `memory` is the state it was in then; a retirement after that moment has not happened yet, nor the
    /// end of validity that it set. Only active memories match, superseded ones when asked for or when `world` looks back.
    pub fn matches(&self, memory: &Memory) -> bool {
        let AsOf { world, known } = self.as_of;
        let retired_since = self.as_of.retires_later(memory);
        let status = match memory.status {
            Status::Active => true,
            Status::Superseded => retired_since || self.include_superseded || world.is_some(),
            Status::Archived => retired_since,
            Status::Quarantined => false,
        };
        let recorded = known.is_none_or(|at| memory.recorded_at <= at);
        status
            && recorded
            && self.as_of.holds(memory)
            && (self.kinds.is_empty() || self.kinds.contains(&memory.kind))
            && (self.types.is_empty() || self.types.contains(&memory.memory_type))
            && (self.tags.is_empty() || self.tags.iter().any(|tag| memory.tags.contains(tag)))
            && self.session_id.as_ref().is_none_or(|id| memory.session_id.as_ref() == Some(id))
            && self.task_id.as_ref().is_none_or(|id| memory.task_id.as_ref() == Some(id))
            && self.since.is_none_or(|since| memory.occurred_at >= since)
            && self.until.is_none_or(|until| memory.occurred_at < until)
            && self.language.is_none_or(|language| memory.language == language)
            && self.now.is_none_or(|now| memory.expires_at.is_none_or(|end| now < end))
    }
}
