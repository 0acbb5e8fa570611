//! The doctor finds and repairs each kind of difference; a reindex makes the same index from nothing.

use std::sync::{Arc, atomic::Ordering};

use recollect::{
    domain::{IndexOp, Memory, MemoryId, NamedVector, Status, Visibility},
    jobs::{DoctorReport, Drain, DrainSettings, Revector, doctor, reindex, reindex_was_interrupted},
    ports::{PortError, PortErrorKind, VectorIndex},
};

use super::fakes::{FakeGraph, FakeIndex, FakeRevector, id, memory, point_of};

struct House {
    graph: Arc<FakeGraph>,
    index: Arc<FakeIndex>,
    drain: Arc<Drain>,
    revector: FakeRevector,
}

impl House {
    /// Memories 1 to 600 in both stores: more than two pages.
    async fn sound() -> Self {
        let (graph, index): (Arc<FakeGraph>, _) = (Arc::default(), Arc::new(FakeIndex::new()));
        (1..=600).for_each(|n| graph.store(memory(n)));
        let drain = Drain::new(Arc::clone(&graph) as _, Arc::clone(&index) as _, DrainSettings::default());
        let drain = Arc::new(drain);
        drain.catch_up().await.unwrap();
        Self { graph, index, drain, revector: FakeRevector::default() }
    }

    async fn doctor(&self, repair: bool) -> DoctorReport {
        doctor(&*self.graph, &*self.index, &self.drain, &self.revector, repair).await.unwrap()
    }

    async fn index_behind_our_back(&self, op: IndexOp) {
        self.index.apply(&[op]).await.unwrap();
    }
}

#[tokio::test]
async fn a_sound_house_is_found_sound_and_rows_on_their_way_are_no_difference() {
    let house = House::sound().await;
    assert!(house.doctor(false).await.ok());
    house.graph.store(memory(700));
    house.graph.write([IndexOp::Delete { id: id(5) }]);
    house.graph.memories.lock().unwrap().remove(&id(5));
    assert_eq!(house.doctor(false).await, DoctorReport::default());
    assert_eq!(house.index.applied.lock().unwrap().len(), 2, "they were drained");
}

#[tokio::test]
async fn each_kind_of_difference_is_counted_then_repaired() {
    let house = House::sound().await;
    house.index_behind_our_back(IndexOp::Delete { id: id(10) }).await;
    let mut half = point_of(&memory(20));
    half.vectors.pop();
    house.index_behind_our_back(IndexOp::Upsert(half)).await;
    house.index_behind_our_back(IndexOp::Upsert(point_of(&memory(900)))).await;
    house
        .index_behind_our_back(IndexOp::Retire {
            id: id(599),
            status: Status::Superseded,
            valid_to: None,
            retired_at: 1,
        })
        .await;
    {
        let mut memories = house.graph.memories.lock().unwrap();
        let mut quarantined = memory(30);
        (quarantined.status, quarantined.spaces) = (Status::Quarantined, Vec::new());
        memories.insert(id(30), quarantined);
        // An archived memory may have a point or not.
        let mut archived = memory(901);
        archived.status = Status::Archived;
        memories.insert(id(901), archived);
    }
    house.graph.half_links.store(2, Ordering::SeqCst);
    let found = DoctorReport { missing: 2, orphan: 2, stale: 1, half_links: 2 };
    let before = house.index.points().await;
    assert_eq!(house.doctor(false).await, found);
    assert_eq!(house.index.points().await, before, "looking changes nothing");
    assert_eq!(house.doctor(true).await, found);
    assert_eq!(house.revector.embedded.load(Ordering::SeqCst), 2, "only what is missing is embedded again");
    assert!(house.doctor(false).await.ok());
    assert_eq!(house.index.after_a_crash().await.points().await, house.index.points().await, "the repair is durable");
}

impl House {
    async fn reindex(&self) -> Result<usize, PortError> {
        reindex(&*self.graph, &self.drain, &self.revector, |_, _| {}).await
    }
}

#[tokio::test]
async fn a_reindex_builds_what_recall_can_look_for_and_reports_progress() {
    let house = House::sound().await;
    {
        let mut memories = house.graph.memories.lock().unwrap();
        memories.get_mut(&id(7)).unwrap().status = Status::Superseded;
        memories.get_mut(&id(8)).unwrap().status = Status::Archived;
        memories.get_mut(&id(9)).unwrap().spaces.clear();
    }
    house.index_behind_our_back(IndexOp::Upsert(point_of(&memory(900)))).await;
    let mut seen = Vec::new();
    let progress = |done, total| seen.push((done, total));
    let written = reindex(&*house.graph, &house.drain, &house.revector, progress).await.unwrap();
    assert_eq!((written, house.index.count().await.unwrap()), (598, 598));
    assert_eq!(seen, [(256, 600), (512, 600), (600, 600)]);
    assert_eq!(house.graph.pending(), 0);
    assert!(house.doctor(false).await.ok());
    let all = Visibility::system("test");
    assert!(house.index.payloads(&[id(8), id(9), id(900)], &all).await.unwrap().is_empty());
    assert!(!reindex_was_interrupted(&*house.graph).await.unwrap());
    assert_eq!(house.index.after_a_crash().await.count().await.unwrap(), 598);
}

#[tokio::test]
async fn what_is_written_during_a_reindex_is_in_the_index_that_serves_before_and_after_it() {
    let house = House::sound().await;
    let (graph, drain) = (house.graph.clone(), house.drain.clone());
    *house.revector.meanwhile.lock().unwrap() = Some(Box::new(move || {
        // Of the page that is being embedded, of one to come, and new.
        let mut changed = memory(3);
        changed.tags = vec!["changed".into()];
        graph.store(changed);
        for forgotten in [id(4), id(500)] {
            graph.memories.lock().unwrap().remove(&forgotten);
            graph.write([IndexOp::Delete { id: forgotten }]);
        }
        graph.memories.lock().unwrap().get_mut(&id(5)).unwrap().status = Status::Superseded;
        graph.memories.lock().unwrap().get_mut(&id(5)).unwrap().retired_at = Some(jiff::Timestamp::UNIX_EPOCH);
        graph.write([IndexOp::Retire { id: id(5), status: Status::Superseded, valid_to: None, retired_at: 0 }]);
        graph.store(memory(700));
        drain.wake();
    }));
    let serving = house.index.clone();
    let mut before = None;
    let written = reindex(&*house.graph, &house.drain, &house.revector, |done, _| {
        if done == 256 {
            before = Some(futures::executor::block_on(serving.points()));
        }
    });
    written.await.unwrap();
    let before = before.unwrap();
    assert_eq!(before.len(), 599, "the old one serves, with what was written: two forgotten, one new");
    assert_eq!(house.index.points().await, before);
    assert_eq!(house.index.after_a_crash().await.points().await, before);
    assert!(house.doctor(false).await.ok());
}

#[tokio::test]
async fn a_reindex_that_fails_half_way_changes_nothing() {
    let house = House::sound().await;
    let before = house.index.points().await;
    house.index_behind_our_back(IndexOp::Delete { id: id(10) }).await;
    *house.revector.meanwhile.lock().unwrap() = Some(Box::new({
        let graph = house.graph.clone();
        move || graph.store(memory(700))
    }));
    let failing = Failing(&house.revector);
    assert!(reindex(&*house.graph, &house.drain, &failing, |_, _| {}).await.is_err());
    house.drain.catch_up().await.unwrap();
    assert_eq!(house.index.count().await.unwrap(), before.len(), "one is gone, one has come");
    assert!(!reindex_was_interrupted(&*house.graph).await.unwrap());
    house.reindex().await.unwrap();
    assert!(house.doctor(false).await.ok());
}

#[tokio::test]
async fn a_withdrawn_index_answers_nothing_until_a_reindex_has_switched() {
    let house = House::sound().await;
    house.drain.catch_up().await.unwrap();
    house.index.withdraw().await;
    let all = Visibility::system("test");
    assert_eq!(house.index.ids(None, 1, &all).await.unwrap_err().kind, PortErrorKind::Corrupt);
    // A row of a model that is no longer there would be refused for ever.
    let mut old = point_of(&memory(10));
    old.vectors[0].space = "old".into();
    house.graph.write([IndexOp::Upsert(old)]);
    let (graph, pending) = (house.graph.clone(), house.graph.clone());
    *house.revector.meanwhile.lock().unwrap() = Some(Box::new(move || graph.store(memory(700))));
    let written = reindex(&*house.graph, &house.drain, &house.revector, |done, _| {
        if done == 256 {
            assert!(pending.pending() > 0, "rows stay until an index that serves has them");
        }
    });
    assert_eq!(written.await.unwrap(), 600 + 1);
    assert_eq!((house.graph.pending(), house.index.count().await.unwrap()), (0, 601));
    assert!(house.doctor(false).await.ok());
}

/// Fails at the second page.
struct Failing<'a>(&'a FakeRevector);

#[async_trait::async_trait]
impl Revector for Failing<'_> {
    async fn vectors_of(&self, memories: &[Memory]) -> Result<Vec<Vec<NamedVector>>, PortError> {
        if memories.iter().any(|memory| memory.id == id(300)) {
            return Err(PortError::new(PortErrorKind::Unavailable, "fake", "embed", "told to fail"));
        }
        self.0.vectors_of(memories).await
    }

    async fn note_spaces(&self, spaces: Vec<(MemoryId, Vec<String>)>) -> Result<(), PortError> {
        self.0.note_spaces(spaces).await
    }
}
