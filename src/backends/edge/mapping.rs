//! Our values in the engine's words, and back. Pure.
//!
//! What a filter means is said in `conditions`.

use jiff::Timestamp;
use qdrant_edge::{
    Condition, CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeVectorParams, FieldCondition,
    FieldIndexOperations, Filter as EngineFilter, HnswIndexConfig, IntegerIndexParams, JsonPath, KeywordIndexParams,
    Match, Payload as EnginePayload, PayloadFieldSchema, PayloadSchemaParams, PointId, PointStructPersisted, Range,
    UpdateOperation, VectorInternal, VectorPersisted, VectorStructInternal, VectorStructPersisted, WalOptions,
    external::{ordered_float::OrderedFloat, serde_json},
};

use crate::{
    backends::conditions::{self, KEYWORDS, TIMES, VISIBILITY},
    domain::{Filter, MemoryId, Payload, Point, Visibility},
    ports::SpaceSpec,
};

/// Size of one file of the engine's own log. The default of 32 MiB is a lot for a small memory.
const LOG_FILE_BYTES: usize = 8 << 20;

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
    let keywords = KEYWORDS.into_iter().map(|field| {
        let enable_hnsw = Some(field == VISIBILITY);
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

/// Filter fields as the engine holds them.
pub(super) fn payload(payload: &Payload) -> Result<EnginePayload, serde_json::Error> {
    conditions::fields(payload).map(EnginePayload)
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
    all_of([conditions::active()]).with_point_ids(ids.into_iter().map(point_id))
}

/// Points this reader may see; `None` sees all.
pub(super) fn seen(visibility: &Visibility) -> Option<EngineFilter> {
    conditions::seen(visibility).map(|seen| all_of([seen]))
}

/// [`Filter`] and visibility as one engine filter.
///
/// The engine compares times as `f64`: exact for whole seconds at any date and for microseconds from 1684 to 2255,
/// beyond which neighbouring microseconds of a filter fall together.
pub(super) fn filter(filter: &Filter, visibility: &Visibility) -> EngineFilter {
    all_of(conditions::conditions(filter, visibility))
}

fn all_of(conditions: impl IntoIterator<Item = conditions::Condition>) -> EngineFilter {
    EngineFilter { must: Some(conditions.into_iter().map(condition).collect()), ..EngineFilter::new() }
}

fn condition(told: conditions::Condition) -> Condition {
    use conditions::{Bound, Condition as Told};
    match told {
        Told::Word { field, mut any } => {
            // The engine hashes every point it has seen for a list, even of one.
            let matched = if any.len() == 1 { Match::from(any.remove(0)) } else { Match::from(any) };
            Condition::Field(FieldCondition::new_match(path(field), matched))
        }
        Told::Time { field, bound } => {
            // The engine takes f64 only; see `filter` for what that means.
            let number = |time: Timestamp| Some(OrderedFloat(time.as_microsecond() as f64));
            let mut range = Range { lt: None, gt: None, gte: None, lte: None };
            match bound {
                Bound::From(time) => range.gte = number(time),
                Bound::After(time) => range.gt = number(time),
                Bound::To(time) => range.lte = number(time),
                Bound::Before(time) => range.lt = number(time),
            }
            Condition::Field(FieldCondition::new_range(path(field), range))
        }
        Told::All(all) => Condition::Filter(all_of(all)),
        Told::One(one) => {
            let should = Some(one.into_iter().map(condition).collect());
            Condition::Filter(EngineFilter { should, ..EngineFilter::new() })
        }
    }
}

/// The path of a top-level field.
fn path(field: &'static str) -> JsonPath {
    JsonPath::try_from(field).expect("field names are plain identifiers")
}
