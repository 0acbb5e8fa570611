//! What every [`VectorIndex`] promises: one body for each sentence, run on the exact one, on the embedded one, and on a
//! Qdrant server (see `support::qdrant`).
//!
//! To add an adapter: a module in `suite!` that makes an empty index with [`spaces`].

use std::{collections::HashMap, panic::AssertUnwindSafe, path::Path};

use futures::FutureExt;
use jiff::Timestamp;
use proptest::{
    collection::vec,
    option,
    prelude::{Just, Strategy, any},
    sample::{select, subsequence},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use recollect::{
    backends::{
        edge::EdgeIndex,
        exact::{ExactIndex, payload_matches},
        qdrant::QdrantIndex,
    },
    domain::{
        AsOf, Caller, Filter, IndexOp, Kind, Language, Memory, MemoryId, MemoryType, NamedVector, Payload, Point,
        Scope, Source, Status, Visibility,
    },
    ports::{PortErrorKind, Scored, SpaceSpec, VectorIndex, VectorQuery},
};
use uuid::Uuid;

use crate::support::qdrant::QdrantHome;

macro_rules! suite {
    ($($body:ident),+ $(,)?) => {
        mod exact {
            $(#[tokio::test]
            async fn $body() {
                super::$body(&super::ExactIndex::new(&super::spaces())).await;
            })+
        }
        mod edge {
            $(#[tokio::test]
            async fn $body() {
                let dir = tempfile::tempdir().unwrap();
                super::$body(&super::EdgeIndex::open(dir.path(), &super::spaces()).await.unwrap()).await;
            })+
        }
        mod qdrant {
            $(#[tokio::test]
            async fn $body() {
                super::on_qdrant(async |index| super::$body(index).await).await;
            })+
        }
    };
}

suite!(
    nearest_come_first_with_raw_cosines,
    equal_scores_are_in_the_order_of_ids_also_at_the_limit,
    what_is_not_visible_is_not_found_and_takes_no_place,
    each_filter_field_narrows,
    time_travel_sees_what_held_and_what_was_believed,
    a_memory_without_a_vector_in_the_space_is_not_found,
    the_later_operation_on_an_id_wins,
    a_replaced_point_loses_vectors_it_no_longer_has,
    retiring_changes_three_fields_of_an_active_point_once,
    operations_on_missing_points_leave_them_missing,
    setting_the_payload_keeps_the_vectors,
    vectors_and_payloads_are_given_for_visible_ids_only,
    ids_come_in_pages_in_ascending_order,
    a_rebuild_is_nothing_until_it_switches_and_then_everything,
    a_withdrawn_index_is_corrupt_until_a_rebuild_switches,
    a_vector_that_fits_no_space_is_a_mismatch_and_nothing_is_applied,
    no_limit_and_a_huge_limit_are_fine,
    payloads_come_back_as_they_were_given,
    flushing_and_optimising_change_no_answer,
);

fn spaces() -> Vec<SpaceSpec> {
    vec![SpaceSpec { name: "one".into(), dimension: 3 }, SpaceSpec { name: "two.window".into(), dimension: 2 }]
}

/// Runs `body` on an empty index of a Qdrant server, which is removed afterwards, whatever comes.
async fn on_qdrant(body: impl AsyncFnOnce(&QdrantIndex)) {
    let home = QdrantHome::new().await;
    let index = QdrantIndex::open(&home.url, &spaces(), &home.settings).await.unwrap();
    let done = AssertUnwindSafe(body(&index)).catch_unwind().await;
    home.remove().await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

async fn nearest_come_first_with_raw_cosines(index: &dyn VectorIndex) {
    put(index, [point(1, [1.0, 0.0, 0.0]), point(2, [0.6, 0.8, 0.0]), point(3, [-1.0, 0.0, 0.0])]).await;
    let found = search(index, &all(), Filter::default(), 10).await;
    assert_eq!(ids_of(&found), [1, 2, 3]);
    for (scored, expected) in found.iter().zip([1.0, 0.6, -1.0]) {
        assert!((scored.score - expected).abs() < 1e-5, "{scored:?}");
    }
}

async fn equal_scores_are_in_the_order_of_ids_also_at_the_limit(index: &dyn VectorIndex) {
    put(index, [9, 4, 7, 2, 8, 3, 6, 5].map(|n| point(n, [0.0, 1.0, 0.0]))).await;
    put(index, [point(1, [1.0, 0.0, 0.0])]).await;
    for limit in 1..=9 {
        let found = search(index, &all(), Filter::default(), limit).await;
        assert_eq!(ids_of(&found), (1..=limit as u128).collect::<Vec<_>>());
    }
}

async fn what_is_not_visible_is_not_found_and_takes_no_place(index: &dyn VectorIndex) {
    let mine = Scope::Private("ann".into());
    let near =
        (1..=20).map(|n| with(point(n, [1.0, 0.0, 0.0]), |it| it.visibility = Scope::Private("bob".into()).key()));
    put(index, near).await;
    put(index, [with(point(30, [0.0, 1.0, 0.0]), |it| it.visibility = mine.key()), point(31, [0.0, 0.0, 1.0])]).await;
    let ann = Caller::operator("ann").visibility();
    assert_eq!(ids_of(&search(index, &ann, Filter::default(), 2).await), [30, 31]);
    assert_eq!(ids_of(&search(index, &Visibility::only(&mine), Filter::default(), 5).await), [30]);
    assert!(search(index, &Visibility::only(&Scope::Shared("bob".into())), Filter::default(), 5).await.is_empty());
    assert_eq!(search(index, &all(), Filter::default(), 50).await.len(), 22);
}

async fn each_filter_field_narrows(index: &dyn VectorIndex) {
    let second = with(point(2, [0.9, 0.1, 0.0]), |it| {
        it.kind = Kind::Warning;
        it.memory_type = MemoryType::Constraint;
        it.language = Language::Other;
        it.tags = vec!["red".into(), "第二".into()];
        it.session_id = Some("s 2".into());
        it.task_id = Some("t\"2".into());
        it.occurred_at = at(200).as_microsecond();
        it.expires_at = at(500).as_microsecond();
    });
    put(index, [point(1, [1.0, 0.0, 0.0]), second]).await;
    let cases: Vec<(&str, Filter, &[u128])> = vec![
        ("nothing asked", Filter::default(), &[1, 2]),
        ("kind", Filter { kinds: vec![Kind::Warning, Kind::Working], ..Filter::default() }, &[2]),
        ("type", Filter { types: vec![MemoryType::Constraint], ..Filter::default() }, &[2]),
        ("any tag", Filter { tags: vec!["blue".into(), "第二".into()], ..Filter::default() }, &[2]),
        ("no such tag", Filter { tags: vec!["re".into()], ..Filter::default() }, &[]),
        ("session", Filter { session_id: Some("s 2".into()), ..Filter::default() }, &[2]),
        ("task", Filter { task_id: Some("t\"2".into()), ..Filter::default() }, &[2]),
        ("language", Filter { language: Some(Language::English), ..Filter::default() }, &[1]),
        ("since is inclusive", Filter { since: Some(at(200)), ..Filter::default() }, &[2]),
        ("until is exclusive", Filter { until: Some(at(200)), ..Filter::default() }, &[1]),
        ("not yet expired", Filter { now: Some(at(499)), ..Filter::default() }, &[1, 2]),
        ("expired at that moment", Filter { now: Some(at(500)), ..Filter::default() }, &[1]),
        ("both", Filter { kinds: vec![Kind::Warning], until: Some(at(200)), ..Filter::default() }, &[]),
    ];
    for (name, filter, expected) in cases {
        assert_eq!(ids_of(&search(index, &all(), filter, 10).await), expected, "{name}");
    }
}

async fn time_travel_sees_what_held_and_what_was_believed(index: &dyn VectorIndex) {
    let old = with(point(1, [1.0, 0.0, 0.0]), |it| {
        it.status = Status::Superseded;
        it.valid_from = at(100).as_microsecond();
        it.valid_to = at(200).as_microsecond();
        it.recorded_at = at(110).as_microsecond();
        it.retired_at = at(210).as_microsecond();
    });
    let new = with(point(2, [0.9, 0.1, 0.0]), |it| {
        it.valid_from = at(200).as_microsecond();
        it.recorded_at = at(210).as_microsecond();
    });
    let hidden =
        [Status::Archived, Status::Quarantined].map(|status| with(point(3, [1.0, 0.0, 0.0]), |it| it.status = status));
    put(index, [old, new]).await;
    put(index, hidden).await;
    let world = |time| Filter { as_of: AsOf { world: Some(at(time)), known: None }, ..Filter::default() };
    let known = |time| Filter { as_of: AsOf { world: None, known: Some(at(time)) }, ..Filter::default() };
    let cases: Vec<(&str, Filter, &[u128])> = vec![
        ("now", Filter::default(), &[2]),
        ("superseded asked for", Filter { include_superseded: true, ..Filter::default() }, &[1, 2]),
        ("before it held", world(99), &[]),
        ("from then, inclusive", world(100), &[1]),
        ("until then, exclusive", world(200), &[2]),
        ("before it was recorded", known(109), &[]),
        ("recorded at that moment", known(110), &[1]),
        ("retired at that moment", known(210), &[2]),
        ("retired, but asked for", Filter { include_superseded: true, ..known(210) }, &[1, 2]),
        (
            "both clocks: what one would have been told then of that time",
            Filter { as_of: AsOf { world: Some(at(150)), known: Some(at(220)) }, ..Filter::default() },
            &[1],
        ),
        (
            "an end that the retirement set was not known before it",
            Filter { as_of: AsOf { world: Some(at(205)), known: Some(at(209)) }, ..Filter::default() },
            &[1],
        ),
    ];
    for (name, filter, expected) in cases {
        assert_eq!(ids_of(&search(index, &all(), filter, 10).await), expected, "{name}");
    }
}

async fn a_memory_without_a_vector_in_the_space_is_not_found(index: &dyn VectorIndex) {
    let windowed = Point { vectors: vec![named("two.window", [1.0, 0.0])], ..point(2, [0.0; 3]) };
    put(index, [point(1, [1.0, 0.0, 0.0]), windowed]).await;
    assert_eq!(ids_of(&search(index, &all(), Filter::default(), 10).await), [1]);
    let query =
        VectorQuery { space: "two.window".into(), vector: vec![1.0, 0.0], filter: Filter::default(), limit: 10 };
    assert_eq!(ids_of(&index.search(&query, &all()).await.unwrap()), [2]);
}

async fn the_later_operation_on_an_id_wins(index: &dyn VectorIndex) {
    let upsert = |n, vector| IndexOp::Upsert(point(n, vector));
    let ops = [
        upsert(1, [1.0, 0.0, 0.0]),
        upsert(1, [0.0, 1.0, 0.0]),
        upsert(2, [1.0, 0.0, 0.0]),
        IndexOp::Delete { id: id(2) },
        upsert(3, [1.0, 0.0, 0.0]),
        IndexOp::Delete { id: id(3) },
        upsert(3, [0.0, 0.0, 1.0]),
    ];
    for _ in 0..2 {
        index.apply(&ops).await.unwrap();
        assert_eq!(index.count().await.unwrap(), 2);
        let vectors = index.vectors("one", &[id(1), id(2), id(3)], &all()).await.unwrap();
        assert_eq!(vectors, HashMap::from([(id(1), vec![0.0, 1.0, 0.0]), (id(3), vec![0.0, 0.0, 1.0])]));
    }
}

async fn a_replaced_point_loses_vectors_it_no_longer_has(index: &dyn VectorIndex) {
    let both =
        Point { vectors: vec![named("one", [1.0, 0.0, 0.0]), named("two.window", [0.0, 1.0])], ..point(1, [0.0; 3]) };
    put(index, [both]).await;
    put(index, [point(1, [0.0, 0.0, 1.0])]).await;
    assert!(index.vectors("two.window", &[id(1)], &all()).await.unwrap().is_empty());
    assert_eq!(index.vectors("one", &[id(1)], &all()).await.unwrap()[&id(1)], [0.0, 0.0, 1.0]);
}

async fn retiring_changes_three_fields_of_an_active_point_once(index: &dyn VectorIndex) {
    put(index, [point(1, [1.0, 0.0, 0.0]), point(2, [1.0, 0.0, 0.0])]).await;
    let retire = |n, status, valid_to, retired_at| IndexOp::Retire { id: id(n), status, valid_to, retired_at };
    let ops = [
        retire(1, Status::Superseded, Some(7), 8),
        retire(1, Status::Archived, Some(9), 10),
        retire(2, Status::Archived, None, 11),
    ];
    index.apply(&ops).await.unwrap();
    let payloads = index.payloads(&[id(1), id(2)], &all()).await.unwrap();
    let superseded = Payload { status: Status::Superseded, valid_to: 7, retired_at: 8, ..point(1, [0.0; 3]).payload };
    let archived = Payload { status: Status::Archived, retired_at: 11, ..point(2, [0.0; 3]).payload };
    assert_eq!(payloads, HashMap::from([(id(1), superseded), (id(2), archived)]));
    assert!(search(index, &all(), Filter::default(), 10).await.is_empty());
    assert_eq!(index.vectors("one", &[id(1), id(2)], &all()).await.unwrap().len(), 2);
}

async fn operations_on_missing_points_leave_them_missing(index: &dyn VectorIndex) {
    let ops = [
        IndexOp::Retire { id: id(1), status: Status::Archived, valid_to: None, retired_at: 1 },
        IndexOp::SetPayload { id: id(1), payload: point(1, [0.0; 3]).payload },
        IndexOp::Delete { id: id(1) },
    ];
    index.apply(&ops).await.unwrap();
    index.apply(&[]).await.unwrap();
    assert_eq!(index.count().await.unwrap(), 0);
}

async fn setting_the_payload_keeps_the_vectors(index: &dyn VectorIndex) {
    let before = with(point(1, [1.0, 0.0, 0.0]), |it| it.tags = vec!["old".into()]);
    put(index, [before]).await;
    let payload = with(point(1, [0.0; 3]), |it| it.session_id = Some("new".into())).payload;
    index.apply(&[IndexOp::SetPayload { id: id(1), payload: payload.clone() }]).await.unwrap();
    assert_eq!(index.payloads(&[id(1)], &all()).await.unwrap()[&id(1)], payload);
    let filter = Filter { session_id: Some("new".into()), ..Filter::default() };
    assert_eq!(ids_of(&search(index, &all(), filter, 1).await), [1]);
    let filter = Filter { tags: vec!["old".into()], ..Filter::default() };
    assert!(search(index, &all(), filter, 1).await.is_empty());
}

async fn vectors_and_payloads_are_given_for_visible_ids_only(index: &dyn VectorIndex) {
    let private = with(point(2, [0.0, 1.0, 0.0]), |it| it.visibility = Scope::Private("bob".into()).key());
    put(index, [point(1, [3.0, 4.0, 0.0]), private]).await;
    let (asked, ann) = ([id(1), id(2), id(9)], Caller::operator("ann").visibility());
    let vectors = index.vectors("one", &asked, &ann).await.unwrap();
    assert_eq!(vectors.keys().collect::<Vec<_>>(), [&id(1)]);
    assert!((vectors[&id(1)][0] - 0.6).abs() < 1e-6, "unit length");
    assert_eq!(index.payloads(&asked, &ann).await.unwrap().into_keys().collect::<Vec<_>>(), [id(1)]);
    assert_eq!(index.payloads(&asked, &all()).await.unwrap().len(), 2);
    assert!(index.payloads(&[], &all()).await.unwrap().is_empty());
}

async fn ids_come_in_pages_in_ascending_order(index: &dyn VectorIndex) {
    let archived = |n| with(point(n, [1.0, 0.0, 0.0]), |it| it.status = Status::Archived);
    put(index, [point(7, [1.0, 0.0, 0.0]), archived(3), point(u128::MAX, [1.0, 0.0, 0.0])]).await;
    put(index, [with(point(5, [1.0, 0.0, 0.0]), |it| it.visibility = Scope::Private("bob".into()).key())]).await;
    assert_eq!(index.ids(None, 2, &all()).await.unwrap(), [id(3), id(5)]);
    assert_eq!(index.ids(Some(id(5)), 9, &all()).await.unwrap(), [id(7), id(u128::MAX)]);
    assert_eq!(index.ids(Some(id(4)), 1, &all()).await.unwrap(), [id(5)]);
    assert!(index.ids(Some(id(u128::MAX)), 9, &all()).await.unwrap().is_empty());
    assert!(index.ids(None, 0, &all()).await.unwrap().is_empty());
    let ann = Caller::operator("ann").visibility();
    assert_eq!(index.ids(None, 9, &ann).await.unwrap(), [id(3), id(7), id(u128::MAX)]);
}

async fn a_rebuild_is_nothing_until_it_switches_and_then_everything(index: &dyn VectorIndex) {
    put(index, [point(1, [1.0, 0.0, 0.0]), point(2, [0.0, 1.0, 0.0])]).await;
    let upsert = |n| IndexOp::Upsert(point(n, [1.0, 0.0, 0.0]));
    let given_up = index.rebuild().await.unwrap();
    given_up.apply(&[upsert(9)]).await.unwrap();
    let beside = index.rebuild().await.unwrap();
    assert!(given_up.switch().await.is_err(), "the second took its right");
    drop(given_up);
    beside.apply(&[upsert(2), upsert(3), upsert(4), IndexOp::Delete { id: id(4) }]).await.unwrap();
    beside.optimize().await.unwrap();
    assert_eq!(ids_of(&search(index, &all(), Filter::default(), 10).await), [1, 2]);
    put(index, [point(5, [1.0, 0.0, 0.0])]).await;
    beside.switch().await.unwrap();
    assert_eq!(ids_of(&search(index, &all(), Filter::default(), 10).await), [2, 3]);
    drop(beside);
    put(index, [point(1, [1.0, 0.0, 0.0])]).await;
    index.flush().await.unwrap();
    assert_eq!(ids_of(&search(index, &all(), Filter::default(), 10).await), [1, 2, 3]);
    drop(index.rebuild().await.unwrap());
    assert_eq!(index.count().await.unwrap(), 3, "a rebuild that is dropped changes nothing");
}

async fn a_withdrawn_index_is_corrupt_until_a_rebuild_switches(index: &dyn VectorIndex) {
    put(index, [point(1, [1.0, 0.0, 0.0])]).await;
    index.withdraw().await;
    let query = VectorQuery { space: "one".into(), vector: vec![1.0; 3], filter: Filter::default(), limit: 1 };
    let failures = [
        index.apply(&[IndexOp::Delete { id: id(1) }]).await.err(),
        index.search(&query, &all()).await.err(),
        index.vectors("one", &[id(1)], &all()).await.err(),
        index.payloads(&[id(1)], &all()).await.err(),
        index.ids(None, 1, &all()).await.err(),
        index.count().await.err(),
        index.flush().await.err(),
    ];
    assert_eq!(failures.map(|error| error.map(|error| error.kind)), [Some(PortErrorKind::Corrupt); 7]);
    let beside = index.rebuild().await.unwrap();
    beside.apply(&[IndexOp::Upsert(point(2, [1.0, 0.0, 0.0]))]).await.unwrap();
    beside.switch().await.unwrap();
    assert_eq!(ids_of(&search(index, &all(), Filter::default(), 10).await), [2]);
}

async fn a_vector_that_fits_no_space_is_a_mismatch_and_nothing_is_applied(index: &dyn VectorIndex) {
    for vectors in [vec![named("one", [1.0, 0.0])], vec![named("three", [1.0, 0.0, 0.0])]] {
        let ops = [point(1, [1.0, 0.0, 0.0]), Point { vectors, ..point(2, [0.0; 3]) }].map(IndexOp::Upsert);
        assert_eq!(index.apply(&ops).await.unwrap_err().kind, PortErrorKind::Mismatch);
        assert_eq!(index.count().await.unwrap(), 0);
    }
    for (space, vector) in [("one", vec![1.0; 4]), ("three", vec![1.0; 3])] {
        let query = VectorQuery { space: space.into(), vector, filter: Filter::default(), limit: 1 };
        assert_eq!(index.search(&query, &all()).await.unwrap_err().kind, PortErrorKind::Mismatch);
    }
}

async fn no_limit_and_a_huge_limit_are_fine(index: &dyn VectorIndex) {
    assert!(search(index, &all(), Filter::default(), 5).await.is_empty());
    put(index, [point(1, [1.0, 0.0, 0.0]), point(2, [1.0, 0.0, 0.0])]).await;
    assert!(search(index, &all(), Filter::default(), 0).await.is_empty());
    for limit in [1_000_000_000, usize::MAX] {
        assert_eq!(ids_of(&search(index, &all(), Filter::default(), limit).await), [1, 2]);
        assert_eq!(index.ids(None, limit, &all()).await.unwrap().len(), 2);
    }
}

async fn payloads_come_back_as_they_were_given(index: &dyn VectorIndex) {
    let mut runner = TestRunner::deterministic();
    let memories: Vec<Memory> = draw(&mut runner, vec(memory(), 40));
    put(index, memories.iter().map(|memory| point_of(memory, [1.0, 0.0, 0.0]))).await;
    let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id).collect();
    let payloads = index.payloads(&ids, &all()).await.unwrap();
    for memory in &memories {
        assert_eq!(payloads[&memory.id], Payload::of(memory));
    }
}

async fn flushing_and_optimising_change_no_answer(index: &dyn VectorIndex) {
    put(index, (1..=50).map(|n| point(n, [n as f32, 1.0, 0.0]))).await;
    let before = search(index, &all(), Filter::default(), 50).await;
    index.flush().await.unwrap();
    index.optimize().await.unwrap();
    index.flush().await.unwrap();
    assert_eq!(search(index, &all(), Filter::default(), 50).await, before);
    assert_eq!(index.count().await.unwrap(), 50);
}

#[test]
fn a_filter_means_the_same_on_payloads_as_on_memories() {
    let mut runner = TestRunner::deterministic();
    let memories: Vec<Memory> = draw(&mut runner, vec(memory(), 300));
    let filters: Vec<Filter> = draw(&mut runner, vec(filter(), 300));
    let mut met = 0;
    for (memory, filter) in memories.iter().flat_map(|memory| filters.iter().map(move |filter| (memory, filter))) {
        assert_eq!(payload_matches(filter, &Payload::of(memory)), filter.matches(memory), "{filter:?} {memory:?}");
        met += usize::from(filter.matches(memory));
    }
    assert!(met > 1000, "the filters drawn must let some through: {met}");
}

#[tokio::test]
async fn edge_and_exact_agree_on_random_points_and_filters() {
    let dir = tempfile::tempdir().unwrap();
    agrees_with_exact(&EdgeIndex::open(dir.path(), &spaces()).await.unwrap()).await;
}

#[tokio::test]
async fn qdrant_and_exact_agree_on_random_points_and_filters() {
    on_qdrant(async |index| agrees_with_exact(index).await).await;
}

async fn agrees_with_exact(index: &dyn VectorIndex) {
    let mut runner = TestRunner::deterministic();
    let exact = ExactIndex::new(&spaces());
    let vector = [-1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0];
    let drawn = draw(&mut runner, vec((memory(), vector, any::<bool>()), 400));
    let points: Vec<IndexOp> = drawn
        .into_iter()
        .map(|(memory, vector, window)| {
            let mut point = point_of(&memory, vector);
            if window {
                point.vectors = vec![named("two.window", [vector[0], vector[1]])];
            }
            IndexOp::Upsert(point)
        })
        .collect();
    let readers = [all(), Caller::operator("ann").visibility(), Visibility::only(&Scope::Shared("team".into()))];
    let mut found_in_all = 0;
    for half in points.chunks(200) {
        index.apply(half).await.unwrap();
        exact.apply(half).await.unwrap();
        for filter in draw(&mut runner, vec(filter(), 150)) {
            for reader in &readers {
                let found = search(index, reader, filter.clone(), 1000).await;
                let expected = search(&exact, reader, filter.clone(), 1000).await;
                let scores: HashMap<MemoryId, f32> = found.iter().map(|it| (it.id, it.score)).collect();
                assert_eq!(found.len(), expected.len(), "{filter:?} {reader:?}");
                for scored in &expected {
                    assert!((scores[&scored.id] - scored.score).abs() < 1e-5, "{scored:?} {filter:?}");
                }
                found_in_all += found.len();
            }
        }
    }
    assert!(found_in_all > 1000, "the filters drawn must let some through: {found_in_all}");
}

#[tokio::test]
async fn edge_keeps_what_was_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(&dir.path().join("deep/vectors"), &spaces()).await.unwrap();
    put(&index, [point(1, [1.0, 0.0, 0.0]), point(2, [0.0, 1.0, 0.0])]).await;
    index.flush().await.unwrap();
    drop(index);
    let index = EdgeIndex::open(&dir.path().join("deep/vectors"), &spaces()).await.unwrap();
    assert_eq!(ids_of(&search(&index, &all(), Filter::default(), 5).await), [1, 2]);
    // Operation numbers go on: the engine would skip one that it had seen.
    put(&index, [point(1, [0.0, 0.0, 1.0])]).await;
    assert_eq!(index.vectors("one", &[id(1)], &all()).await.unwrap()[&id(1)], [0.0, 0.0, 1.0]);
}

#[tokio::test]
async fn edge_that_died_while_it_was_rebuilt_is_the_old_one_or_the_new_one_and_tidies_up() {
    let dir = tempfile::tempdir().unwrap();
    let folders = || {
        let entries = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap());
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let index = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
    put(&index, [point(1, [1.0, 0.0, 0.0])]).await;
    index.flush().await.unwrap();
    let beside = index.rebuild().await.unwrap();
    beside.apply(&[IndexOp::Upsert(point(2, [1.0, 0.0, 0.0]))]).await.unwrap();
    assert_eq!(folders(), ["shard", "shard-1"]);
    // As after a kill: nobody removes what was begun.
    let copied = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("cp").arg("-r").arg(dir.path()).arg(copied.path().join("v")).status();
    assert!(status.unwrap().success());
    let old = EdgeIndex::open(&copied.path().join("v"), &spaces()).await.unwrap();
    assert_eq!(ids_of(&search(&old, &all(), Filter::default(), 5).await), [1]);
    assert!(!copied.path().join("v/shard-1").exists());
    beside.switch().await.unwrap();
    drop(beside);
    assert_eq!(folders(), ["shard-1"]);
    drop(index);
    let index = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
    assert_eq!(ids_of(&search(&index, &all(), Filter::default(), 5).await), [2]);
    drop(index.rebuild().await.unwrap());
    assert_eq!(folders(), ["shard-1"], "given up, it goes");
}

#[tokio::test]
async fn edge_of_before_there_were_two_shards_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
    put(&index, [point(1, [1.0, 0.0, 0.0])]).await;
    index.flush().await.unwrap();
    drop(index);
    let manifest = dir.path().join("spaces.json");
    let named: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    assert_eq!(named["shard"], "shard");
    std::fs::write(&manifest, named["spaces"].to_string()).unwrap();
    let index = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
    assert_eq!(ids_of(&search(&index, &all(), Filter::default(), 5).await), [1]);
}

#[tokio::test]
async fn edge_made_for_other_spaces_is_a_mismatch_that_names_both() {
    let dir = tempfile::tempdir().unwrap();
    drop(EdgeIndex::open(dir.path(), &spaces()).await.unwrap());
    let mut turned = spaces();
    turned.reverse();
    drop(EdgeIndex::open(dir.path(), &turned).await.expect("the order of spaces says nothing"));
    let other = [SpaceSpec { name: "one".into(), dimension: 4 }];
    let error = EdgeIndex::open(dir.path(), &other).await.err().unwrap();
    assert_eq!(error.kind, PortErrorKind::Mismatch);
    let text = error.source.unwrap().to_string();
    assert!(text.contains("one (3), two.window (2)") && text.contains("one (4)"), "{text}");
}

#[tokio::test]
async fn edge_opened_twice_is_unavailable() {
    let dir = tempfile::tempdir().unwrap();
    let _first = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
    assert_eq!(EdgeIndex::open(dir.path(), &spaces()).await.err().unwrap().kind, PortErrorKind::Unavailable);
    let withdrawn = EdgeIndex::open_withdrawn(dir.path(), &spaces()).await;
    assert_eq!(withdrawn.err().unwrap().kind, PortErrorKind::Unavailable);
}

#[tokio::test]
async fn edge_that_lost_a_part_is_corrupt_and_can_be_made_again() {
    fn emptied(path: &Path) {
        std::fs::remove_dir_all(path).unwrap();
        std::fs::create_dir(path).unwrap();
    }
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("no list of spaces", |dir| std::fs::remove_file(dir.join("spaces.json")).unwrap()),
        ("list of spaces cut", |dir| std::fs::write(dir.join("spaces.json"), "[{\"name\":\"one\"").unwrap()),
        ("no shard", |dir| std::fs::remove_dir_all(dir.join("shard")).unwrap()),
        ("no segments", |dir| emptied(&dir.join("shard/segments"))),
        ("segment state cut", |dir| {
            for segment in std::fs::read_dir(dir.join("shard/segments")).unwrap() {
                std::fs::write(segment.unwrap().path().join("segment.json"), "{\"ver").unwrap();
            }
        }),
        ("segment files gone", |dir| {
            for segment in std::fs::read_dir(dir.join("shard/segments")).unwrap() {
                for part in std::fs::read_dir(segment.unwrap().path()).unwrap() {
                    let part = part.unwrap().path();
                    if part.is_dir() {
                        std::fs::remove_dir_all(part).unwrap();
                    }
                }
            }
        }),
    ];
    for (name, damage) in damages {
        let dir = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
        put(&index, [point(1, [1.0, 0.0, 0.0])]).await;
        index.flush().await.unwrap();
        drop(index);
        damage(dir.path());
        let error = EdgeIndex::open(dir.path(), &spaces()).await.err().unwrap_or_else(|| panic!("{name}: opened"));
        assert_eq!(error.kind, PortErrorKind::Corrupt, "{name}: {error:?}");
        let index = EdgeIndex::open_withdrawn(dir.path(), &spaces()).await.unwrap();
        assert_eq!(index.count().await.unwrap_err().kind, PortErrorKind::Corrupt, "{name}");
        let beside = index.rebuild().await.unwrap();
        beside.apply(&[IndexOp::Upsert(point(1, [1.0, 0.0, 0.0]))]).await.unwrap();
        beside.switch().await.unwrap();
        drop((beside, index));
        let index = EdgeIndex::open(dir.path(), &spaces()).await.unwrap();
        assert_eq!(ids_of(&search(&index, &all(), Filter::default(), 5).await), [1], "{name}");
    }
}

pub(super) fn all() -> Visibility {
    Visibility::system("test")
}

pub(super) fn id(n: u128) -> MemoryId {
    MemoryId(Uuid::from_u128(n))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn named<const N: usize>(space: &str, vector: [f32; N]) -> NamedVector {
    NamedVector { space: space.into(), vector: vector.to_vec() }
}

pub(super) fn point(n: u128, vector: [f32; 3]) -> Point {
    let payload = Payload {
        visibility: Scope::Global.key(),
        status: Status::Active,
        kind: Kind::Semantic,
        memory_type: MemoryType::Fact,
        language: Language::English,
        tags: Vec::new(),
        session_id: None,
        task_id: None,
        occurred_at: at(100).as_microsecond(),
        valid_from: i64::MIN,
        valid_to: i64::MAX,
        recorded_at: at(100).as_microsecond(),
        retired_at: i64::MAX,
        expires_at: i64::MAX,
    };
    Point { id: id(n), vectors: vec![named("one", vector)], payload }
}

fn with(mut point: Point, change: impl FnOnce(&mut Payload)) -> Point {
    change(&mut point.payload);
    point
}

fn point_of(memory: &Memory, vector: [f32; 3]) -> Point {
    Point { id: memory.id, vectors: vec![named("one", vector)], payload: Payload::of(memory) }
}

async fn put(index: &dyn VectorIndex, points: impl IntoIterator<Item = Point>) {
    let ops: Vec<IndexOp> = points.into_iter().map(IndexOp::Upsert).collect();
    index.apply(&ops).await.unwrap();
}

/// Searches the first space from `[1, 0, 0]`.
async fn search(index: &dyn VectorIndex, visibility: &Visibility, filter: Filter, limit: usize) -> Vec<Scored> {
    let query = VectorQuery { space: "one".into(), vector: vec![1.0, 0.0, 0.0], filter, limit };
    index.search(&query, visibility).await.unwrap()
}

fn ids_of(found: &[Scored]) -> Vec<u128> {
    found.iter().map(|scored| scored.id.0.as_u128()).collect()
}

fn draw<S: Strategy>(runner: &mut TestRunner, strategy: S) -> S::Value {
    strategy.new_tree(runner).unwrap().current()
}

/// Few values, so that filters and memories meet; some at the far ends of time, some a microsecond apart.
fn time() -> impl Strategy<Value = Timestamp> {
    let near = (0i64..40).prop_map(|n| Timestamp::from_microsecond(1_700_000_000_000_000 + n).unwrap());
    let far = select(vec![at(-62_135_596_800), at(-15_000_000_000), at(0), at(253_402_000_000)]);
    proptest::prop_oneof![6 => near, 1 => far]
}

fn text() -> impl Strategy<Value = String> {
    select(["a", "b", "", "A", "a b", "第一", "x\u{0}y", "\"quoted\"", "🦀"].map(String::from).to_vec())
}

fn scope() -> impl Strategy<Value = Scope> {
    select(vec![
        Scope::Global,
        Scope::Private("ann".into()),
        Scope::Private("bob".into()),
        Scope::Shared("team".into()),
        Scope::Shared("ann".into()),
    ])
}

fn memory() -> impl Strategy<Value = Memory> {
    let kinds = (select(Kind::ALL), select(MemoryType::ALL), select(Status::ALL), select(Language::ALL), scope());
    let names = (vec(text(), 0..4), option::of(text()), option::of(text()));
    let times = (time(), time(), option::of(time()), option::of(time()), option::of(time()), option::of(time()));
    (any::<u128>(), kinds, names, times).prop_map(|(id, kinds, names, times)| Memory {
        id: MemoryId(Uuid::from_u128(id)),
        external_id: None,
        kind: kinds.0,
        memory_type: kinds.1,
        content: "text".into(),
        title: None,
        summary: String::new(),
        context: None,
        tags: names.0,
        speaker: None,
        importance: 0.5,
        confidence: 0.5,
        source: Source::Observed,
        provenance: Vec::new(),
        session_id: names.1,
        task_id: names.2,
        user_id: "ann".into(),
        agent_id: None,
        scope: kinds.4,
        status: kinds.2,
        valid_from: times.2,
        valid_to: times.3,
        recorded_at: times.0,
        retired_at: times.4,
        occurred_at: times.1,
        expires_at: times.5,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        verification: None,
        revision: 1,
        content_hash: String::new(),
        terms: String::new(),
        language: kinds.3,
        spaces: vec!["one".into()],
        event: None,
    })
}

/// Each field is mostly left open, or too little would match.
fn filter() -> impl Strategy<Value = Filter> {
    fn rarely<S: Strategy + 'static>(strategy: S) -> impl Strategy<Value = Option<S::Value>>
    where
        S::Value: Clone,
    {
        proptest::prop_oneof![4 => Just(None), 1 => strategy.prop_map(Some)]
    }
    let lists = (
        rarely(subsequence(Kind::ALL, 1..=3)),
        rarely(subsequence(MemoryType::ALL, 1..=6)),
        rarely(vec(text(), 1..4)),
        rarely(text()),
        rarely(text()),
        rarely(select(Language::ALL)),
    );
    let times = (rarely(time()), rarely(time()), rarely(time()), rarely(time()), rarely(time()));
    (lists, times, any::<bool>()).prop_map(|(lists, times, include_superseded)| Filter {
        kinds: lists.0.unwrap_or_default(),
        types: lists.1.unwrap_or_default(),
        tags: lists.2.unwrap_or_default(),
        session_id: lists.3,
        task_id: lists.4,
        since: times.0,
        until: times.1,
        language: lists.5,
        include_superseded,
        now: times.2,
        as_of: AsOf { world: times.3, known: times.4 },
    })
}
