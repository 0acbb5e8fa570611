//! Our values in the engine's words, and back. Pure.
//!
//! To add a filter field: a field in `Payload`, a line in [`field_indexes`], a condition in [`filter`], and the same
//! condition in `exact::payload_matches`.

use jiff::Timestamp;
use qdrant_edge::{
    Condition, CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeVectorParams, FieldCondition,
    FieldIndexOperations, Filter as EngineFilter, HnswIndexConfig, IntegerIndexParams, JsonPath, KeywordIndexParams,
    Match, Payload as EnginePayload, PayloadFieldSchema, PayloadSchemaParams, PointId, PointStructPersisted, Range,
    UpdateOperation, VectorInternal, VectorPersisted, VectorStructInternal, VectorStructPersisted, WalOptions,
    external::{ordered_float::OrderedFloat, serde_json},
};

use crate::{
    domain::{Filter, MemoryId, Payload, Point, Status, Visibility},
    ports::SpaceSpec,
};

/// Size of one file of the engine's own log. The default of 32 MiB is a lot for a small memory.
const LOG_FILE_BYTES: usize = 8 << 20;

/// Stands for `i64::MAX` in the engine, as [`ALWAYS`] does for `i64::MIN`: its histograms subtract one time from another,
/// and overflow on the real ones. The year is about 75,000, far beyond what a timestamp can be.
const OPEN: i64 = 1 << 61;
const ALWAYS: i64 = -OPEN;

/// One shard: a named cosine vector for each space, HNSW above the engine's default size of 10 MB a space.
pub(super) fn config(spaces: &[SpaceSpec]) -> EdgeConfig {
    let vectors = spaces
        .iter()
        .map(|space| (space.name.clone(), EdgeVectorParams::builder(space.dimension, Distance::Cosine).build()))
        .collect();
    // Building takes half the cores at most, so that searches go on meanwhile.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let hnsw = HnswIndexConfig { max_indexing_threads: (cores / 2).max(1), ..HnswIndexConfig::default() };
    EdgeConfig::builder()
        .vectors(vectors)
        .hnsw_config(hnsw)
        .optimizers(EdgeOptimizersConfig::default())
        .wal_options(WalOptions { segment_capacity: LOG_FILE_BYTES, ..WalOptions::default() })
        .build()
}

/// What makes each filter field fast. Creating one that is there changes nothing.
///
/// Extra graph links are built for `visibility` alone: it is in every query and can cut the points down to a few.
pub(super) fn field_indexes() -> impl Iterator<Item = UpdateOperation> {
    const KEYWORDS: [&str; 8] =
        ["visibility", "status", "kind", "memory_type", "language", "tags", "session_id", "task_id"];
    const TIMES: [&str; 6] = ["occurred_at", "valid_from", "valid_to", "recorded_at", "retired_at", "expires_at"];
    let keywords = KEYWORDS.into_iter().map(|field| {
        let enable_hnsw = Some(field == "visibility");
        (field, PayloadSchemaParams::Keyword(KeywordIndexParams { enable_hnsw, ..KeywordIndexParams::default() }))
    });
    let times = TIMES.into_iter().map(|field| {
        let params = IntegerIndexParams {
            lookup: Some(false),
            range: Some(true),
            enable_hnsw: Some(false),
            ..IntegerIndexParams::default()
        };
        (field, PayloadSchemaParams::Integer(params))
    });
    keywords.chain(times).map(|(field, params)| {
        UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(CreateIndex {
            field_name: path(field),
            field_schema: Some(PayloadFieldSchema::FieldParams(params)),
        }))
    })
}

/// The id of a point.
pub(super) fn point_id(id: MemoryId) -> PointId {
    PointId::Uuid(id.0)
}

/// The memory of a point; `None` for a number, which we never write.
pub(super) fn memory_id(id: PointId) -> Option<MemoryId> {
    if let PointId::Uuid(id) = id { Some(MemoryId(id)) } else { None }
}

/// A whole point.
pub(super) fn point(point: &Point) -> Result<PointStructPersisted, serde_json::Error> {
    let vectors =
        point.vectors.iter().map(|named| (named.space.clone(), VectorPersisted::Dense(named.vector.clone()))).collect();
    Ok(PointStructPersisted {
        id: point_id(point.id),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(payload(&point.payload)?),
    })
}

/// Filter fields, each under its own name.
pub(super) fn payload(payload: &Payload) -> Result<EnginePayload, serde_json::Error> {
    let mut payload = payload.clone();
    open_times(&mut payload).into_iter().for_each(|time| *time = (*time).clamp(ALWAYS, OPEN));
    serde_json::from_value(serde_json::to_value(payload)?).map(EnginePayload)
}

/// The reverse of [`payload`].
pub(super) fn payload_back(payload: EnginePayload) -> Result<Payload, serde_json::Error> {
    let mut payload: Payload = serde_json::from_value(serde_json::Value::Object(payload.0))?;
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
pub(super) fn retirement(status: Status, valid_to: Option<i64>, retired_at: i64) -> EnginePayload {
    let mut fields = serde_json::Map::new();
    fields.insert("status".to_owned(), status.name().into());
    fields.insert("retired_at".to_owned(), retired_at.into());
    if let Some(valid_to) = valid_to {
        fields.insert("valid_to".to_owned(), valid_to.min(OPEN).into());
    }
    EnginePayload(fields)
}

/// The dense vector of this name among those the engine returned.
pub(super) fn vector_back(vectors: Option<VectorStructInternal>, space: &str) -> Option<Vec<f32>> {
    match vectors {
        Some(VectorStructInternal::Named(mut named)) => match named.remove(space) {
            Some(VectorInternal::Dense(vector)) => Some(vector),
            _ => None,
        },
        _ => None,
    }
}

/// This point.
pub(super) fn this(id: MemoryId) -> EngineFilter {
    EngineFilter::new().with_point_ids([point_id(id)])
}

/// Those of these points that are active.
pub(super) fn active_of(ids: impl IntoIterator<Item = MemoryId>) -> EngineFilter {
    EngineFilter::new_must(any_of("status", [Status::Active.name()])).with_point_ids(ids.into_iter().map(point_id))
}

/// Points this reader may see; `None` sees all.
pub(super) fn seen(visibility: &Visibility) -> Option<EngineFilter> {
    visibility.keys().map(|keys| EngineFilter::new_must(any_of("visibility", keys)))
}

/// [`Filter`] and visibility as one engine filter; has the meaning of `exact::payload_matches`.
///
/// The engine compares times as `f64`: exact for whole seconds at any date and for microseconds from 1684 to 2255,
/// beyond which neighbouring microseconds of a filter fall together.
pub(super) fn filter(filter: &Filter, visibility: &Visibility) -> EngineFilter {
    let superseded = filter.include_superseded || filter.as_of.world.is_some();
    let statuses = [Status::Active, Status::Superseded];
    let status = any_of("status", statuses[..if superseded { 2 } else { 1 }].iter().map(|it| it.name()));
    let retired_since = |at| {
        let retired = any_of("status", [Status::Superseded.name(), Status::Archived.name()]);
        all_of(vec![retired, time("retired_at", Edge::After(at))])
    };
    let known = filter.as_of.known;
    let mut must = vec![one_of(status, known.map(retired_since))];
    must.extend(visibility.keys().map(|keys| any_of("visibility", keys)));

    let mut any = |field, names: Vec<&str>| {
        if !names.is_empty() {
            must.push(any_of(field, names));
        }
    };
    any("kind", filter.kinds.iter().map(|it| it.name()).collect());
    any("memory_type", filter.types.iter().map(|it| it.name()).collect());
    any("tags", filter.tags.iter().map(String::as_str).collect());
    any("session_id", filter.session_id.iter().map(String::as_str).collect());
    any("task_id", filter.task_id.iter().map(String::as_str).collect());
    any("language", filter.language.iter().map(|it| it.name()).collect());

    must.extend(known.map(|at| time("recorded_at", Edge::To(at))));
    if let Some(at) = filter.as_of.world {
        must.push(time("valid_from", Edge::To(at)));
        must.push(one_of(time("valid_to", Edge::After(at)), known.map(retired_since)));
    }
    must.extend(filter.since.map(|since| time("occurred_at", Edge::From(since))));
    must.extend(filter.until.map(|until| time("occurred_at", Edge::Before(until))));
    must.extend(filter.now.map(|now| time("expires_at", Edge::After(now))));
    EngineFilter { must: Some(must), ..EngineFilter::new() }
}

fn all_of(conditions: Vec<Condition>) -> Condition {
    Condition::Filter(EngineFilter { must: Some(conditions), ..EngineFilter::new() })
}

fn one_of(condition: Condition, other: Option<Condition>) -> Condition {
    match other {
        None => condition,
        Some(other) => Condition::Filter(EngineFilter { should: Some(vec![condition, other]), ..EngineFilter::new() }),
    }
}

enum Edge {
    From(Timestamp),
    After(Timestamp),
    To(Timestamp),
    Before(Timestamp),
}

fn time(field: &'static str, edge: Edge) -> Condition {
    // The engine takes f64 only; see `filter` for what that means.
    let number = |time: Timestamp| Some(OrderedFloat(time.as_microsecond() as f64));
    let mut range = Range { lt: None, gt: None, gte: None, lte: None };
    match edge {
        Edge::From(time) => range.gte = number(time),
        Edge::After(time) => range.gt = number(time),
        Edge::To(time) => range.lte = number(time),
        Edge::Before(time) => range.lt = number(time),
    }
    Condition::Field(FieldCondition::new_range(path(field), range))
}

fn any_of<T: Into<String>>(field: &'static str, values: impl IntoIterator<Item = T>) -> Condition {
    let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
    // The engine hashes every point it has seen for a list, even of one.
    let matched = if values.len() == 1 { Match::from(values.remove(0)) } else { Match::from(values) };
    Condition::Field(FieldCondition::new_match(path(field), matched))
}

/// The path of a top-level field.
pub(super) fn path(field: &'static str) -> JsonPath {
    JsonPath::try_from(field).expect("field names are plain identifiers")
}
