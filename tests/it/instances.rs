//! Several services on one graph store, as several processes are: nothing but the store keeps them apart.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use recollect::{
    domain::EdgeKind,
    ports::GraphStore,
    write::{FeedbackRequest, ForgetRequest, ObserveRequest, StoreRequest, UpdateRequest},
};

use crate::support::house::{House, Tenant, caller, everything, says};

async fn two() -> (House, [Arc<Tenant>; 2], tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("temporary folder");
    let house = House::open(dir.path()).await;
    let tenants = [Arc::new(house.tenant().await), Arc::new(house.tenant().await)];
    (house, tenants, dir)
}

/// Runs `work` for each number in both services, all at once.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    tenants: &[Arc<Tenant>; 2],
    numbers: std::ops::Range<usize>,
    work: impl Fn(Arc<Tenant>, usize) -> F,
) -> Vec<(usize, T)> {
    let tasks: Vec<_> = numbers
        .flat_map(|n| tenants.iter().map(move |tenant| (n, tenant.clone())))
        .map(|(n, tenant)| (n, tokio::spawn(work(tenant, n))))
        .collect();
    let mut done = Vec::new();
    for (n, task) in tasks {
        done.push((n, task.await.expect("no panic")));
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_stores_about_one_subject_make_no_duplicate_and_no_error() {
    let (house, tenants, _dir) = two().await;
    let about_harbour = |n: usize| StoreRequest {
        title: Some("harbour".into()),
        session_id: Some("s".into()),
        task_id: Some("t".into()),
        ..says(&format!("the harbour has {n} berths"))
    };
    // A session that has begun: two that begin it at once both have none before them.
    tenants[0].store(about_harbour(20)).await;
    let replies =
        at_once(&tenants, 0..20, |tenant, n| async move { tenant.service.store(&caller(), about_harbour(n)).await })
            .await;
    let mut ids: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (n, reply) in replies {
        ids.entry(n).or_default().insert(reply.expect("taken").id.expect("an id"));
    }
    assert!(ids.values().all(|ids| ids.len() == 1), "both were told the same memory: {ids:?}");
    let memories = house.memories().await;
    assert_eq!(memories.len(), 21);
    let uses: u64 = memories.iter().map(|memory| memory.access_count).sum();
    assert_eq!(uses, 20, "the second of each refreshed the first");
    // One chain: each member follows the one before it.
    for kind in [EdgeKind::SameSession, EdgeKind::SameTask] {
        let name = if kind == EdgeKind::SameSession { "s" } else { "t" };
        let members = house.store.members(kind, name, 100, &everything()).await.expect("members");
        let mut links = Vec::new();
        for id in &members {
            let edges = house.store.edges_of(id.0, 100, &everything()).await.expect("edges");
            links.extend(edges.into_iter().filter(|it| it.kind == kind && it.from == id.0).map(|it| (it.from, it.to)));
        }
        let chain: Vec<_> = members.windows(2).map(|pair| (pair[1].0, pair[0].0)).collect();
        assert_eq!(links, chain);
    }
    assert!(tenants[0].service.doctor(&caller(), false).await.expect("a report").ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stands_for_one_write_whichever_service_it_reaches() {
    let (house, tenants, _dir) = two().await;
    let replies = at_once(&tenants, 0..10, |tenant, n| async move {
        let key = Some(format!("key {n}"));
        let request = StoreRequest { idempotency_key: key.clone(), ..says(&format!("the ferry has {n} decks")) };
        let stored = tenant.service.store(&caller(), request).await.expect("taken");
        let request = ObserveRequest {
            event: "task_failed".into(),
            text: Some(format!("deck {n} leaked")),
            idempotency_key: Some(format!("event {n}")),
            ..ObserveRequest::default()
        };
        let observed = tenant.service.observe(&caller(), request).await.expect("taken");
        (stored.id, stored.operation_id, observed.event_id, observed.operation_id)
    })
    .await;
    let mut answers: BTreeMap<usize, BTreeSet<_>> = BTreeMap::new();
    for (n, answer) in replies {
        answers.entry(n).or_default().insert(answer);
    }
    assert!(answers.values().all(|answers| answers.len() == 1), "{answers:?}");
    assert_eq!(house.memories().await.len(), 20);
    assert!(house.memories().await.iter().all(|memory| memory.access_count == 0), "nothing was done twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_changes_of_one_memory_all_happen() {
    let (house, tenants, _dir) = two().await;
    let id = tenants[0].store(says("the crane lifts two tons")).await.id.expect("an id");
    let changed = id.clone();
    let done = at_once(&tenants, 0..6, |tenant, n| {
        let id = changed.clone();
        async move {
            let update =
                UpdateRequest { id: id.clone(), context: Some(format!("inspection {n}")), ..UpdateRequest::default() };
            let updated = tenant.service.update(&caller(), update).await;
            let vote = FeedbackRequest { id: id.clone(), useful: Some(true), note: None };
            let voted = tenant.service.feedback(&caller(), vote).await;
            let decay = ForgetRequest { ids: vec![id], strategy: Some("decay".into()), ..ForgetRequest::default() };
            let decayed = tenant.service.forget(&caller(), decay).await;
            updated.map(drop).and(voted.map(drop)).and(decayed.map(drop))
        }
    })
    .await;
    for (n, done) in done {
        done.unwrap_or_else(|error| panic!("{n}: {error}"));
    }
    let after = house.memory(&id).await.expect("there");
    // An update that says what is there already makes no revision.
    assert!((1 + 12 + 6..=1 + 12 + 12).contains(&after.revision), "{}", after.revision);
    assert_eq!((after.useful, after.not_useful), (1, 0), "one vote each, however often");
    assert!(tenants[1].service.doctor(&caller(), false).await.expect("a report").ok());
}
