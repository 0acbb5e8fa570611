//! Our values in the words of Qdrant's gRPC, and back. Pure.
//!
//! What a filter means is said in `conditions`.

use std::collections::HashMap;

use jiff::Timestamp;
use qdrant_client::qdrant::{
    Condition, CreateFieldIndexCollection, DenseVector, FieldCondition, FieldType, Filter as ServerFilter,
    HasIdCondition, IntegerIndexParams, KeywordIndexParams, ListValue, Match, NamedVectors, PayloadIndexParams,
    PointId, PointStruct, PointsIdsList, PointsSelector, PointsUpdateOperation, Range, RepeatedStrings, RetrievedPoint,
    Struct, Value, Vector, Vectors, VectorsSelector,
    condition::ConditionOneOf,
    r#match::MatchValue,
    payload_index_params::IndexParams,
    point_id::PointIdOptions,
    points_selector::PointsSelectorOneOf,
    points_update_operation::{DeletePoints, DeleteVectors, Operation, OverwritePayload, PointStructList, SetPayload},
    value::Kind,
    vector_output, vectors,
};
use serde_json::{Map, Value as Json};
use uuid::Uuid;

use crate::{
    backends::conditions::{self, Bound, KEYWORDS, TIMES, VISIBILITY},
    domain::{Filter, IndexOp, MemoryId, Payload, Point, Visibility},
    ports::SpaceSpec,
};

/// What makes each filter field fast.
///
/// `visibility` is in every query and can cut the points down to a few: points are kept together by it, and links of the
/// graph are built for it alone. Servers that know nothing of either pass over the wish.
pub(super) fn field_indexes(collection: &str) -> impl Iterator<Item = CreateFieldIndexCollection> {
    let keywords = KEYWORDS.into_iter().map(|field| {
        let first = field == VISIBILITY;
        let params = KeywordIndexParams {
            is_tenant: first.then_some(true),
            enable_hnsw: Some(first),
            ..KeywordIndexParams::default()
        };
        (field, FieldType::Keyword, IndexParams::KeywordIndexParams(params))
    });
    let times = TIMES.into_iter().map(|field| {
        let params = IntegerIndexParams {
            lookup: Some(false),
            range: Some(true),
            enable_hnsw: Some(false),
            ..IntegerIndexParams::default()
        };
        (field, FieldType::Integer, IndexParams::IntegerIndexParams(params))
    });
    keywords.chain(times).map(move |(field, kind, params)| CreateFieldIndexCollection {
        collection_name: collection.to_owned(),
        wait: Some(true),
        field_name: field.to_owned(),
        field_type: Some(kind.into()),
        field_index_params: Some(PayloadIndexParams { index_params: Some(params) }),
        ..CreateFieldIndexCollection::default()
    })
}

/// Points to a request at most: a request is applied as a whole before it is answered.
const REQUEST_POINTS: usize = 256;

/// The operations as requests, in order.
pub(super) fn requests(
    ops: &[IndexOp],
    spaces: &[SpaceSpec],
) -> Result<Vec<Vec<PointsUpdateOperation>>, serde_json::Error> {
    let mut requests: Vec<Vec<PointsUpdateOperation>> = Vec::new();
    let mut room = 0;
    for run in ops.chunk_by(go_together).flat_map(|run| run.chunks(REQUEST_POINTS)) {
        if run.len() > room {
            requests.push(Vec::new());
            room = REQUEST_POINTS;
        }
        room -= run.len();
        let request = requests.last_mut().expect("one was made above");
        request.extend(operations(run, spaces)?.into_iter().map(|it| PointsUpdateOperation { operation: Some(it) }));
    }
    Ok(requests)
}

/// Whether two neighbours can be one operation of the server, which keeps the last of an id among upserts.
fn go_together(a: &IndexOp, b: &IndexOp) -> bool {
    match (a, b) {
        (IndexOp::Upsert(_), IndexOp::Upsert(_)) | (IndexOp::Delete { .. }, IndexOp::Delete { .. }) => true,
        (
            IndexOp::Retire { status, valid_to, retired_at, .. },
            IndexOp::Retire { status: other_status, valid_to: other_to, retired_at: other_at, .. },
        ) => (status, valid_to, retired_at) == (other_status, other_to, other_at),
        _ => false,
    }
}

/// A run that goes together.
fn operations(run: &[IndexOp], spaces: &[SpaceSpec]) -> Result<Vec<Operation>, serde_json::Error> {
    let mut points: HashMap<MemoryId, &Point> = HashMap::new();
    let mut ids = Vec::new();
    for op in run {
        match op {
            IndexOp::Upsert(point) => drop(points.insert(point.id, point)),
            IndexOp::Delete { id } | IndexOp::Retire { id, .. } | IndexOp::SetPayload { id, .. } => ids.push(*id),
        }
    }
    Ok(match &run[0] {
        IndexOp::Upsert(_) => upsert(&points, spaces)?,
        IndexOp::Delete { .. } => {
            vec![Operation::DeletePoints(DeletePoints { points: Some(these(ids)), ..DeletePoints::default() })]
        }
        // By a filter, since the server refuses to set fields of a point that it does not have.
        IndexOp::Retire { status, valid_to, retired_at, .. } => vec![Operation::SetPayload(SetPayload {
            payload: values(conditions::retirement(*status, *valid_to, *retired_at)),
            points_selector: Some(where_met([has_id(ids), condition(conditions::active())])),
            ..SetPayload::default()
        })],
        IndexOp::SetPayload { payload, .. } => vec![Operation::OverwritePayload(OverwritePayload {
            payload: values(conditions::fields(payload)?),
            points_selector: Some(where_met([has_id(ids)])),
            ..OverwritePayload::default()
        })],
    })
}

/// The points, and then the end of the vectors that they no longer have: a point that the server moves keeps those.
fn upsert(points: &HashMap<MemoryId, &Point>, spaces: &[SpaceSpec]) -> Result<Vec<Operation>, serde_json::Error> {
    let mut lacking: HashMap<Vec<String>, Vec<MemoryId>> = HashMap::new();
    for point in points.values() {
        let lacks = |space: &&SpaceSpec| point.vectors.iter().all(|named| named.space != space.name);
        let lacks: Vec<String> = spaces.iter().filter(lacks).map(|space| space.name.clone()).collect();
        if !lacks.is_empty() {
            lacking.entry(lacks).or_default().push(point.id);
        }
    }
    let list = points.values().map(|point| self::point(point)).collect::<Result<_, _>>()?;
    let upsert = Operation::Upsert(PointStructList { points: list, ..PointStructList::default() });
    let deletes = lacking.into_iter().map(|(names, ids)| {
        Operation::DeleteVectors(DeleteVectors {
            points_selector: Some(these(ids)),
            vectors: Some(VectorsSelector { names }),
            ..DeleteVectors::default()
        })
    });
    Ok([upsert].into_iter().chain(deletes).collect())
}

fn point(point: &Point) -> Result<PointStruct, serde_json::Error> {
    let named = point.vectors.iter().map(|named| (named.space.clone(), dense(named.vector.clone())));
    let vectors = NamedVectors { vectors: named.collect() };
    Ok(PointStruct {
        id: Some(point_id(point.id)),
        payload: values(conditions::fields(&point.payload)?),
        vectors: Some(Vectors { vectors_options: Some(vectors::VectorsOptions::Vectors(vectors)) }),
    })
}

#[expect(deprecated, reason = "servers before 1.16 know no other field, and later ones still read it")]
fn dense(data: Vec<f32>) -> Vector {
    Vector { data, ..Vector::default() }
}

/// The id of a point.
pub(super) fn point_id(id: MemoryId) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Uuid(id.0.to_string())) }
}

/// The memory of a point; `None` for a number, which we never write.
pub(super) fn memory_id(id: Option<PointId>) -> Option<MemoryId> {
    match id?.point_id_options? {
        PointIdOptions::Uuid(id) => Uuid::parse_str(&id).ok().map(MemoryId),
        PointIdOptions::Num(_) => None,
    }
}

/// The vector of this name, if the point has one.
pub(super) fn vector_back(point: &RetrievedPoint, space: &str) -> Option<Vec<f32>> {
    match point.vectors.as_ref()?.get_vector_by_name(space)? {
        vector_output::Vector::Dense(DenseVector { data }) => Some(data),
        vector_output::Vector::Sparse(_) | vector_output::Vector::MultiDense(_) => None,
    }
}

/// Points this reader may see; `None` sees all.
pub(super) fn seen(visibility: &Visibility) -> Option<ServerFilter> {
    conditions::seen(visibility).map(|seen| all_of([condition(seen)]))
}

/// [`Filter`] and visibility as one filter of the server, which compares times as `f64`: exact for whole seconds at any date
/// and for microseconds from 1684 to 2255, beyond which neighbouring microseconds of a filter fall together.
pub(super) fn filter(filter: &Filter, visibility: &Visibility) -> ServerFilter {
    all_of(conditions::conditions(filter, visibility).into_iter().map(condition))
}

fn condition(told: conditions::Condition) -> Condition {
    use conditions::Condition as Told;
    let one_of = match told {
        Told::Word { field, mut any } => {
            let matched = if any.len() == 1 {
                MatchValue::Keyword(any.remove(0))
            } else {
                MatchValue::Keywords(RepeatedStrings { strings: any })
            };
            let r#match = Some(Match { match_value: Some(matched) });
            ConditionOneOf::Field(FieldCondition { key: field.to_owned(), r#match, ..FieldCondition::default() })
        }
        Told::Time { field, bound } => {
            let number = |time: Timestamp| Some(time.as_microsecond() as f64);
            let mut range = Range::default();
            match bound {
                Bound::From(time) => range.gte = number(time),
                Bound::After(time) => range.gt = number(time),
                Bound::To(time) => range.lte = number(time),
                Bound::Before(time) => range.lt = number(time),
            }
            ConditionOneOf::Field(FieldCondition {
                key: field.to_owned(),
                range: Some(range),
                ..FieldCondition::default()
            })
        }
        Told::All(all) => ConditionOneOf::Filter(all_of(all.into_iter().map(condition))),
        Told::One(one) => {
            let should = one.into_iter().map(condition).collect();
            ConditionOneOf::Filter(ServerFilter { should, ..ServerFilter::default() })
        }
    };
    Condition { condition_one_of: Some(one_of) }
}

fn all_of(conditions: impl IntoIterator<Item = Condition>) -> ServerFilter {
    ServerFilter { must: conditions.into_iter().collect(), ..ServerFilter::default() }
}

fn has_id(ids: Vec<MemoryId>) -> Condition {
    let has_id = ids.into_iter().map(point_id).collect();
    Condition { condition_one_of: Some(ConditionOneOf::HasId(HasIdCondition { has_id })) }
}

fn where_met(conditions: impl IntoIterator<Item = Condition>) -> PointsSelector {
    PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Filter(all_of(conditions))) }
}

fn these(ids: Vec<MemoryId>) -> PointsSelector {
    let ids = ids.into_iter().map(point_id).collect();
    PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })) }
}

fn values(fields: Map<String, Json>) -> HashMap<String, Value> {
    fields.into_iter().map(|(name, value)| (name, self::value(value))).collect()
}

fn value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(flag) => Kind::BoolValue(flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Kind::IntegerValue(whole),
            None => Kind::DoubleValue(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Kind::StringValue(text),
        Json::Array(list) => Kind::ListValue(ListValue { values: list.into_iter().map(value).collect() }),
        Json::Object(fields) => Kind::StructValue(Struct { fields: values(fields) }),
    };
    Value { kind: Some(kind) }
}

/// The filter fields of a point.
pub(super) fn payload_back(fields: HashMap<String, Value>) -> Result<Payload, serde_json::Error> {
    conditions::payload(fields.into_iter().map(|(name, value)| (name, json(value))).collect())
}

fn json(value: Value) -> Json {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(flag)) => flag.into(),
        Some(Kind::IntegerValue(whole)) => whole.into(),
        Some(Kind::DoubleValue(number)) => number.into(),
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(json).collect(),
        Some(Kind::StructValue(fields)) => {
            fields.fields.into_iter().map(|(name, value)| (name, json(value))).collect::<Map<_, _>>().into()
        }
    }
}
