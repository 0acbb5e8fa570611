//! The graph store goes away and comes back: what was taken meanwhile is written once, in order, as if nothing had been.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Command, Stdio},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use recollect::{
    domain::EdgeKind,
    error::ErrorCode,
    jobs::Replay,
    ports::{AuditRow, Browse, GraphStore, PortError},
    read::RecallRequest,
    write::{FeedbackRequest, ForgetRequest, LinkRequest, ObserveRequest, StoreRequest, StoreState, UpdateRequest},
};
use tokio_util::sync::CancellationToken;

use crate::support::house::{House, Tenant, caller, everything, says};

async fn house() -> (House, Tenant, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("temporary folder");
    let house = House::open(dir.path()).await;
    let tenant = house.tenant().await;
    (house, tenant, dir)
}

async fn audit_of(house: &House) -> Result<Vec<AuditRow>, PortError> {
    house.store.audit(None, 100, &everything()).await
}

fn in_session(content: &str) -> StoreRequest {
    StoreRequest { session_id: Some("s".into()), ..says(content) }
}

#[tokio::test]
async fn what_is_stored_while_the_graph_is_away_is_written_when_it_is_back() {
    let (house, tenant, _dir) = house().await;
    let before = tenant.store(in_session("the ferry leaves at seven")).await;
    tenant.graph.set_away(true);
    let mut queued = Vec::new();
    for content in ["the ferry carries bicycles", "the ferry is blue"] {
        let reply = tenant.store(StoreRequest { title: Some("ferry".into()), ..in_session(content) }).await;
        assert_eq!((reply.outcome.as_str(), reply.state), ("queued", StoreState::Queued));
        assert!(reply.reason.expect("a reason").contains("away"));
        queued.push((reply.id.expect("an id"), reply.operation_id, content));
    }
    let applies = tenant.graph.applies.load(Ordering::SeqCst);
    assert_eq!(tenant.backlog.lengths(), (2, 0));
    let recall = RecallRequest { query: "ferry".into(), ..RecallRequest::default() };
    let asked = Instant::now();
    let error = tenant.service.recall(&caller(), recall).await.expect_err("nothing can answer");
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(asked.elapsed() < Duration::from_secs(20));
    assert!(tenant.backlog.catch_up(&*tenant.service).await.is_err(), "it is still away");
    assert_eq!(tenant.backlog.lengths(), (2, 0), "which costs no try");
    assert_eq!(tenant.graph.applies.load(Ordering::SeqCst), applies, "and no write");

    tenant.graph.set_away(false);
    let reply = tenant.store(in_session("the ferry sleeps")).await;
    assert_eq!(reply.state, StoreState::Queued, "what comes later waits behind");
    queued.push((reply.id.expect("an id"), reply.operation_id, "the ferry sleeps"));
    assert_eq!(tenant.catch_up().await, 3);
    assert_eq!(tenant.backlog.lengths(), (0, 0));
    assert_eq!(tenant.store(in_session("the ferry wakes")).await.state, StoreState::Indexed);
    for (id, _, content) in &queued {
        assert_eq!(house.memory(id).await.expect("written under its id").content, *content);
    }
    let members =
        GraphStore::members(&*house.store, EdgeKind::SameSession, "s", 10, &everything()).await.expect("members");
    let members: Vec<String> = members.iter().map(ToString::to_string).collect();
    let order: Vec<&String> = before.id.iter().chain(queued.iter().map(|(id, ..)| id)).collect();
    assert_eq!(members.iter().take(4).collect::<Vec<_>>(), order, "in the order they were taken");
    let edges = house.store.edges_of(queued[0].0.parse().expect("an id"), 10, &everything()).await.expect("edges");
    let kinds: BTreeSet<EdgeKind> = edges.iter().map(|edge| edge.kind).collect();
    assert!(kinds.contains(&EdgeKind::SameSession) && kinds.contains(&EdgeKind::About), "{kinds:?}");
    let audit = audit_of(&house).await.expect("the audit log");
    for (_, operation, _) in &queued {
        assert_eq!(audit.iter().filter(|row| row.change.to_string() == *operation).count(), 1);
    }
    assert!(tenant.service.doctor(&caller(), false).await.expect("a report").ok());
}

#[tokio::test]
async fn a_key_stands_for_one_write_while_it_waits_and_after() {
    let (house, tenant, _dir) = house().await;
    tenant.graph.set_away(true);
    let request = StoreRequest { idempotency_key: Some("k".into()), ..says("the quay is wet") };
    let first = tenant.store(request.clone()).await;
    assert_eq!(tenant.store(request.clone()).await, first);
    let other = StoreRequest { idempotency_key: Some("k".into()), ..says("the quay is dry") };
    let refused = tenant.service.store(&caller(), other.clone()).await.expect_err("another request");
    assert_eq!(refused.code, ErrorCode::IdempotencyKeyReused);
    // The same request also reached another process, whose store is there.
    tenant.graph.set_away(false);
    tenant.catch_up().await;
    let after = tenant.store(request).await;
    assert_eq!((after.id, after.operation_id, after.outcome.as_str()), (first.id, first.operation_id, "stored"));
    let refused = tenant.service.store(&caller(), other).await.expect_err("another request");
    assert_eq!(refused.code, ErrorCode::IdempotencyKeyReused);
    assert_eq!(house.memories().await.len(), 1);
}

#[tokio::test]
async fn a_key_that_reached_another_process_meanwhile_is_one_write() {
    let (house, tenant, _dir) = house().await;
    let other_journal = tempfile::tempdir().expect("temporary folder");
    let other = House::open(other_journal.path()).await;
    let request = StoreRequest { idempotency_key: Some("k".into()), ..says("the quay is wet") };
    tenant.graph.set_away(true);
    tenant.store(request.clone()).await;
    let used = StoreRequest { idempotency_key: Some("j".into()), ..says("one") };
    tenant.store(used).await;
    // Another process: the same store, a journal of its own.
    let elsewhere = house.with_journal(other.journal);
    let second = elsewhere.tenant().await;
    second.store(request).await;
    second.store(StoreRequest { idempotency_key: Some("j".into()), ..says("two") }).await;
    tenant.graph.set_away(false);
    tenant.catch_up().await;
    assert_eq!(tenant.backlog.lengths(), (0, 0));
    let mut contents: Vec<String> = elsewhere.memories().await.into_iter().map(|memory| memory.content).collect();
    contents.sort();
    assert_eq!(
        contents,
        ["one", "the quay is wet", "two"],
        "what was taken is kept, whatever its key stands for by now"
    );
}

#[tokio::test]
async fn what_the_graph_knows_by_then_holds() {
    let (house, tenant, _dir) = house().await;
    let known = tenant.store(says("the bridge opens at noon")).await.id.expect("an id");
    let named = |content: &str| StoreRequest { external_id: Some("row".into()), ..says(content) };
    let row = tenant.store(named("the toll is two")).await.id.expect("an id");
    tenant.graph.set_away(true);
    tenant.store(says("the bridge opens at noon")).await;
    tenant.store(named("the toll is three")).await;
    for _ in 0..2 {
        tenant.store(says("the bridge is iron")).await;
    }
    tenant.graph.set_away(false);
    tenant.catch_up().await;
    assert_eq!(tenant.backlog.lengths(), (0, 0));
    assert_eq!(house.memory(&known).await.expect("known").access_count, 1, "the same content refreshes");
    let row = house.memory(&row).await.expect("known");
    assert_eq!((row.content.as_str(), row.revision), ("the toll is three", 2), "a known external id updates");
    let twice = house.memories().await.into_iter().filter(|memory| memory.content == "the bridge is iron");
    assert_eq!(twice.map(|memory| memory.access_count).collect::<Vec<_>>(), [1]);
    assert_eq!(house.memories().await.len(), 3);
    assert!(tenant.service.doctor(&caller(), false).await.expect("a report").ok());
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_written_once() {
    let (house, tenant, _dir) = house().await;
    tenant.graph.loses_answers.store(true, Ordering::SeqCst);
    let request = StoreRequest { idempotency_key: Some("k".into()), ..says("the tide is out") };
    let reply = tenant.store(request.clone()).await;
    assert_eq!(reply.outcome, "queued");
    let observed = ObserveRequest {
        event: "task_failed".into(),
        text: Some("the anchor slipped".into()),
        ..ObserveRequest::default()
    };
    let event = tenant.service.observe(&caller(), observed).await.expect("taken");
    assert_eq!(event.state, StoreState::Queued);
    tenant.graph.loses_answers.store(false, Ordering::SeqCst);
    tenant.catch_up().await;
    let memories = house.memories().await;
    let uses: Vec<(&str, u64)> = memories.iter().map(|it| (it.content.as_str(), it.access_count)).collect();
    assert_eq!(uses, [("the tide is out", 0), ("the anchor slipped", 0)]);
    let again = tenant.store(request).await;
    assert_eq!((again.id, again.operation_id), (reply.id, reply.operation_id));
    assert_eq!(house.store.counts(&everything()).await.expect("counts").memories, 2);
    let events = GraphStore::events(&*house.store, &[event.event_id.parse().expect("an id")], &everything())
        .await
        .expect("events");
    assert_eq!(events[0].made, [memories[1].id]);
}

#[tokio::test]
async fn events_wait_with_the_memories_they_make() {
    let (house, tenant, _dir) = house().await;
    let observe = |event: &str, text: &str| ObserveRequest {
        event: event.to_owned(),
        text: (!text.is_empty()).then(|| text.to_owned()),
        session_id: Some("s".into()),
        ..ObserveRequest::default()
    };
    tenant.graph.set_away(true);
    let said = tenant.service.observe(&caller(), observe("user_message", "hello")).await.expect("taken");
    let learnt =
        ObserveRequest { idempotency_key: Some("k".into()), ..observe("task_succeeded", "the crane was greased") };
    let made = tenant.service.observe(&caller(), learnt.clone()).await.expect("taken");
    assert_eq!(made.memories[0].outcome, "queued");
    assert_eq!(tenant.service.observe(&caller(), learnt.clone()).await.expect("the same"), made);
    let ended = tenant.service.observe(&caller(), observe("session_ended", "")).await.expect_err("it has to read");
    assert_eq!((ended.code, ended.field.as_deref()), (ErrorCode::Unavailable, Some("event")));
    tenant.graph.set_away(false);
    tenant.catch_up().await;
    let after = tenant.service.observe(&caller(), learnt).await.expect("the same");
    assert_eq!((&after.event_id, &after.memories[0].id), (&made.event_id, &made.memories[0].id));
    assert_eq!(after.memories[0].outcome, "stored");
    let events = house.store.events_of_session("s", 10, &everything()).await.expect("events");
    let ids: Vec<String> = events.iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids, [said.event_id, made.event_id]);
    assert!(house.memory(&made.memories[0].id).await.is_some());
}

#[tokio::test]
async fn what_has_to_read_first_is_refused_and_may_be_tried_again() {
    let (_house, tenant, _dir) = house().await;
    let known = tenant.store(says("the lock is shut")).await.id.expect("an id");
    tenant.graph.set_away(true);
    let waiting = tenant.store(says("the lock is open")).await.id.expect("an id");
    let (service, caller) = (&tenant.service, caller());
    let mut answers = Vec::new();
    // While it is away, and while it is back and writes still wait for it.
    for (away, id) in [(true, &known), (false, &waiting)] {
        tenant.graph.set_away(away);
        let id = id.clone();
        let update = UpdateRequest { id: id.clone(), tags: Some(vec!["x".into()]), ..UpdateRequest::default() };
        answers.push(service.update(&caller, update).await.err());
        let forget = ForgetRequest { ids: vec![id.clone()], ..ForgetRequest::default() };
        answers.push(service.forget(&caller, forget).await.err());
        let vote = FeedbackRequest { id: id.clone(), useful: Some(true), note: None };
        answers.push(service.feedback(&caller, vote).await.err());
        let link = LinkRequest { from: known.clone(), to: waiting.clone(), edge: "CAUSES".into(), reason: None };
        answers.push(service.link(&caller, link).await.err());
        let refers = StoreRequest { supersedes: vec![id], ..says("the lock is gone") };
        answers.push(service.store(&caller, refers).await.err());
    }
    for (place, error) in answers.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("{place} was taken"));
        assert_eq!(error.code, ErrorCode::Unavailable, "{place}: {error}");
        assert!(error.code.retryable());
    }
    tenant.catch_up().await;
    let link = LinkRequest { from: known, to: waiting, edge: "CAUSES".into(), reason: None };
    service.link(&caller, link).await.expect("linked");
}

#[tokio::test]
async fn a_poison_entry_becomes_a_dead_letter_and_blocks_nobody() {
    let (house, tenant, _dir) = house().await;
    tenant.graph.set_away(true);
    for content in ["before", "poison", "after"] {
        tenant.store(in_session(content)).await;
    }
    *tenant.graph.refuses.lock().expect("lock") = Some("poison");
    tenant.graph.set_away(false);
    tenant.catch_up().await;
    assert_eq!(tenant.backlog.lengths(), (0, 1));
    let status = tenant.service.status(&caller()).await.expect("a status");
    assert_eq!((status.journal, status.dead_letters, status.memories), (0, 1, 2));
    assert_eq!(tenant.store(in_session("later")).await.outcome, "stored", "it holds up nobody");
    // A person lets it wait again, beside the service.
    *tenant.graph.refuses.lock().expect("lock") = None;
    assert_eq!(house.journal.retry(None).await.expect("the journal"), 1);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (backlog, replay, stop) = (tenant.backlog.clone(), tenant.service.clone() as Arc<dyn Replay>, stop.clone());
        async move { backlog.run(replay, stop).await }
    });
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while house.memories().await.len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("it was written");
    stop.cancel();
    running.await.expect("stopped");
    assert_eq!(tenant.backlog.lengths(), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_under_concurrent_writes_loses_nothing_and_keeps_the_order_of_each_subject() {
    const WRITERS: usize = 6;
    let (house, tenant, _dir) = house().await;
    let tenant = Arc::new(tenant);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (tenant, stop) = (tenant.clone(), stop.clone());
        async move { tenant.backlog.run(tenant.service.clone(), stop).await }
    });
    let done = CancellationToken::new();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (tenant, done) = (tenant.clone(), done.clone());
            tokio::spawn(async move {
                let mut taken: Vec<(String, bool)> = Vec::new();
                while !done.is_cancelled() {
                    let content = format!("note {} of writer {writer}", taken.len());
                    let request = StoreRequest {
                        session_id: Some(format!("s{writer}")),
                        title: Some(format!("subject {writer}")),
                        ..says(&content)
                    };
                    let reply = tenant.service.store(&caller(), request).await.expect("always taken");
                    taken.push((content, reply.state == StoreState::Queued));
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                taken
            })
        })
        .collect();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tenant.graph.set_away(true);
        tokio::time::sleep(Duration::from_millis(700)).await;
        let recall = RecallRequest { query: "note of writer".into(), ..RecallRequest::default() };
        assert!(tenant.service.recall(&caller(), recall).await.is_err(), "nothing can answer, and it says so");
        tenant.graph.set_away(false);
    }
    let back = Instant::now();
    let waited = tokio::time::timeout(Duration::from_secs(60), async {
        while tenant.backlog.any() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("drained after the return, though writes go on");
    let drained = back.elapsed();
    done.cancel();
    let mut taken = Vec::new();
    for writer in writers {
        taken.push(writer.await.expect("a writer"));
    }
    println!("{} queued writes drained {drained:?} after the return", taken.iter().flatten().filter(|it| it.1).count());
    stop.cancel();
    running.await.expect("stopped");
    assert!(taken.iter().flatten().any(|(_, queued)| *queued) && taken.iter().flatten().any(|(_, queued)| !queued));
    assert_eq!(tenant.backlog.lengths(), (0, 0));
    let contents: BTreeMap<_, _> =
        house.memories().await.into_iter().map(|memory| (memory.id, memory.content)).collect();
    assert_eq!(contents.len(), taken.iter().map(Vec::len).sum::<usize>(), "nothing lost, nothing doubled");
    for (writer, taken) in taken.iter().enumerate() {
        let session = format!("s{writer}");
        let members = GraphStore::members(&*house.store, EdgeKind::SameSession, &session, 100_000, &everything())
            .await
            .expect("members");
        let stored: Vec<&String> = members.iter().map(|id| &contents[id]).collect();
        assert_eq!(stored, taken.iter().map(|(content, _)| content).collect::<Vec<_>>());
    }
    assert!(tenant.service.doctor(&caller(), false).await.expect("a report").ok());
}

/// Tells this test, started again as a process of its own, to drain the folder it names.
const CHILD: &str = "RECOLLECT_TEST_DRAINS";
const ENTRIES: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_entries_survive_kills_while_they_are_drained() {
    if let Some(dir) = std::env::var_os(CHILD) {
        let house = House::open(dir.as_ref()).await;
        house.tenant().await.catch_up().await;
        return;
    }
    let seed: u64 =
        std::env::var("RECOLLECT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("seed {seed} (set RECOLLECT_TEST_SEED to repeat)");
    let mut random = StdRng::seed_from_u64(seed);
    let (house, tenant, dir) = house().await;
    tenant.graph.set_away(true);
    let contents: Vec<String> = (0..ENTRIES).map(|n| format!("entry {n}")).collect();
    let mut taken = BTreeMap::new();
    for batch in contents.chunks(500) {
        let requests = batch.iter().map(|content| in_session(content)).collect();
        for (content, reply) in batch.iter().zip(tenant.service.store_all(&caller(), requests).await.expect("taken")) {
            taken.insert(reply.expect("taken").id.expect("an id"), content.clone());
        }
    }
    assert_eq!(house.journal.lengths().await.expect("lengths"), (ENTRIES, 0));
    let mut kills = 0;
    loop {
        let before = house.journal.lengths().await.expect("lengths").0;
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "outage::ten_thousand_entries_survive_kills_while_they_are_drained"])
            .env(CHILD, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        // Killed in the middle of draining: after it has drained something, wherever it is then.
        let some = random.random_range(1..ENTRIES / 8);
        let ended = loop {
            if let Some(status) = child.try_wait().expect("a status") {
                assert!(status.success());
                break true;
            }
            let left = house.journal.lengths().await.expect("lengths").0;
            if kills < 8 && before - left >= some {
                child.kill().expect("kill -9");
                child.wait().expect("ended");
                break false;
            }
            tokio::time::sleep(Duration::from_millis(random.random_range(1..20))).await;
        };
        if ended {
            break;
        }
        kills += 1;
    }
    println!("drained over {kills} kills");
    assert!(kills > 2, "too few kills to mean anything: {kills}");
    assert_eq!(house.journal.lengths().await.expect("lengths"), (0, 0));
    let stored: BTreeMap<String, String> =
        house.memories().await.into_iter().map(|memory| (memory.id.to_string(), memory.content)).collect();
    assert_eq!(stored.len(), ENTRIES);
    assert_eq!(stored, taken);
    let members =
        GraphStore::members(&*house.store, EdgeKind::SameSession, "s", ENTRIES, &everything()).await.expect("members");
    let order: Vec<&String> = members.iter().map(|id| &stored[&id.to_string()]).collect();
    assert_eq!(order, contents.iter().collect::<Vec<_>>(), "in the order they were taken");
    assert!(house.memories().await.iter().all(|memory| memory.access_count == 0), "nothing was written twice");
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_a_dead_letter() {
    let (house, tenant, dir) = house().await;
    tenant.graph.set_away(true);
    for content in ["one", "two"] {
        tenant.store(says(content)).await;
    }
    let raw = rusqlite::Connection::open(dir.path().join("journal.db")).expect("the file");
    raw.execute("UPDATE journal SET change = 'torn' WHERE seq = 1", []).expect("damaged");
    tenant.graph.set_away(false);
    tenant.catch_up().await;
    assert_eq!(tenant.backlog.lengths(), (0, 1));
    assert_eq!(house.memories().await.len(), 1);
    let next = house.tenant().await;
    assert_eq!(next.backlog.lengths(), (0, 1), "after a start too");
    assert!(matches!(house.journal.entries(0, 10).await.expect("entries").as_slice(), []));
    assert_eq!(house.journal.discard(None).await.expect("dropped"), 1);
}
