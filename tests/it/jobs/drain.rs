//! The outbox reaches the index: in order, promptly, whatever fails, and over a crash.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use proptest::{
    collection::vec,
    prelude::Strategy,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use recollect::{
    domain::{IndexOp, Status},
    jobs::{Drain, DrainSettings, Report},
    ports::{PortErrorKind, VectorIndex},
};
use tokio_util::sync::CancellationToken;

use super::fakes::{FakeGraph, FakeIndex, id, memory, point_of};

const LONG: Duration = Duration::from_secs(20);

fn drain(graph: &Arc<FakeGraph>, index: &Arc<FakeIndex>, settings: DrainSettings) -> Arc<Drain> {
    Arc::new(Drain::new(Arc::clone(graph) as _, Arc::clone(index) as _, settings))
}

fn fakes() -> (Arc<FakeGraph>, Arc<FakeIndex>) {
    (Arc::default(), Arc::new(FakeIndex::new()))
}

/// Nothing happens by itself within a test.
fn patient() -> DrainSettings {
    DrainSettings {
        batch_rows: 4,
        flush_rows: usize::MAX,
        flush_every: LONG,
        poll_every: LONG,
        ..DrainSettings::default()
    }
}

/// Short waits, for tests of the loop.
fn eager() -> DrainSettings {
    let short = Duration::from_millis(5);
    DrainSettings { flush_every: short, poll_every: short, retry_first: short, retry_longest: short, ..patient() }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(LONG, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn catching_up_applies_every_row_in_order_and_empties_the_outbox() {
    let (graph, index) = fakes();
    (1..=10).for_each(|n| graph.store(memory(n)));
    graph.write([IndexOp::Delete { id: id(3) }, IndexOp::Upsert(point_of(&memory(3))), IndexOp::Delete { id: id(4) }]);
    let rows: Vec<IndexOp> = graph.outbox.lock().unwrap().values().cloned().collect();
    let drain = drain(&graph, &index, patient());
    assert_eq!(drain.catch_up().await.unwrap(), Report { rows: 13, durable: 13 });
    assert_eq!(*index.durable.lock().unwrap(), rows);
    assert_eq!((graph.pending(), index.count().await.unwrap()), (0, 9));
    assert_eq!(drain.catch_up().await.unwrap(), Report { rows: 0, durable: 13 });
    assert_eq!(index.flushes.load(Ordering::SeqCst), 1, "nothing new, nothing to flush");
}

#[tokio::test]
async fn settling_makes_rows_searchable_and_leaves_them_in_the_outbox_until_a_flush() {
    let (graph, index) = fakes();
    let drain = drain(&graph, &index, patient());
    assert!(drain.settle(LONG).await, "an empty outbox is settled");
    (1..=9).for_each(|n| graph.store(memory(n)));
    assert!(drain.settle(LONG).await);
    assert_eq!((index.count().await.unwrap(), graph.pending()), (9, 9));
    drain.flush().await.unwrap();
    assert_eq!(graph.pending(), 0);
}

#[tokio::test]
async fn many_who_settle_at_once_apply_each_row_once() {
    let (graph, index) = fakes();
    let drain = drain(&graph, &index, patient());
    let writers = (1..=50).map(|n| {
        let (graph, index, drain) = (Arc::clone(&graph), Arc::clone(&index), Arc::clone(&drain));
        tokio::spawn(async move {
            graph.store(memory(n));
            assert!(drain.settle(LONG).await);
            assert!(index.points().await.iter().any(|(found, _)| *found == id(n)), "one's own write is there");
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(index.applied.lock().unwrap().len(), 50);
}

#[tokio::test]
async fn a_failing_index_leaves_rows_pending_and_recovers() {
    let (graph, index) = fakes();
    let drain = drain(&graph, &index, DrainSettings { retry_first: LONG, retry_longest: LONG, ..patient() });
    index.applies_to_fail.store(1, Ordering::SeqCst);
    graph.store(memory(1));
    assert!(!drain.settle(LONG).await);
    assert!(!drain.settle(LONG).await, "left alone until the retry is due");
    assert_eq!((graph.pending(), index.count().await.unwrap()), (1, 0));
    assert_eq!(drain.catch_up().await.unwrap().rows, 1, "who asks for it by hand does not wait");
    assert_eq!((graph.pending(), index.count().await.unwrap()), (0, 1));
}

#[tokio::test]
async fn the_loop_tries_again_until_the_index_is_back() {
    let (graph, index) = fakes();
    index.applies_to_fail.store(5, Ordering::SeqCst);
    index.flushes_to_fail.store(3, Ordering::SeqCst);
    let stop = CancellationToken::new();
    let drain = drain(&graph, &index, eager());
    (1..=6).for_each(|n| graph.store(memory(n)));
    let running = tokio::spawn({
        let (drain, stop) = (Arc::clone(&drain), stop.clone());
        async move { drain.run(stop).await }
    });
    until("the outbox is empty", || graph.pending() == 0).await;
    assert_eq!(index.durable.lock().unwrap().len(), 6);
    stop.cancel();
    tokio::time::timeout(LONG, running).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_loop_is_woken_flushes_by_rows_and_optimises_when_quiet() {
    let (graph, index) = fakes();
    let settings = DrainSettings { flush_rows: 3, optimize_rows: 2, ..patient() };
    let drain = drain(&graph, &index, settings);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (drain, stop) = (Arc::clone(&drain), stop.clone());
        async move { drain.run(stop).await }
    });
    until("what the last process left is optimised", || index.optimises.load(Ordering::SeqCst) == 1).await;
    (1..=2).for_each(|n| graph.store(memory(n)));
    drain.wake();
    until("rows are applied", || index.applied.lock().unwrap().len() == 2).await;
    assert_eq!((graph.pending(), index.optimises.load(Ordering::SeqCst)), (2, 1), "too few to flush, not quiet yet");
    graph.store(memory(3));
    drain.wake();
    until("rows are durable", || graph.pending() == 0).await;
    drain.wake();
    until("it is optimised", || index.optimises.load(Ordering::SeqCst) == 2).await;
    graph.store(memory(4));
    assert!(drain.settle(LONG).await);
    stop.cancel();
    tokio::time::timeout(LONG, running).await.unwrap().unwrap();
    assert_eq!(graph.pending(), 0, "the end of the loop flushes");
}

#[tokio::test]
async fn a_row_the_index_refuses_blocks_and_is_never_dropped() {
    let (graph, index) = fakes();
    let mut wrong = point_of(&memory(1));
    wrong.vectors[0].vector.push(1.0);
    graph.write([IndexOp::Upsert(wrong)]);
    graph.store(memory(2));
    let error = drain(&graph, &index, patient()).catch_up().await.unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Mismatch);
    assert_eq!(graph.pending(), 2);
}

/// What happens in a life: writes, settling, flushes, failures and crashes.
#[derive(Debug, Clone)]
enum Step {
    Put(u128),
    Retire(u128),
    Forget(u128),
    Settle,
    Flush,
    FailApplies(usize),
    FailFlushes(usize),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    proptest::prop_oneof![
        6 => (1u128..9).prop_map(Step::Put),
        2 => (1u128..9).prop_map(Step::Retire),
        2 => (1u128..9).prop_map(Step::Forget),
        3 => proptest::prelude::Just(Step::Settle),
        2 => proptest::prelude::Just(Step::Flush),
        1 => (1usize..3).prop_map(Step::FailApplies),
        1 => (1usize..3).prop_map(Step::FailFlushes),
        2 => proptest::prelude::Just(Step::Crash),
    ]
}

#[tokio::test]
async fn whatever_fails_and_crashes_the_index_ends_as_if_nothing_had() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRunner::deterministic().new_rng());
    for _ in 0..200 {
        let steps = vec(step(), 1..60).new_tree(&mut runner).unwrap().current();
        let (graph, mut index) = fakes();
        let mut drain = drain(&graph, &index, DrainSettings { retry_first: Duration::ZERO, ..patient() });
        let reference = FakeIndex::new();
        for (n, step) in steps.iter().enumerate() {
            let op = match step {
                Step::Put(of) => {
                    let mut memory = memory(*of);
                    memory.tags = vec![format!("step {n}")];
                    Some(IndexOp::Upsert(point_of(&memory)))
                }
                Step::Retire(of) => Some(IndexOp::Retire {
                    id: id(*of),
                    status: Status::Superseded,
                    valid_to: None,
                    retired_at: n as i64,
                }),
                Step::Forget(of) => Some(IndexOp::Delete { id: id(*of) }),
                _ => None,
            };
            if let Some(op) = op {
                reference.apply(std::slice::from_ref(&op)).await.unwrap();
                graph.write([op]);
            }
            match step {
                Step::Settle => {
                    let failing = index.applies_to_fail.load(Ordering::SeqCst) > 0;
                    let settled = drain.settle(LONG).await;
                    assert!(settled || failing, "{steps:?}");
                    assert!(!settled || index.points().await == reference.points().await, "{steps:?}");
                }
                Step::Flush => drop(drain.flush().await),
                Step::FailApplies(times) => index.applies_to_fail.store(*times, Ordering::SeqCst),
                Step::FailFlushes(times) => index.flushes_to_fail.store(*times, Ordering::SeqCst),
                Step::Crash => {
                    index = Arc::new(index.after_a_crash().await);
                    drain = self::drain(&graph, &index, DrainSettings { retry_first: Duration::ZERO, ..patient() });
                }
                Step::Put(_) | Step::Retire(_) | Step::Forget(_) => {}
            }
        }
        index.applies_to_fail.store(0, Ordering::SeqCst);
        index.flushes_to_fail.store(0, Ordering::SeqCst);
        drain.catch_up().await.unwrap();
        assert_eq!(index.points().await, reference.points().await, "{steps:?}");
        assert_eq!(index.after_a_crash().await.points().await, reference.points().await, "{steps:?}");
        assert_eq!(graph.pending(), 0);
    }
}
