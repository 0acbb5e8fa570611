//! Records to start from. A test names the fields it is about and leaves the rest.

use jiff::Timestamp;
use recollect::domain::{ChangeId, ChangeSet, Kind, Language, Memory, MemoryId, MemoryType, Op, Scope, Source, Status};
use uuid::Uuid;

/// The `n`th second of the tests' time.
pub fn at(n: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + n).unwrap()
}

/// The `n`th memory id; larger numbers are larger ids.
pub fn id(n: u64) -> MemoryId {
    MemoryId(Uuid::from_u128(0x018b_cfe5_6800_7000_8000_0000_0000_0000 | u128::from(n)))
}

/// An active fact, recorded and happened in second `n`. `content` is also its terms.
pub fn memory(n: u64, scope: &Scope, content: &str) -> Memory {
    let time = at(i64::try_from(n).unwrap());
    Memory {
        id: id(n),
        external_id: None,
        kind: Kind::Semantic,
        memory_type: MemoryType::Fact,
        content: content.to_owned(),
        title: None,
        summary: content.chars().take(Memory::SUMMARY_CHARS).collect(),
        context: None,
        tags: Vec::new(),
        speaker: None,
        importance: 0.5,
        confidence: 0.8,
        source: Source::Observed,
        provenance: Vec::new(),
        session_id: None,
        task_id: None,
        user_id: "alice".to_owned(),
        agent_id: None,
        scope: scope.clone(),
        status: Status::Active,
        valid_from: None,
        valid_to: None,
        recorded_at: time,
        retired_at: None,
        occurred_at: time,
        expires_at: None,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        verification: None,
        revision: 1,
        content_hash: format!("hash of {n}"),
        terms: content.to_owned(),
        language: Language::English,
        spaces: Vec::new(),
        event: None,
    }
}

/// The `n`th change, decided in second `n`.
pub fn change(n: u64, ops: Vec<Op>) -> ChangeSet {
    ChangeSet {
        id: ChangeId(Uuid::from_u128(0x018b_cfe5_6800_7001_8000_0000_0000_0000 | u128::from(n))),
        at: at(i64::try_from(n).unwrap()),
        actor: "alice".to_owned(),
        use_case: "store".to_owned(),
        reason: None,
        ops,
        idempotency: None,
    }
}
