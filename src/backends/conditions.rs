//! The filter fields of a point, and what a [`Filter`] asks of them, in words that every engine of Qdrant's kind can be told.
//!
//! Pure; the engine in this process and the server translate these few words each into their own. To add a filter field: a
//! field in `Payload`, a name in [`KEYWORDS`] or [`TIMES`], a condition in [`conditions`], and the same condition in
//! `exact::payload_matches`.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::domain::{Filter, Payload, Status, Visibility};

/// In every query, and able to cut the points down to a few.
pub(super) const VISIBILITY: &str = "visibility";
/// Fields that hold words, one or several.
pub(super) const KEYWORDS: [&str; 8] =
    [VISIBILITY, "status", "kind", "memory_type", "language", "tags", "session_id", "task_id"];
/// Fields that hold microseconds since 1970.
pub(super) const TIMES: [&str; 6] =
    ["occurred_at", "valid_from", "valid_to", "recorded_at", "retired_at", "expires_at"];

/// Stands for `i64::MAX` in the engine, as [`ALWAYS`] does for `i64::MIN`: its histograms subtract one time from another,
/// and overflow on the real ones. The year is about 75,000, far beyond what a timestamp can be.
const OPEN: i64 = 1 << 61;
const ALWAYS: i64 = -OPEN;

/// What a point must meet.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    /// The field has one of these words; there is at least one.
    Word { field: &'static str, any: Vec<String> },
    /// The field is within the bound.
    Time { field: &'static str, bound: Bound },
    /// It meets them all.
    All(Vec<Condition>),
    /// It meets at least one.
    One(Vec<Condition>),
}

/// One end of a time range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    From(Timestamp),
    After(Timestamp),
    To(Timestamp),
    Before(Timestamp),
}

/// Filter fields, each under its own name.
pub(super) fn fields(payload: &Payload) -> Result<Map<String, Value>, serde_json::Error> {
    let mut payload = payload.clone();
    open_times(&mut payload).into_iter().for_each(|time| *time = (*time).clamp(ALWAYS, OPEN));
    serde_json::from_value(serde_json::to_value(payload)?)
}

/// The reverse of [`fields`].
pub(super) fn payload(fields: Map<String, Value>) -> Result<Payload, serde_json::Error> {
    let mut payload: Payload = serde_json::from_value(Value::Object(fields))?;
    for time in open_times(&mut payload) {
        *time = match *time {
            ALWAYS => i64::MIN,
            OPEN => i64::MAX,
            closed => closed,
        };
    }
    Ok(payload)
}

fn open_times(payload: &mut Payload) -> [&mut i64; 4] {
    let Payload { valid_from, valid_to, retired_at, expires_at, .. } = payload;
    [valid_from, valid_to, retired_at, expires_at]
}

/// The fields a retirement sets.
pub(super) fn retirement(status: Status, valid_to: Option<i64>, retired_at: i64) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("status".to_owned(), status.name().into());
    fields.insert("retired_at".to_owned(), retired_at.into());
    if let Some(valid_to) = valid_to {
        fields.insert("valid_to".to_owned(), valid_to.min(OPEN).into());
    }
    fields
}

/// The point is active.
pub(super) fn active() -> Condition {
    word("status", [Status::Active.name()])
}

/// This reader may see the point; `None` sees all.
pub(super) fn seen(visibility: &Visibility) -> Option<Condition> {
    visibility.keys().map(|keys| word(VISIBILITY, keys))
}

/// [`Filter`] and visibility; a point must meet all of these, which have the meaning of `exact::payload_matches`.
pub(super) fn conditions(filter: &Filter, visibility: &Visibility) -> Vec<Condition> {
    let superseded = filter.include_superseded || filter.as_of.world.is_some();
    let statuses = [Status::Active, Status::Superseded];
    let status = word("status", statuses[..if superseded { 2 } else { 1 }].iter().map(|it| it.name()));
    let known = filter.as_of.known;
    let retired_since = |at| {
        let retired = word("status", [Status::Superseded.name(), Status::Archived.name()]);
        Condition::All(vec![retired, time("retired_at", Bound::After(at))])
    };
    let or_retired_since = |condition| match known {
        None => condition,
        Some(at) => Condition::One(vec![condition, retired_since(at)]),
    };
    let mut must = vec![or_retired_since(status)];
    must.extend(seen(visibility));

    let mut any = |field, names: Vec<&str>| {
        if !names.is_empty() {
            must.push(word(field, names));
        }
    };
    any("kind", filter.kinds.iter().map(|it| it.name()).collect());
    any("memory_type", filter.types.iter().map(|it| it.name()).collect());
    any("tags", filter.tags.iter().map(String::as_str).collect());
    any("session_id", filter.session_id.iter().map(String::as_str).collect());
    any("task_id", filter.task_id.iter().map(String::as_str).collect());
    any("language", filter.language.iter().map(|it| it.name()).collect());

    must.extend(known.map(|at| time("recorded_at", Bound::To(at))));
    if let Some(at) = filter.as_of.world {
        must.push(time("valid_from", Bound::To(at)));
        must.push(or_retired_since(time("valid_to", Bound::After(at))));
    }
    must.extend(filter.since.map(|since| time("occurred_at", Bound::From(since))));
    must.extend(filter.until.map(|until| time("occurred_at", Bound::Before(until))));
    must.extend(filter.now.map(|now| time("expires_at", Bound::After(now))));
    must
}

fn time(field: &'static str, bound: Bound) -> Condition {
    Condition::Time { field, bound }
}

fn word<T: Into<String>>(field: &'static str, any: impl IntoIterator<Item = T>) -> Condition {
    Condition::Word { field, any: any.into_iter().map(Into::into).collect() }
}
