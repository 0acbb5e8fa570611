//! What every graph store does.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use recollect::{
    domain::{
        AsOf, Caller, ChangeSet, Concept, ConceptKey, Direction, Edge, EdgeKind, Event, EventDetail, EventId,
        EventKind, Filter, Idempotency, IndexOp, Kind, Language, Memory, MemoryId, MemoryType, NamedVector, Op,
        Payload, Point, PrincipalKind, Scope, Source, Status, Verification, Visibility,
    },
    ports::{
        Applied, ConceptUse, GraphStore, KeywordQuery, Neighbourhood, NeighbourhoodQuery, PortErrorKind, StoreCounts,
    },
};
use serde_json::json;
use uuid::Uuid;

use crate::support::{at, change, id, memory};

macro_rules! graph_store_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            graph_store,
            [
                memory_comes_back_whole,
                slice_with_a_conflict_writes_nothing,
                change_applied_again_does_nothing,
                batch_is_played_in_order,
                revision_that_is_not_stored_is_a_conflict,
                edge_to_a_member_that_is_no_longer_the_last_is_a_conflict,
                external_id_is_unique_within_a_scope,
                content_is_unique_within_a_scope_while_active,
                retiring_ends_a_belief_once,
                touching_counts_and_keeps_the_latest_time,
                each_revision_is_believed_in_its_time,
                state_before_a_retirement_is_found_as_it_was,
                replaced_text_is_found_by_its_own_words_and_no_longer_by_the_new,
                edges_and_concepts_are_those_of_then,
                vote_replaces_the_same_principals_and_is_part_of_history,
                members_and_events_come_in_order_and_only_to_those_who_see_them,
                earlier_revision_keeps_its_own_scope,
                reader_sees_only_its_scopes,
                widened_memory_is_counted_where_it_is_now,
                filter_means_what_the_domain_says,
                keyword_syntax_is_literal,
                every_script_is_found_by_keyword,
                keyword_ranks_and_bounds,
                better_words_that_the_filter_hides_starve_nobody,
                very_long_question_is_answered,
                updated_terms_replace_the_old,
                recent_is_newest_first,
                walk_stops_at_its_depth_and_follows_its_direction,
                walk_is_cut_nearest_first,
                walk_crosses_a_hub_to_its_subject_only,
                walk_takes_the_turns_near_a_seed,
                walk_sees_no_edge_before_it_was_recorded,
                walk_reports_concepts_and_edges_among_its_nodes,
                hub_of_edges_is_bounded,
                concept_counts_each_memory_once,
                concept_that_nothing_names_any_longer_goes,
                edge_written_again_replaces_weight_and_reason,
                dropped_edges_are_gone,
                last_member_is_the_last_recorded,
                answer_is_kept_under_its_key,
                outbox_holds_what_the_index_must_do_in_order,
                forgetting_reaches_everything,
                forgotten_vectors_do_not_wait_in_the_outbox,
                pages_walk_everything_once,
                setting_is_kept,
                retired_memory_is_in_force_again_and_its_past_stays,
                repeated_changes_and_counters_agree,
            ]
        );
    };
}
pub(crate) use graph_store_suite;

fn alice() -> Scope {
    Scope::Private("alice".to_owned())
}

fn bob() -> Scope {
    Scope::Private("bob".to_owned())
}

fn ops_group() -> Scope {
    Scope::Shared("ops".to_owned())
}

fn reader(principal: &str, groups: &[&str]) -> Visibility {
    Caller {
        principal: principal.to_owned(),
        kind: PrincipalKind::Agent,
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        rights: BTreeSet::new(),
        owner: None,
    }
    .visibility()
}

fn all() -> Visibility {
    Visibility::system("the contract suite looks at everything")
}

fn put(memory: Memory) -> Op {
    Op::PutMemory { expected_revision: memory.revision - 1, memory: Box::new(memory), vectors: Vec::new() }
}

fn put_with_vector(memory: Memory, vector: Vec<f32>) -> Op {
    let vectors = vec![NamedVector { space: "e5".to_owned(), vector }];
    Op::PutMemory { expected_revision: memory.revision - 1, memory: Box::new(memory), vectors }
}

fn concept(label: &str) -> Concept {
    Concept::from_text(ConceptKey(label.to_lowercase()), label.to_owned())
}

fn edge(from: Uuid, kind: EdgeKind, to: Uuid, scope: &Scope) -> Edge {
    Edge { from, to, kind, weight: 0.75, reason: None, scope: scope.clone(), recorded_at: at(1) }
}

/// An edge between the `a`th and the `b`th memory.
fn link(a: u64, kind: EdgeKind, b: u64, scope: &Scope) -> Op {
    Op::PutEdge(edge(id(a).0, kind, id(b).0, scope))
}

/// The `n`th memory names a concept.
fn name(n: u64, kind: EdgeKind, label: &str, scope: &Scope) -> [Op; 2] {
    [Op::PutConcept(concept(label)), Op::PutEdge(edge(id(n).0, kind, concept(label).id.0, scope))]
}

async fn write(store: &dyn GraphStore, n: u64, ops: Vec<Op>) {
    assert_eq!(store.apply(&[change(n, ops)]).await.unwrap(), [Applied::Now]);
}

/// Global memories with the numbers given and nothing else.
async fn write_plain(store: &dyn GraphStore, numbers: impl IntoIterator<Item = u64>) {
    let ops = numbers.into_iter().map(|n| put(memory(n, &Scope::Global, &format!("plain n{n}")))).collect();
    write(store, 900_000, ops).await;
}

async fn refused(store: &dyn GraphStore, changes: &[ChangeSet]) {
    let error = store.apply(changes).await.unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Conflict);
    let shown = format!("{error} {:?}", error.source.as_ref().map(ToString::to_string));
    assert!(!shown.contains("INSERT") && !shown.contains("SELECT"), "{shown}");
}

async fn find(store: &dyn GraphStore, terms: &[&str], visibility: &Visibility) -> Vec<MemoryId> {
    let query = KeywordQuery { filter: Filter::default(), limit: 100, ..question(terms) };
    store.keyword(&query, visibility).await.unwrap().into_iter().map(|scored| scored.id).collect()
}

fn question(terms: &[&str]) -> KeywordQuery {
    KeywordQuery { terms: terms.iter().map(|term| (*term).to_owned()).collect(), filter: Filter::default(), limit: 10 }
}

async fn get(store: &dyn GraphStore, n: u64) -> Option<Memory> {
    store.memories(&[id(n)], AsOf::default(), &all()).await.unwrap().pop()
}

fn around(seeds: &[u64], depth: u32, edges: &[EdgeKind]) -> NeighbourhoodQuery {
    NeighbourhoodQuery {
        seeds: seeds.iter().map(|seed| id(*seed)).collect(),
        depth,
        max_nodes: 1_000,
        edges: edges.to_vec(),
        direction: Direction::Both,
        max_concept_uses: 10,
        filter: Filter::default(),
    }
}

/// The ids of a walk with their distances, by id.
fn reached(walk: &Neighbourhood) -> Vec<(MemoryId, u32)> {
    let mut nodes: Vec<_> = walk.nodes.iter().map(|node| (node.id, node.distance)).collect();
    nodes.sort_unstable();
    nodes
}

fn numbered(nodes: &[(u64, u32)]) -> Vec<(MemoryId, u32)> {
    nodes.iter().map(|(n, distance)| (id(*n), *distance)).collect()
}

pub async fn memory_comes_back_whole(store: &dyn GraphStore) {
    let full = Memory {
        external_id: Some("row-7".to_owned()),
        kind: Kind::Reflective,
        memory_type: MemoryType::Procedure,
        title: Some("标题 'x' \"y\"".to_owned()),
        context: Some("when \u{202e}deploying".to_owned()),
        tags: vec!["a".to_owned(), "b,c".to_owned()],
        speaker: Some("Ana".to_owned()),
        importance: 0.1 + 0.2,
        confidence: 1.0 / 3.0,
        source: Source::UserExplicit,
        provenance: vec![Uuid::from_u128(7)],
        session_id: Some("s".to_owned()),
        task_id: Some("t".to_owned()),
        agent_id: Some("agent".to_owned()),
        valid_from: Some(at(-5)),
        valid_to: Some(at(500)),
        occurred_at: "2020-02-29T23:59:59.123456789Z".parse().unwrap(),
        expires_at: Some(at(999)),
        access_count: 3,
        last_accessed: Some(at(2)),
        useful: 2,
        not_useful: 1,
        verification: Some(Verification::Verified),
        language: Language::Other,
        spaces: vec!["e5".to_owned()],
        event: Some(EventDetail { actor: Some("bot".to_owned()), ..EventDetail::default() }),
        ..memory(1, &ops_group(), "tab\t nul\u{0} 服务 🦀\r\n")
    };
    let plain = memory(2, &Scope::Private("o'brien:x\" OR 1".to_owned()), "");
    write(store, 1, vec![put(full.clone()), put(plain.clone())]).await;
    let found = store.memories(&[id(2), id(9), id(1)], AsOf::default(), &all()).await.unwrap();
    assert_eq!(found, [plain, full], "in the order asked, the unknown one left out");
}

pub async fn slice_with_a_conflict_writes_nothing(store: &dyn GraphStore) {
    write(store, 1, vec![put(memory(1, &Scope::Global, "first"))]).await;
    let before = store.counts(&all()).await.unwrap();
    let fine = |n| {
        change(
            n,
            [
                vec![put_with_vector(memory(n, &Scope::Global, "fine"), vec![1.0])],
                name(n, EdgeKind::About, "Fine", &Scope::Global).to_vec(),
            ]
            .concat(),
        )
    };
    let stale = Memory { revision: 5, ..memory(1, &Scope::Global, "stale") };
    refused(store, &[fine(2), change(3, vec![put(memory(3, &Scope::Global, "half")), put(stale)]), fine(4)]).await;
    assert_eq!(store.counts(&all()).await.unwrap(), before);
    assert_eq!(find(store, &["fine", "half"], &all()).await, []);
    assert_eq!(
        store.apply(&[fine(2), fine(4)]).await.unwrap(),
        [Applied::Now, Applied::Now],
        "their ids are not used up"
    );
}

pub async fn change_applied_again_does_nothing(store: &dyn GraphStore) {
    let first =
        change(1, vec![put_with_vector(memory(1, &alice(), "once"), vec![1.0]), Op::Touch { ids: vec![id(1)] }]);
    let other = change(2, vec![put(memory(2, &alice(), "other"))]);
    let applied = store.apply(&[first.clone(), first.clone(), other]).await.unwrap();
    assert_eq!(applied, [Applied::Now, Applied::Before, Applied::Now]);
    let before = store.counts(&all()).await.unwrap();
    assert_eq!(store.apply(&[first]).await.unwrap(), [Applied::Before]);
    assert_eq!(get(store, 1).await.unwrap().access_count, 1);
    assert_eq!(store.counts(&all()).await.unwrap(), before);
    assert_eq!(store.apply(&[]).await.unwrap(), []);
}

/// What each change of a batch meets is what the ones before it left.
pub async fn batch_is_played_in_order(store: &dyn GraphStore) {
    let same = |n| Memory { content_hash: "same".to_owned(), ..memory(n, &alice(), "same text") };
    let archive = |n| Op::Retire { id: id(n), status: Status::Archived, valid_to: None };
    let about = name(1, EdgeKind::About, "Rome", &alice());
    let mentions = name(1, EdgeKind::Mentions, "Rome", &alice());
    let changes = [
        change(1, [vec![put_with_vector(same(1), vec![1.0])], about.to_vec()].concat()),
        change(2, vec![archive(1), put_with_vector(same(2), vec![2.0])]),
        change(3, vec![Op::Forget { id: id(2) }, put(same(3)), Op::Touch { ids: vec![id(2), id(3)] }]),
        change(4, vec![link(3, EdgeKind::Causes, 1, &alice()), link(3, EdgeKind::Causes, 2, &alice())]),
        change(5, [vec![Op::DropEdges { from: id(1).0, kinds: vec![EdgeKind::About] }], mentions.to_vec()].concat()),
        change(6, vec![put(Memory { revision: 2, content_hash: "other".to_owned(), ..same(3) }), put(same(4))]),
        change(7, vec![Op::Forget { id: id(4) }, put(same(4)), archive(4)]),
    ];
    assert_eq!(store.apply(&changes).await.unwrap(), [Applied::Now; 7]);
    let found = store.memories(&[id(1), id(2), id(3), id(4)], AsOf::default(), &all()).await.unwrap();
    let told: Vec<_> = found.iter().map(|memory| (memory.id, memory.status, memory.revision)).collect();
    assert_eq!(told, [(id(1), Status::Archived, 1), (id(3), Status::Active, 2), (id(4), Status::Archived, 1)]);
    let states = store.revisions(id(3), &all()).await.unwrap();
    assert_eq!(states.iter().map(|(.., memory)| memory.access_count).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(store.revisions(id(4), &all()).await.unwrap().len(), 2, "what was forgotten has left no state");
    let uses = store.concepts(&[ConceptKey("rome".to_owned())], None, &all()).await.unwrap();
    assert_eq!((uses[0].uses, uses[0].about), (1, 0));
    assert_eq!(store.total_memories(&all()).await.unwrap(), 3);
    assert_eq!(store.counts(&all()).await.unwrap().edges, 2, "the edge to what was forgotten is left out");
    let waiting: Vec<IndexOp> = store.outbox(0, 100).await.unwrap().into_iter().map(|row| row.op).collect();
    let told: Vec<_> = waiting
        .iter()
        .map(|op| match op {
            IndexOp::Upsert(point) => ("upsert", point.id),
            IndexOp::Retire { id, .. } => ("retire", *id),
            IndexOp::SetPayload { id, .. } => ("payload", *id),
            IndexOp::Delete { id } => ("delete", *id),
        })
        .collect();
    let expected = [("upsert", 1), ("retire", 1), ("delete", 2), ("delete", 4), ("retire", 4)];
    assert_eq!(told, expected.map(|(what, n)| (what, id(n))));
    refused(store, &[change(8, vec![put(same(5)), put(same(6)), archive(5)])]).await;
}

pub async fn revision_that_is_not_stored_is_a_conflict(store: &dyn GraphStore) {
    write(store, 1, vec![put(memory(1, &Scope::Global, "one"))]).await;
    write(store, 2, vec![put(Memory { revision: 2, ..memory(1, &Scope::Global, "two") })]).await;
    for (change_number, revision, n) in [(3, 1, 1), (4, 2, 1), (5, 4, 1), (6, 2, 9)] {
        refused(store, &[change(change_number, vec![put(Memory { revision, ..memory(n, &Scope::Global, "no") })])])
            .await;
    }
    write(store, 7, vec![put(Memory { revision: 3, ..memory(1, &Scope::Global, "three") })]).await;
    assert_eq!(get(store, 1).await.unwrap().content, "three");
}

pub async fn edge_to_a_member_that_is_no_longer_the_last_is_a_conflict(store: &dyn GraphStore) {
    let member = |n| Memory {
        session_id: Some("s".to_owned()),
        task_id: Some("t".to_owned()),
        ..memory(n, &Scope::Global, "x")
    };
    let chained = |n, before, kind| {
        let edge = Edge {
            from: id(n).0,
            to: id(before).0,
            kind,
            weight: 1.0,
            reason: None,
            scope: Scope::Global,
            recorded_at: at(1),
        };
        change(n, vec![put(member(n)), Op::PutEdge(edge)])
    };
    store.apply(&[change(1, vec![put(member(1))])]).await.unwrap();
    store.apply(&[chained(2, 1, EdgeKind::SameSession), chained(3, 2, EdgeKind::SameTask)]).await.unwrap();
    refused(store, &[chained(4, 2, EdgeKind::SameSession)]).await;
    refused(store, &[chained(4, 2, EdgeKind::SameTask)]).await;
    store.apply(&[chained(4, 3, EdgeKind::SameSession)]).await.unwrap();
    write(store, 5, vec![Op::Forget { id: id(4) }]).await;
    store.apply(&[chained(6, 3, EdgeKind::SameTask)]).await.expect("what is forgotten does not stand between");
}

pub async fn external_id_is_unique_within_a_scope(store: &dyn GraphStore) {
    let named = |n, scope: &Scope| Memory { external_id: Some("row".to_owned()), ..memory(n, scope, "x") };
    write(store, 1, vec![put(named(1, &alice())), put(named(2, &bob())), put(named(3, &Scope::Global))]).await;
    refused(store, &[change(2, vec![put(named(4, &alice()))])]).await;
    let asked = ["row".to_owned(), "none".to_owned()];
    for (scope, expected) in [(alice(), 1), (bob(), 2), (Scope::Global, 3)] {
        let found = store.by_external_ids(&asked, &Visibility::only(&scope)).await.unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("row".to_owned(), id(expected))]);
    }
    assert!(store.by_external_ids(&asked, &Visibility::only(&ops_group())).await.unwrap().is_empty());
}

pub async fn content_is_unique_within_a_scope_while_active(store: &dyn GraphStore) {
    let same = |n, scope: &Scope| Memory { content_hash: "same".to_owned(), ..memory(n, scope, "x") };
    write(store, 1, vec![put(same(1, &alice())), put(same(2, &bob()))]).await;
    refused(store, &[change(2, vec![put(same(3, &alice()))])]).await;
    let asked = ["same".to_owned(), "none".to_owned()];
    let found = store.by_content_hashes(&asked, &alice()).await.unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("same".to_owned(), id(1))]);
    write(store, 3, vec![Op::Retire { id: id(1), status: Status::Archived, valid_to: None }]).await;
    assert!(store.by_content_hashes(&asked, &alice()).await.unwrap().is_empty(), "only active memories count");
    write(store, 4, vec![put(same(3, &alice()))]).await;
    assert_eq!(store.by_content_hashes(&asked, &alice()).await.unwrap()["same"], id(3));
    assert!(store.by_content_hashes(&asked, &ops_group()).await.unwrap().is_empty());
}

pub async fn retiring_ends_a_belief_once(store: &dyn GraphStore) {
    write(
        store,
        1,
        vec![
            put(memory(1, &Scope::Global, "lyon")),
            put(Memory { valid_to: Some(at(50)), ..memory(2, &Scope::Global, "rome") }),
        ],
    )
    .await;
    let retire = |n, status, valid_to| Op::Retire { id: id(n), status, valid_to };
    write(
        store,
        10,
        vec![
            retire(1, Status::Superseded, Some(at(5))),
            retire(2, Status::Archived, None),
            retire(9, Status::Archived, None),
        ],
    )
    .await;
    let expected = Memory {
        status: Status::Superseded,
        valid_to: Some(at(5)),
        retired_at: Some(at(10)),
        ..memory(1, &Scope::Global, "lyon")
    };
    write(store, 11, vec![retire(1, Status::Archived, Some(at(7)))]).await;
    assert_eq!(get(store, 1).await.unwrap(), expected, "the second changes nothing");
    let other = get(store, 2).await.unwrap();
    assert_eq!((other.status, other.valid_to, other.retired_at), (Status::Archived, Some(at(50)), Some(at(10))));
    assert_eq!(find(store, &["lyon", "rome"], &all()).await, []);
    let retired: Vec<IndexOp> = store.outbox(0, 100).await.unwrap().into_iter().map(|row| row.op).collect();
    assert_eq!(
        retired,
        [
            IndexOp::Retire {
                id: id(1),
                status: Status::Superseded,
                valid_to: Some(at(5).as_microsecond()),
                retired_at: at(10).as_microsecond()
            },
            IndexOp::Retire {
                id: id(2),
                status: Status::Archived,
                valid_to: None,
                retired_at: at(10).as_microsecond()
            },
        ],
        "the index hears of what changed and of nothing else"
    );
}

/// As a decision that is taken back does.
pub async fn retired_memory_is_in_force_again_and_its_past_stays(store: &dyn GraphStore) {
    let kept = Memory { valid_to: Some(at(500)), ..memory(1, &Scope::Global, "lyon") };
    write(store, 1, vec![put_with_vector(kept.clone(), vec![1.0]), put(memory(2, &Scope::Global, "rome"))]).await;
    let superseded = Op::Retire { id: id(1), status: Status::Superseded, valid_to: Some(at(5)) };
    write(store, 10, vec![superseded, link(2, EdgeKind::Supersedes, 1, &Scope::Global)]).await;
    let again = Memory { revision: 2, recorded_at: at(20), ..kept };
    let dropped = Op::DropEdges { from: id(2).0, kinds: vec![EdgeKind::Supersedes] };
    write(store, 20, vec![put_with_vector(again.clone(), vec![1.0]), dropped]).await;
    assert_eq!(get(store, 1).await.unwrap(), again);
    assert_eq!(find(store, &["lyon"], &all()).await, [id(1)]);
    assert!(store.edges_of(id(2).0, 10, &all()).await.unwrap().is_empty());
    for (second, expected) in [(9, Status::Active), (15, Status::Superseded), (20, Status::Active)] {
        let state = store.memories(&[id(1)], then(second), &all()).await.unwrap().pop().unwrap();
        assert_eq!(state.status, expected, "in second {second}");
        let query = KeywordQuery { filter: known(second), ..question(&["lyon"]) };
        let found = store.keyword(&query, &all()).await.unwrap().len();
        assert_eq!(found, usize::from(expected == Status::Active), "in second {second}");
    }
    let waiting: Vec<IndexOp> = store.outbox(0, 100).await.unwrap().into_iter().map(|row| row.op).collect();
    let [IndexOp::Upsert(_), IndexOp::Retire { .. }, IndexOp::Upsert(point)] = &waiting[..] else {
        panic!("{waiting:?}")
    };
    assert_eq!((point.id, point.payload.status, point.payload.retired_at), (id(1), Status::Active, i64::MAX));
}

pub async fn touching_counts_and_keeps_the_latest_time(store: &dyn GraphStore) {
    write(store, 1, vec![put(memory(1, &Scope::Global, "x")), put(memory(2, &Scope::Global, "y"))]).await;
    write(store, 20, vec![Op::Touch { ids: vec![id(1), id(9), id(2)] }]).await;
    write(store, 10, vec![Op::Touch { ids: vec![id(1)] }]).await;
    let touched = get(store, 1).await.unwrap();
    assert_eq!((touched.access_count, touched.last_accessed, touched.revision), (2, Some(at(20)), 1));
    assert_eq!(get(store, 2).await.unwrap().access_count, 1);
}

pub async fn each_revision_is_believed_in_its_time(store: &dyn GraphStore) {
    let revision = |revision: u64, second: i64, content: &str| Memory {
        revision,
        recorded_at: at(second),
        ..memory(1, &Scope::Global, content)
    };
    write(store, 10, vec![put(revision(1, 10, "one"))]).await;
    write(store, 15, vec![Op::Touch { ids: vec![id(1)] }]).await;
    write(store, 20, vec![put(revision(2, 20, "two"))]).await;
    write(store, 30, vec![put(revision(3, 30, "three"))]).await;
    write(store, 40, vec![Op::Retire { id: id(1), status: Status::Superseded, valid_to: None }]).await;
    for (second, expected) in [
        (9, None),
        (10, Some("one")),
        (19, Some("one")),
        (20, Some("two")),
        (30, Some("three")),
        (39, Some("three")),
        (40, Some("three")),
    ] {
        let as_of = AsOf { known: Some(at(second)), world: None };
        let found = store.memories(&[id(1)], as_of, &all()).await.unwrap().pop();
        assert_eq!(found.as_ref().map(|memory| memory.content.as_str()), expected, "in second {second}");
    }
    let told: Vec<(Timestamp, Option<Timestamp>, String)> = store
        .revisions(id(1), &all())
        .await
        .unwrap()
        .into_iter()
        .map(|(from, to, memory)| (from, to, memory.content))
        .collect();
    let interval = |from, to: Option<i64>, content: &str| (at(from), to.map(at), content.to_owned());
    let expected = [(10, Some(20), "one"), (20, Some(30), "two"), (30, Some(40), "three"), (40, None, "three")];
    assert_eq!(told, expected.map(|(from, to, content)| interval(from, to, content)));
    assert_eq!(store.revisions(id(1), &all()).await.unwrap()[0].2.access_count, 1, "history keeps what was counted");
    write(store, 50, vec![Op::Forget { id: id(1) }]).await;
    assert_eq!(store.revisions(id(1), &all()).await.unwrap(), []);
    assert_eq!(store.memories(&[id(1)], AsOf { known: Some(at(15)), world: None }, &all()).await.unwrap(), []);
}

pub async fn earlier_revision_keeps_its_own_scope(store: &dyn GraphStore) {
    write(store, 10, vec![put(Memory { recorded_at: at(10), ..memory(1, &alice(), "secret draft") })]).await;
    write(store, 20, vec![put(Memory { revision: 2, recorded_at: at(20), ..memory(1, &ops_group(), "shared text") })])
        .await;
    let (owner, member) = (reader("alice", &["ops"]), reader("bob", &["ops"]));
    let then = AsOf { known: Some(at(15)), world: None };
    assert_eq!(store.memories(&[id(1)], then, &member).await.unwrap(), []);
    assert_eq!(store.memories(&[id(1)], then, &owner).await.unwrap()[0].content, "secret draft");
    assert_eq!(store.memories(&[id(1)], AsOf::default(), &member).await.unwrap()[0].content, "shared text");
    assert_eq!(store.revisions(id(1), &member).await.unwrap().len(), 1);
    assert_eq!(store.revisions(id(1), &owner).await.unwrap().len(), 2);
    assert_eq!(find(store, &["secret"], &all()).await, []);
}

/// Six memories in four scopes that all say the same, name the same concept, share a session and hang together.
async fn write_shared_world(store: &dyn GraphStore) -> [Scope; 4] {
    let scopes = [alice(), bob(), ops_group(), Scope::Global];
    let mut ops = Vec::new();
    for (n, scope) in (1..).zip(&scopes) {
        ops.push(put(Memory {
            external_id: Some(format!("row-{n}")),
            session_id: Some("talk".to_owned()),
            ..memory(n, scope, "common")
        }));
        ops.extend(name(n, EdgeKind::About, "Hub", scope));
        ops.extend(name(n, EdgeKind::Mentions, &format!("Only {n}"), scope));
    }
    // From the global one to each of the others, each as narrow as its narrower end.
    ops.extend((1..=3).map(|n| link(4, EdgeKind::Causes, n, &scopes[n as usize - 1])));
    // A careless edge that claims to be seen by all: its ends decide too.
    ops.push(link(2, EdgeKind::Supplements, 1, &Scope::Global));
    write(store, 1, ops).await;
    scopes
}

pub async fn reader_sees_only_its_scopes(store: &dyn GraphStore) {
    write_shared_world(store).await;
    let every = [id(1), id(2), id(3), id(4)];
    let readers = [
        (reader("alice", &["ops"]), vec![1, 3, 4]),
        (reader("alice", &[]), vec![1, 4]),
        (reader("bob", &["ops", "other"]), vec![2, 3, 4]),
        (reader("carol", &[]), vec![4]),
        (Visibility::only(&Scope::Private("nobody".to_owned())), vec![]),
        (all(), vec![1, 2, 3, 4]),
    ];
    for (visibility, numbers) in readers {
        let seen: Vec<MemoryId> = numbers.iter().map(|n| id(*n)).collect();
        let sorted = |mut ids: Vec<MemoryId>| {
            ids.sort_unstable();
            ids
        };
        let memories = store.memories(&every, AsOf::default(), &visibility).await.unwrap();
        assert_eq!(memories.iter().map(|memory| memory.id).collect::<Vec<_>>(), seen, "{visibility:?}");
        let names: Vec<String> = (1..=4).map(|n| format!("row-{n}")).collect();
        assert_eq!(store.by_external_ids(&names, &visibility).await.unwrap().into_values().collect::<Vec<_>>(), seen);
        assert_eq!(sorted(find(store, &["common"], &visibility).await), seen);
        let recent = store.recent(&Filter::default(), 10, &visibility).await.unwrap();
        assert_eq!(sorted(recent.into_iter().map(|scored| scored.id).collect()), seen);
        let page = store.page(None, 10, &visibility).await.unwrap();
        assert_eq!(page.into_iter().map(|memory| memory.id).collect::<Vec<_>>(), seen);

        // The edges from 4 to the visible others, and the careless one between 2 and 1 for who sees both.
        let mut links: Vec<(Uuid, Uuid)> = Vec::new();
        if seen.contains(&id(4)) {
            links.extend(seen.iter().filter(|other| **other != id(4)).map(|other| (id(4).0, other.0)));
        }
        if seen.contains(&id(1)) && seen.contains(&id(2)) {
            links.push((id(2).0, id(1).0));
        }
        let walk = store
            .neighbourhood(&NeighbourhoodQuery { seeds: every.to_vec(), ..around(&[], 2, EdgeKind::ALL) }, &visibility)
            .await
            .unwrap();
        assert_eq!(sorted(walk.nodes.iter().map(|node| node.id).collect()), seen);
        let mut walked: Vec<(Uuid, Uuid)> =
            walk.edges.iter().filter(|edge| !edge.kind.to_concept()).map(|edge| (edge.from, edge.to)).collect();
        walked.sort_unstable();
        links.sort_unstable();
        assert_eq!(walked, links);
        assert_eq!(walk.edges.len(), links.len() + 2 * seen.len());
        assert_eq!(walk.total_memories, seen.len());
        let from_one = store.neighbourhood(&around(&[4], 3, EdgeKind::ALL), &visibility).await.unwrap();
        let expected = if seen.contains(&id(4)) { seen.clone() } else { Vec::new() };
        assert_eq!(sorted(from_one.nodes.iter().map(|node| node.id).collect()), expected);

        let hub = |list: &[ConceptUse]| {
            list.iter().find(|used| used.concept == concept("Hub")).map(|used| (used.uses, used.about))
        };
        let expected = (!seen.is_empty()).then_some((seen.len(), seen.len()));
        assert_eq!(hub(&walk.concepts), expected);
        assert_eq!(walk.concepts.len(), if seen.is_empty() { 0 } else { seen.len() + 1 });
        let keys: Vec<ConceptKey> =
            ["Hub", "Only 1", "Only 2", "Only 3", "Only 4"].map(|label| concept(label).key).to_vec();
        let concepts = store.concepts(&keys, None, &visibility).await.unwrap();
        assert_eq!(hub(&concepts), expected);
        assert_eq!(concepts.len(), walk.concepts.len());
        let members = store.memories_of_concept(&concept("Hub").key, 10, None, &visibility).await.unwrap();
        assert_eq!(sorted(members.into_iter().map(|(id, _)| id).collect()), seen);

        for (node, id) in every.iter().enumerate() {
            let touching = links.iter().filter(|(from, to)| *from == id.0 || *to == id.0).count();
            let expected = if seen.contains(id) { touching + 2 } else { 0 };
            assert_eq!(store.edges_of(id.0, 100, &visibility).await.unwrap().len(), expected, "of {}", node + 1);
            assert_eq!(store.revisions(*id, &visibility).await.unwrap().len(), usize::from(seen.contains(id)));
        }
        assert_eq!(store.edges_of(concept("Hub").id.0, 100, &visibility).await.unwrap().len(), seen.len());
        let counts = store.counts(&visibility).await.unwrap();
        let expected = StoreCounts {
            memories: seen.len(),
            edges: links.len() + 2 * seen.len(),
            concepts: walk.concepts.len(),
            outbox: 0,
        };
        assert_eq!(counts, expected);
    }
    let last = store.last_members(EdgeKind::SameSession, &["talk".to_owned()], &bob()).await.unwrap();
    assert_eq!(last["talk"], id(2), "a session is of one scope");
    assert!(store.by_content_hashes(&["hash of 2".to_owned()], &alice()).await.unwrap().is_empty());
}

pub async fn widened_memory_is_counted_where_it_is_now(store: &dyn GraphStore) {
    let mut ops = vec![put(memory(1, &alice(), "draft"))];
    ops.extend(name(1, EdgeKind::About, "Topic", &alice()));
    ops.extend(name(1, EdgeKind::Mentions, "Topic", &alice()));
    write(store, 1, ops).await;
    let stranger = reader("bob", &[]);
    write(store, 2, vec![put(Memory { revision: 2, ..memory(1, &Scope::Global, "draft") })]).await;
    assert_eq!(find(store, &["draft"], &stranger).await, [id(1)]);
    assert_eq!(store.counts(&stranger).await.unwrap(), StoreCounts { memories: 1, edges: 0, concepts: 0, outbox: 0 });
    let again =
        [name(1, EdgeKind::About, "Topic", &Scope::Global), name(1, EdgeKind::Mentions, "Topic", &Scope::Global)];
    write(store, 3, again.concat()).await;
    let uses = store.concepts(&[concept("Topic").key], None, &stranger).await.unwrap();
    assert_eq!(uses, [ConceptUse { concept: concept("Topic"), uses: 1, about: 1 }]);
    assert_eq!(store.concepts(&[concept("Topic").key], None, &all()).await.unwrap(), uses);
    write(store, 4, vec![put(Memory { revision: 3, ..memory(1, &alice(), "draft") })]).await;
    assert_eq!(store.counts(&stranger).await.unwrap(), StoreCounts::default());
    assert_eq!(store.concepts(&[concept("Topic").key], None, &stranger).await.unwrap(), []);
    assert_eq!(find(store, &["draft"], &stranger).await, []);
}

pub async fn filter_means_what_the_domain_says(store: &dyn GraphStore) {
    let mut memories = Vec::new();
    for n in 1..=60_u64 {
        let pick = |step: u64, of: u64| usize::try_from(n / step % of).unwrap();
        let second = i64::try_from(n).unwrap();
        let retired = n % 4 == 1;
        memories.push(Memory {
            kind: Kind::ALL[pick(1, 5)],
            memory_type: MemoryType::ALL[pick(2, 8)],
            tags: [vec![], vec!["red".to_owned()], vec!["blue".to_owned(), "红".to_owned()]][pick(1, 3)].clone(),
            session_id: (n % 3 == 0).then(|| "s".to_owned()),
            task_id: (n % 5 == 0).then(|| "t".to_owned()),
            language: Language::ALL[pick(1, 2)],
            status: if retired { Status::ALL[1 + pick(4, 3)] } else { Status::Active },
            retired_at: retired.then(|| at(second + 20)),
            valid_from: (n % 7 == 0).then(|| at(second)),
            valid_to: (n % 6 == 0).then(|| at(second + 10)),
            expires_at: (n % 8 == 0).then(|| at(second + 5)),
            ..memory(n, &Scope::Global, "word")
        });
    }
    // All hang on the first, so that a walk could reach each.
    let seed = memory(100, &Scope::Global, "hub");
    let mut ops: Vec<Op> = memories.iter().cloned().map(put).collect();
    ops.push(put(seed));
    ops.extend((1..=60).map(|n| link(100, EdgeKind::Causes, n, &Scope::Global)));
    write(store, 1, ops).await;
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let as_of = |world: Option<i64>, known: Option<i64>| AsOf { world: world.map(at), known: known.map(at) };
    let filters = [
        Filter::default(),
        Filter { kinds: vec![Kind::Working, Kind::Warning], ..Filter::default() },
        Filter { types: vec![MemoryType::Fact, MemoryType::Insight], ..Filter::default() },
        Filter { tags: tags(&["red"]), ..Filter::default() },
        Filter { tags: tags(&["红", "red", "none"]), ..Filter::default() },
        Filter { tags: tags(&["\"] OR 1"]), ..Filter::default() },
        Filter { session_id: Some("s".to_owned()), ..Filter::default() },
        Filter { task_id: Some("t".to_owned()), kinds: vec![Kind::Working], ..Filter::default() },
        Filter { since: Some(at(20)), until: Some(at(40)), ..Filter::default() },
        Filter { language: Some(Language::Other), ..Filter::default() },
        Filter { include_superseded: true, ..Filter::default() },
        Filter { now: Some(at(30)), ..Filter::default() },
        Filter { as_of: as_of(Some(30), None), ..Filter::default() },
        Filter { as_of: as_of(None, Some(41)), ..Filter::default() },
        Filter { as_of: as_of(None, Some(41)), include_superseded: true, ..Filter::default() },
        Filter { as_of: as_of(Some(25), Some(50)), now: Some(at(50)), ..Filter::default() },
    ];
    for filter in filters {
        let expected: Vec<MemoryId> =
            memories.iter().filter(|memory| filter.matches(memory)).map(|memory| memory.id).collect();
        let sorted = |found: Vec<MemoryId>| {
            let mut ids: Vec<_> = found.into_iter().filter(|found| *found != id(100)).collect();
            ids.sort_unstable();
            ids
        };
        let query = KeywordQuery { filter: filter.clone(), limit: 100, ..question(&["word"]) };
        let keyword = store.keyword(&query, &all()).await.unwrap();
        assert_eq!(sorted(keyword.iter().map(|scored| scored.id).collect()), expected, "keyword: {filter:?}");
        let recent = store.recent(&filter, 100, &all()).await.unwrap();
        assert_eq!(sorted(recent.iter().map(|scored| scored.id).collect()), expected, "recent: {filter:?}");
        let seeds = memories.iter().map(|memory| memory.id).collect();
        let walk = NeighbourhoodQuery { seeds, filter: filter.clone(), ..around(&[], 1, &[EdgeKind::Causes]) };
        let walk = store.neighbourhood(&walk, &all()).await.unwrap();
        assert_eq!(sorted(walk.nodes.iter().map(|node| node.id).collect()), expected, "seeds: {filter:?}");
        if filter.matches(&memory(100, &Scope::Global, "hub")) {
            let walk = NeighbourhoodQuery { filter: filter.clone(), ..around(&[100], 1, &[EdgeKind::Causes]) };
            let walk = store.neighbourhood(&walk, &all()).await.unwrap();
            assert_eq!(sorted(walk.nodes.iter().map(|node| node.id).collect()), expected, "walk: {filter:?}");
        }
    }
}

pub async fn keyword_syntax_is_literal(store: &dyn GraphStore) {
    let odd = [
        "\"",
        "*",
        "wor*",
        "NEAR",
        "AND",
        "OR",
        "NOT",
        "terms:word",
        "terms",
        "-word",
        "+word",
        "(",
        ")",
        "(a)",
        "^word",
        "{a",
        "a}",
        "'",
        "''",
        ";--",
        "\\",
        "NEAR(a,b)",
        "a\"b",
        "%",
        "_",
        "?1",
        ":x",
        "$x",
        "s1",
    ];
    let ops = (1..).zip(odd).map(|(n, term)| put(memory(n, &Scope::Global, &format!("filler {term} rest")))).collect();
    write(store, 1, ops).await;
    write(store, 2, vec![put(memory(500, &Scope::Global, "word wording filler"))]).await;
    for (n, term) in (1..).zip(odd) {
        assert_eq!(find(store, &[term], &reader("alice", &[])).await, [id(n)], "term {term:?}");
        assert_eq!(find(store, &[&format!("filler {term}")], &all()).await, [id(n)], "{term:?} behind another");
        assert_eq!(find(store, &[&format!("{term} filler")], &all()).await, [], "{term:?} before another");
    }
    for none in
        [&[][..], &[""], &["  "], &["\u{0}"], &["\n\t"], &["absent"], &["fil"], &["fill*"], &["global"], &["s2"]]
    {
        assert_eq!(find(store, none, &all()).await, [], "{none:?}");
    }
    assert_eq!(find(store, &["", "word"], &all()).await, [id(500)]);
}

pub async fn every_script_is_found_by_keyword(store: &dyn GraphStore) {
    let terms = [
        "mcp服务-v2",
        "服务",
        "c++",
        "c#",
        "e0658",
        "snake_case",
        "🦀",
        "👩\u{200d}💻",
        "e\u{301}te",
        "ภาษาไทย",
        "العربية",
        "кириллица",
        "हिन्दी",
        "日本語",
        "한국어",
        "עברית",
        "naïve",
        "straße",
        "a\u{200b}b",
        "١٢٣",
        "½",
        "™",
        "\u{e000}",
    ];
    let ops =
        (1..).zip(terms).map(|(n, term)| put(memory(n, &Scope::Global, &format!("before {term} after")))).collect();
    write(store, 1, ops).await;
    for (n, term) in (1..).zip(terms) {
        assert_eq!(find(store, &[term], &all()).await, [id(n)], "term {term:?}");
    }
    for part in ["mcp", "v2", "snake", "case", "c", "语", "ete", "naive", "strasse"] {
        assert_eq!(find(store, &[part], &all()).await, [], "{part:?} is only part of a token or another spelling");
    }
}

pub async fn keyword_ranks_and_bounds(store: &dyn GraphStore) {
    let ops = vec![
        put(memory(1, &Scope::Global, "red fox and some more words that make it long")),
        put(memory(2, &Scope::Global, "red fox")),
        put(memory(3, &Scope::Global, "red hen")),
        put(memory(4, &Scope::Global, "blue hen")),
        put(memory(5, &Scope::Global, "red hen")),
        put(memory(6, &Scope::Global, "grey cat")),
        put(memory(7, &Scope::Global, "grey dog")),
        put(memory(8, &Scope::Global, "grey owl")),
    ];
    write(store, 1, ops).await;
    assert_eq!(
        find(store, &["red", "fox"], &all()).await,
        [id(2), id(1), id(3), id(5)],
        "more and denser first, ties by id"
    );
    assert_eq!(find(store, &["hen", "hen", "hen"], &all()).await, [id(3), id(4), id(5)]);
    let row = store.keyword(&question(&["red fox"]), &all()).await.unwrap();
    assert_eq!(row.iter().map(|scored| scored.id).collect::<Vec<_>>(), [id(2), id(1)], "terms in a row");
    assert!(row.iter().all(|scored| scored.score > 0.0), "{row:?}");
    assert_eq!(find(store, &["fox red fox"], &all()).await, [], "longer than any row");
    assert_eq!(find(store, &["red fox", "cat"], &all()).await.len(), 3, "a row or another term");
    let everyone = store.keyword(&question(&["red", "fox"]), &all()).await.unwrap();
    let few = store.keyword(&KeywordQuery { limit: 2, ..question(&["red", "fox"]) }, &all()).await.unwrap();
    assert_eq!(few, everyone[..2]);
    assert!(everyone.is_sorted_by(|a, b| a.score >= b.score));
    let nothing = store.keyword(&KeywordQuery { limit: 0, ..question(&["red"]) }, &all()).await.unwrap();
    assert_eq!(nothing, []);
    let alone = store.keyword(&question(&["red", "fox"]), &Visibility::only(&Scope::Global)).await.unwrap();
    assert_eq!(alone, everyone, "what a reader may see has no say in the order");
}

pub async fn better_words_that_the_filter_hides_starve_nobody(store: &dyn GraphStore) {
    let of = |n, kind, terms: &str| put(Memory { kind, ..memory(n, &Scope::Global, terms) });
    let mut ops: Vec<Op> = (1..=200).map(|n| of(n, Kind::Episodic, &format!("red fox {n}"))).collect();
    // The words are rarer in longer texts, so each of these scores less than any of those.
    ops.extend((201..=230).map(|n| of(n, Kind::Semantic, &format!("red fox {n} in a much longer text about hens"))));
    write(store, 1, ops).await;
    for limit in [1, 5, 29, 30, 40] {
        let filter = Filter { kinds: vec![Kind::Semantic], ..Filter::default() };
        let query = KeywordQuery { filter, limit, ..question(&["red", "fox"]) };
        let found = store.keyword(&query, &all()).await.unwrap();
        let expected: Vec<MemoryId> = (201..=230).map(id).take(limit).collect();
        assert_eq!(found.iter().map(|scored| scored.id).collect::<Vec<_>>(), expected, "ties by id, limit {limit}");
    }
}

pub async fn very_long_question_is_answered(store: &dyn GraphStore) {
    write_plain(store, 1..=20).await;
    let mut terms: Vec<String> = (0..200).flat_map(|n| [format!("n{n}"), "plain".to_owned()]).collect();
    terms.extend((0..20_000).map(|n| format!("absent{n}")));
    let query = KeywordQuery { terms, filter: Filter::default(), limit: 100 };
    assert_eq!(store.keyword(&query, &all()).await.unwrap().len(), 20);
}

pub async fn updated_terms_replace_the_old(store: &dyn GraphStore) {
    write(store, 1, vec![put(memory(1, &Scope::Global, "lyon")), put(memory(2, &Scope::Global, "lyon"))]).await;
    write(store, 2, vec![put(Memory { revision: 2, ..memory(1, &Scope::Global, "paris") })]).await;
    assert_eq!(find(store, &["lyon"], &all()).await, [id(2)]);
    assert_eq!(find(store, &["paris"], &all()).await, [id(1)]);
    write(store, 3, vec![put(Memory { revision: 3, importance: 0.9, ..memory(1, &Scope::Global, "paris") })]).await;
    assert_eq!(find(store, &["paris"], &all()).await, [id(1)]);
}

pub async fn recent_is_newest_first(store: &dyn GraphStore) {
    let happened = |n, second, scope: &Scope| put(Memory { occurred_at: at(second), ..memory(n, scope, "x") });
    let ops = vec![
        happened(1, 30, &alice()),
        happened(2, 10, &Scope::Global),
        happened(3, 50, &alice()),
        happened(4, 40, &Scope::Global),
        happened(5, 60, &bob()),
    ];
    write(store, 1, ops).await;
    let latest = store.recent(&Filter::default(), 3, &reader("alice", &[])).await.unwrap();
    assert_eq!(latest.iter().map(|scored| scored.id).collect::<Vec<_>>(), [id(3), id(4), id(1)]);
    assert_eq!(latest[0].score, at(50).as_second() as f32);
    let typed = |n, second, memory_type| {
        put(Memory { occurred_at: at(second), memory_type, ..memory(n, &Scope::Global, &format!("typed {n}")) })
    };
    let types = vec![MemoryType::Constraint, MemoryType::Pattern, MemoryType::Constraint];
    let ops =
        vec![typed(6, 70, MemoryType::Constraint), typed(7, 5, MemoryType::Pattern), typed(8, 20, MemoryType::Insight)];
    write(store, 2, ops).await;
    let of_types = store.recent(&Filter { types, ..Filter::default() }, 9, &all()).await.unwrap();
    assert_eq!(of_types.iter().map(|scored| scored.id).collect::<Vec<_>>(), [id(6), id(7)]);
    assert_eq!(store.recent(&Filter::default(), 0, &all()).await.unwrap(), []);
}

pub async fn walk_stops_at_its_depth_and_follows_its_direction(store: &dyn GraphStore) {
    write_plain(store, 1..=6).await;
    // 1 -> 2 -> 3 -> 4 by cause, 5 -> 1 by cause, 1 -> 6 by supplement.
    let mut ops: Vec<Op> =
        [(1, 2), (2, 3), (3, 4), (5, 1)].map(|(a, b)| link(a, EdgeKind::Causes, b, &Scope::Global)).to_vec();
    ops.push(link(1, EdgeKind::Supplements, 6, &Scope::Global));
    write(store, 2, ops).await;
    let cases: [(u32, Direction, &[EdgeKind], &[(u64, u32)]); 6] = [
        (1, Direction::Both, &[EdgeKind::Causes], &[(1, 0), (2, 1), (5, 1)]),
        (2, Direction::Out, &[EdgeKind::Causes], &[(1, 0), (2, 1), (3, 2)]),
        (4, Direction::Out, &[EdgeKind::Causes], &[(1, 0), (2, 1), (3, 2), (4, 3)]),
        (4, Direction::In, &[EdgeKind::Causes, EdgeKind::Supplements], &[(1, 0), (5, 1)]),
        (1, Direction::Both, &[EdgeKind::Supplements, EdgeKind::Causes], &[(1, 0), (2, 1), (5, 1), (6, 1)]),
        (4, Direction::Both, &[], &[(1, 0)]),
    ];
    for (depth, direction, edges, expected) in cases {
        let walk =
            store.neighbourhood(&NeighbourhoodQuery { direction, ..around(&[1], depth, edges) }, &all()).await.unwrap();
        assert_eq!(reached(&walk), numbered(expected), "{depth} {direction:?} {edges:?}");
        assert!(!walk.truncated);
        assert!(walk.nodes.is_sorted_by_key(|node| node.distance));
    }
    let unknown = store.neighbourhood(&around(&[77], 2, EdgeKind::ALL), &all()).await.unwrap();
    assert_eq!(unknown, Neighbourhood { total_memories: 6, ..Neighbourhood::default() });
    let twice = store.neighbourhood(&around(&[3, 1, 3], 1, &[EdgeKind::Causes]), &all()).await.unwrap();
    assert_eq!(reached(&twice), numbered(&[(1, 0), (2, 1), (3, 0), (4, 1), (5, 1)]));
}

pub async fn walk_is_cut_nearest_first(store: &dyn GraphStore) {
    write_plain(store, 1..=30).await;
    let mut ops: Vec<Op> = (2..=10).map(|n| link(1, EdgeKind::Causes, n, &Scope::Global)).collect();
    ops.extend((11..=30).map(|n| link(2, EdgeKind::Causes, n, &Scope::Global)));
    write(store, 2, ops).await;
    for (max_nodes, truncated, farthest) in [(1, true, 0), (5, true, 1), (10, true, 1), (12, true, 2), (30, false, 2)] {
        let query = NeighbourhoodQuery { max_nodes, ..around(&[1], 2, &[EdgeKind::Causes]) };
        let walk = store.neighbourhood(&query, &all()).await.unwrap();
        assert_eq!((walk.nodes.len(), walk.truncated), (max_nodes, truncated));
        assert_eq!(walk.nodes.last().unwrap().distance, farthest);
        let inside: BTreeSet<Uuid> = walk.nodes.iter().map(|node| node.id.0).collect();
        assert!(walk.edges.iter().all(|edge| inside.contains(&edge.from) && inside.contains(&edge.to)));
    }
    let exact = NeighbourhoodQuery { max_nodes: 10, ..around(&[1], 1, &[EdgeKind::Causes]) };
    assert!(!store.neighbourhood(&exact, &all()).await.unwrap().truncated, "all that was asked for fitted");
}

pub async fn walk_crosses_a_hub_to_its_subject_only(store: &dyn GraphStore) {
    write_plain(store, 1..=40).await;
    let mut ops = Vec::new();
    // 1..=30 mention the hub, 31 is about it; 1, 32 and 33 share something rare, which 33 is about.
    for n in 1..=30 {
        ops.extend(name(n, EdgeKind::Mentions, "Hub", &Scope::Global));
    }
    ops.extend(name(31, EdgeKind::About, "Hub", &Scope::Global));
    for n in [1, 32] {
        ops.extend(name(n, EdgeKind::Mentions, "Rare", &Scope::Global));
    }
    ops.extend(name(33, EdgeKind::About, "Rare", &Scope::Global));
    write(store, 2, ops).await;
    let both = [EdgeKind::About, EdgeKind::Mentions];
    let cases: [(&[EdgeKind], usize, u64, &[(u64, u32)]); 6] = [
        (&both, 10, 1, &[(1, 0), (31, 1), (32, 1), (33, 1)]),
        (&both, 2, 1, &[(1, 0), (31, 1), (33, 1)]),
        (&both, 10, 31, &[(31, 0)]),
        (&both, 10, 33, &[(1, 1), (32, 1), (33, 0)]),
        (&[EdgeKind::Mentions], 10, 1, &[(1, 0), (32, 1)]),
        (&[EdgeKind::Causes], 10, 1, &[(1, 0)]),
    ];
    for (edges, max_concept_uses, seed, expected) in cases {
        let query = NeighbourhoodQuery { max_concept_uses, ..around(&[seed], 1, edges) };
        let walk = store.neighbourhood(&query, &all()).await.unwrap();
        assert_eq!(reached(&walk), numbered(expected), "{edges:?} {max_concept_uses} from {seed}");
    }
    let wide = NeighbourhoodQuery { max_concept_uses: 31, ..around(&[31], 1, &both) };
    assert_eq!(store.neighbourhood(&wide, &all()).await.unwrap().nodes.len(), 31, "as many as that are crossed");
    let far = store.neighbourhood(&around(&[2], 3, &both), &all()).await.unwrap();
    assert_eq!(reached(&far), numbered(&[(2, 0), (31, 1)]), "nobody walks through the hub");
}

pub async fn walk_takes_the_turns_near_a_seed(store: &dyn GraphStore) {
    let turn = |n, scope: &Scope, session: &str| {
        put(Memory { session_id: Some(session.to_owned()), ..memory(n, scope, "turn") })
    };
    let mut ops: Vec<Op> = (1..=9).map(|n| turn(n, &alice(), "talk")).collect();
    ops.extend([turn(10, &alice(), "other"), turn(11, &bob(), "talk")]);
    ops.extend((2..=9).map(|n| link(n, EdgeKind::SameSession, n - 1, &alice())));
    write(store, 1, ops).await;
    let cases: [(u32, Direction, &[(u64, u32)]); 4] = [
        (1, Direction::Both, &[(2, 1), (3, 1), (4, 1), (5, 0), (6, 1), (7, 1), (8, 1)]),
        (1, Direction::Out, &[(2, 1), (3, 1), (4, 1), (5, 0)]),
        (1, Direction::In, &[(5, 0), (6, 1), (7, 1), (8, 1)]),
        (2, Direction::Both, &[(1, 2), (2, 1), (3, 1), (4, 1), (5, 0), (6, 1), (7, 1), (8, 1), (9, 2)]),
    ];
    for (depth, direction, expected) in cases {
        let query = NeighbourhoodQuery { direction, ..around(&[5], depth, &[EdgeKind::SameSession]) };
        let walk = store.neighbourhood(&query, &reader("alice", &[])).await.unwrap();
        assert_eq!(reached(&walk), numbered(expected), "{depth} {direction:?}");
        for node in &walk.nodes {
            assert_eq!(node.session, Some(("private:alice".to_owned(), "talk".to_owned())));
            assert_eq!(id(node.session_position.unwrap()), node.id);
        }
        assert_eq!(walk.edges.len(), walk.nodes.len() - 1);
    }
    let nearest = NeighbourhoodQuery { max_nodes: 3, ..around(&[5], 1, &[EdgeKind::SameSession]) };
    let walk = store.neighbourhood(&nearest, &all()).await.unwrap();
    assert!(walk.truncated && walk.nodes.len() == 3);
    let none = store.neighbourhood(&around(&[5], 1, &[EdgeKind::Causes]), &all()).await.unwrap();
    assert_eq!(reached(&none), numbered(&[(5, 0)]));
    // A forgotten turn leaves a gap, and the next one still comes last.
    write(store, 2, vec![Op::Forget { id: id(4) }, turn(12, &alice(), "talk")]).await;
    let walk = store.neighbourhood(&around(&[5, 12], 1, &[EdgeKind::SameSession]), &all()).await.unwrap();
    let positions: Vec<u64> =
        [3, 5, 12].map(|n| walk.nodes.iter().find(|node| node.id == id(n)).unwrap().session_position.unwrap()).to_vec();
    assert_eq!(positions, [3, 5, 10]);
}

pub async fn walk_sees_no_edge_before_it_was_recorded(store: &dyn GraphStore) {
    write_plain(store, 1..=3).await;
    let later = |edge: Edge| Op::PutEdge(Edge { recorded_at: at(50), ..edge });
    let mut ops =
        vec![later(edge(id(1).0, EdgeKind::Causes, id(2).0, &Scope::Global)), Op::PutConcept(concept("Topic"))];
    ops.extend([1, 3].map(|n| later(edge(id(n).0, EdgeKind::Mentions, concept("Topic").id.0, &Scope::Global))));
    write(store, 2, ops).await;
    for (second, expected) in [(49, &[(1, 0)][..]), (50, &[(1, 0), (2, 1), (3, 1)])] {
        let filter = Filter { as_of: AsOf { known: Some(at(second)), world: None }, ..Filter::default() };
        let walk = store
            .neighbourhood(&NeighbourhoodQuery { filter, ..around(&[1], 1, EdgeKind::ALL) }, &all())
            .await
            .unwrap();
        assert_eq!(reached(&walk), numbered(expected), "in second {second}");
        assert_eq!(walk.edges.is_empty(), expected.len() == 1);
    }
}

pub async fn walk_reports_concepts_and_edges_among_its_nodes(store: &dyn GraphStore) {
    write_plain(store, 1..=4).await;
    let mut ops = vec![
        link(1, EdgeKind::Causes, 2, &Scope::Global),
        link(2, EdgeKind::Contradicts, 1, &Scope::Global),
        link(2, EdgeKind::Causes, 4, &Scope::Global),
    ];
    ops.extend(name(1, EdgeKind::About, "Shared", &Scope::Global));
    ops.extend(name(3, EdgeKind::Mentions, "Shared", &Scope::Global));
    ops.extend(name(1, EdgeKind::Mentions, "Lonely", &Scope::Global));
    ops.extend(name(3, EdgeKind::Mentions, "Elsewhere", &Scope::Global));
    write(store, 2, ops).await;
    let walk = store
        .neighbourhood(&around(&[1], 1, &[EdgeKind::Causes, EdgeKind::About, EdgeKind::Mentions]), &all())
        .await
        .unwrap();
    assert_eq!(reached(&walk), numbered(&[(1, 0), (2, 1), (3, 1)]));
    let mut concepts = walk.concepts.clone();
    concepts.sort_by(|a, b| a.concept.key.cmp(&b.concept.key));
    let used = |label, uses, about| ConceptUse { concept: concept(label), uses, about };
    assert_eq!(concepts, [used("Lonely", 1, 0), used("Shared", 2, 1)], "crossed, or named by the seed");
    let mut edges: Vec<(Uuid, EdgeKind, Uuid)> =
        walk.edges.iter().map(|edge| (edge.from, edge.kind, edge.to)).collect();
    edges.sort_unstable();
    let shared = concept("Shared").id.0;
    let mut expected = vec![
        (id(1).0, EdgeKind::Causes, id(2).0),
        (id(1).0, EdgeKind::About, shared),
        (id(3).0, EdgeKind::Mentions, shared),
        (id(1).0, EdgeKind::Mentions, concept("Lonely").id.0),
    ];
    expected.sort_unstable();
    assert_eq!(edges, expected, "kinds that were not asked for stay out");
    assert_eq!(walk.edges[0].weight, 0.75);
    assert_eq!(walk.total_memories, 4);
}

pub async fn hub_of_edges_is_bounded(store: &dyn GraphStore) {
    write_plain(store, 1..=600).await;
    let mut ops: Vec<Op> = (2..=600).map(|n| link(1, EdgeKind::DerivedFrom, n, &Scope::Global)).collect();
    ops.push(link(600, EdgeKind::Causes, 1, &Scope::Global));
    write(store, 2, ops).await;
    let walk = store.neighbourhood(&around(&[1], 1, &[EdgeKind::DerivedFrom, EdgeKind::Causes]), &all()).await.unwrap();
    assert!((100..500).contains(&walk.nodes.len()), "{} of 600", walk.nodes.len());
    assert!(walk.nodes.iter().any(|node| node.id == id(600)), "the other direction has its own bound");
}

pub async fn concept_counts_each_memory_once(store: &dyn GraphStore) {
    write_plain(store, 1..=4).await;
    let mut ops = Vec::new();
    for (n, kind) in [(1, EdgeKind::Mentions), (2, EdgeKind::About), (3, EdgeKind::About), (3, EdgeKind::Mentions)] {
        ops.extend(name(n, kind, "Topic", &Scope::Global));
    }
    write(store, 2, ops).await;
    let key = concept("Topic").key;
    let keys = [ConceptKey("absent".to_owned()), key.clone()];
    assert_eq!(
        store.concepts(&keys, None, &all()).await.unwrap(),
        [ConceptUse { concept: concept("Topic"), uses: 3, about: 2 }]
    );
    let members = store.memories_of_concept(&key, 10, None, &all()).await.unwrap();
    assert_eq!(members[2], (id(1), EdgeKind::Mentions), "the subject comes first");
    assert_eq!(members.iter().filter(|(_, kind)| *kind == EdgeKind::About).count(), 2);
    assert_eq!(store.memories_of_concept(&key, 2, None, &all()).await.unwrap(), members[..2]);
    assert_eq!(store.memories_of_concept(&keys[0], 2, None, &all()).await.unwrap(), []);
    for (change, forgotten, expected) in [(3, 3, Some((2, 1))), (4, 2, Some((1, 0))), (5, 1, None)] {
        write(store, change, vec![Op::Forget { id: id(forgotten) }]).await;
        let uses = store.concepts(&keys, None, &all()).await.unwrap();
        assert_eq!(uses.first().map(|used| (used.uses, used.about)), expected);
    }
}

pub async fn concept_that_nothing_names_any_longer_goes(store: &dyn GraphStore) {
    write_plain(store, 1..=2).await;
    write(store, 2, name(1, EdgeKind::About, "Topic", &Scope::Global).to_vec()).await;
    write(store, 3, vec![Op::Forget { id: id(1) }]).await;
    write(store, 4, vec![Op::PutEdge(edge(id(2).0, EdgeKind::About, concept("Topic").id.0, &Scope::Global))]).await;
    assert_eq!(store.counts(&all()).await.unwrap().edges, 0, "its end is gone, so the edge is left out");
    // In one change, what one operation lets go the next may name again.
    write(store, 5, name(2, EdgeKind::About, "Topic", &Scope::Global).to_vec()).await;
    let mut ops = vec![Op::DropEdges { from: id(2).0, kinds: vec![EdgeKind::About] }];
    ops.extend(name(2, EdgeKind::Mentions, "Topic", &Scope::Global));
    write(store, 6, ops).await;
    let uses = store.concepts(&[concept("Topic").key], None, &all()).await.unwrap();
    assert_eq!(uses, [ConceptUse { concept: concept("Topic"), uses: 1, about: 0 }]);
}

pub async fn edge_written_again_replaces_weight_and_reason(store: &dyn GraphStore) {
    write_plain(store, 1..=2).await;
    let first = edge(id(1).0, EdgeKind::Causes, id(2).0, &Scope::Global);
    let mention = edge(id(1).0, EdgeKind::Mentions, concept("Topic").id.0, &Scope::Global);
    write(store, 2, vec![Op::PutEdge(first.clone()), Op::PutConcept(concept("Topic")), Op::PutEdge(mention.clone())])
        .await;
    let again =
        |edge: &Edge| Edge { weight: 0.25, reason: Some("because".to_owned()), recorded_at: at(99), ..edge.clone() };
    write(store, 3, vec![Op::PutEdge(again(&first)), Op::PutEdge(again(&mention))]).await;
    let mut edges = store.edges_of(id(1).0, 10, &all()).await.unwrap();
    edges.sort_by_key(|edge| edge.kind);
    let expected = |edge: &Edge| Edge { recorded_at: at(1), ..again(edge) };
    assert_eq!(edges, [expected(&first), expected(&mention)], "one edge each, known since it was first written");
    assert_eq!(store.edges_of(id(1).0, 1, &all()).await.unwrap().len(), 1);
    assert_eq!(store.edges_of(id(2).0, 10, &all()).await.unwrap(), [expected(&first)]);
    let missing = [link(1, EdgeKind::Causes, 77, &Scope::Global), link(77, EdgeKind::Causes, 1, &Scope::Global)];
    let unnamed = Op::PutEdge(edge(id(1).0, EdgeKind::About, concept("Unknown").id.0, &Scope::Global));
    write(store, 4, [missing.to_vec(), vec![unnamed]].concat()).await;
    assert_eq!(store.counts(&all()).await.unwrap().edges, 2, "an edge without both ends is left out");
    assert_eq!(store.half_links(false).await.unwrap(), 0);
    assert_eq!(store.half_links(true).await.unwrap(), 0);
}

pub async fn dropped_edges_are_gone(store: &dyn GraphStore) {
    write_plain(store, 1..=2).await;
    let mut ops = vec![
        link(1, EdgeKind::Causes, 2, &Scope::Global),
        link(1, EdgeKind::Supplements, 2, &Scope::Global),
        link(2, EdgeKind::Causes, 1, &Scope::Global),
    ];
    ops.extend(name(1, EdgeKind::About, "Old", &Scope::Global));
    ops.extend(name(2, EdgeKind::About, "Old", &Scope::Global));
    ops.extend(name(1, EdgeKind::Mentions, "Gone", &Scope::Global));
    write(store, 2, ops).await;
    write(
        store,
        3,
        vec![Op::DropEdges { from: id(1).0, kinds: vec![EdgeKind::Causes, EdgeKind::About, EdgeKind::Mentions] }],
    )
    .await;
    let left: BTreeSet<(Uuid, EdgeKind)> =
        store.edges_of(id(1).0, 10, &all()).await.unwrap().into_iter().map(|edge| (edge.from, edge.kind)).collect();
    assert_eq!(left, BTreeSet::from([(id(1).0, EdgeKind::Supplements), (id(2).0, EdgeKind::Causes)]));
    let uses = store.concepts(&[concept("Old").key, concept("Gone").key], None, &all()).await.unwrap();
    assert_eq!(uses, [ConceptUse { concept: concept("Old"), uses: 1, about: 1 }]);
}

pub async fn last_member_is_the_last_recorded(store: &dyn GraphStore) {
    let member = |n, scope: &Scope, session: &str, task: &str| {
        put(Memory { session_id: Some(session.to_owned()), task_id: Some(task.to_owned()), ..memory(n, scope, "x") })
    };
    write(
        store,
        1,
        vec![
            member(5, &alice(), "s1", "t1"),
            member(9, &alice(), "s2", "t1"),
            member(2, &alice(), "s1", "t2"),
            member(7, &bob(), "s1", "t1"),
        ],
    )
    .await;
    let names = ["s1", "s2", "s3", "t1", "t2"].map(str::to_owned);
    let last = async |kind| store.last_members(kind, &names, &alice()).await.unwrap().into_iter().collect::<Vec<_>>();
    assert_eq!(last(EdgeKind::SameSession).await, [("s1".to_owned(), id(2)), ("s2".to_owned(), id(9))]);
    assert_eq!(last(EdgeKind::SameTask).await, [("t1".to_owned(), id(9)), ("t2".to_owned(), id(2))]);
    write(store, 2, vec![Op::Forget { id: id(2) }]).await;
    assert_eq!(last(EdgeKind::SameSession).await[0], ("s1".to_owned(), id(5)));
    // An update is no new turn.
    write(store, 3, vec![member(6, &alice(), "s1", "t1")]).await;
    write(
        store,
        4,
        vec![Op::PutMemory {
            expected_revision: 1,
            memory: Box::new(Memory { revision: 2, session_id: Some("s1".to_owned()), ..memory(5, &alice(), "x") }),
            vectors: Vec::new(),
        }],
    )
    .await;
    assert_eq!(last(EdgeKind::SameSession).await[0], ("s1".to_owned(), id(6)));
}

pub async fn answer_is_kept_under_its_key(store: &dyn GraphStore) {
    let idempotency =
        Idempotency { key: "k".to_owned(), request_hash: "h".to_owned(), answer: json!({"id": id(1), "score": 0.5}) };
    let keyed = |n, actor: &str| ChangeSet {
        idempotency: Some(idempotency.clone()),
        actor: actor.to_owned(),
        ..change(n, vec![put(memory(n, &Scope::Global, "x"))])
    };
    let first = keyed(1, "alice");
    assert_eq!(store.apply(std::slice::from_ref(&first)).await.unwrap(), [Applied::Now]);
    assert_eq!(
        store.apply(std::slice::from_ref(&first)).await.unwrap(),
        [Applied::Before],
        "the same change again is no conflict"
    );
    refused(store, &[keyed(2, "alice")]).await;
    assert_eq!(store.apply(&[keyed(3, "bob")]).await.unwrap(), [Applied::Now], "a key is of one principal");
    let recorded = store.recorded("alice", "k").await.unwrap().unwrap();
    assert_eq!((recorded.change, recorded.idempotency), (first.id, idempotency.clone()));
    assert_eq!(store.recorded("alice", "other").await.unwrap(), None);
    assert_eq!(store.recorded("carol", "k").await.unwrap(), None);
}

pub async fn outbox_holds_what_the_index_must_do_in_order(store: &dyn GraphStore) {
    let vector = vec![0.1, -0.5, f32::MIN_POSITIVE, 1.0 / 3.0];
    let mut stored = memory(1, &alice(), "x");
    stored.tags = vec!["红".to_owned()];
    let two = Op::PutMemory {
        memory: Box::new(stored.clone()),
        expected_revision: 0,
        vectors: vec![
            NamedVector { space: "e5".to_owned(), vector: vector.clone() },
            NamedVector { space: "e5.window".to_owned(), vector: vec![] },
        ],
    };
    let first = change(1, vec![two, put(memory(2, &alice(), "no vector"))]);
    let second = change(
        2,
        vec![Op::Retire { id: id(1), status: Status::Archived, valid_to: None }, Op::Touch { ids: vec![id(2)] }],
    );
    store.apply(&[first.clone(), second.clone()]).await.unwrap();
    let rows = store.outbox(0, 10).await.unwrap();
    let expected: Vec<IndexOp> = [first.index_ops(), second.index_ops()].concat();
    assert_eq!(rows.iter().map(|row| row.op.clone()).collect::<Vec<_>>(), expected);
    assert!(matches!(&rows[0].op, IndexOp::Upsert(Point { payload, vectors, .. })
        if *payload == Payload::of(&stored) && vectors[0].vector == vector));
    assert!(rows.is_sorted_by(|a, b| a.seq < b.seq));
    assert_eq!(store.outbox(rows[0].seq, 10).await.unwrap(), rows[1..]);
    assert_eq!(store.outbox(0, 1).await.unwrap(), rows[..1]);
    store.outbox_done(rows[0].seq).await.unwrap();
    assert_eq!(store.outbox(0, 10).await.unwrap(), rows[1..]);
    assert_eq!(store.counts(&reader("nobody", &[])).await.unwrap().outbox, 1);
    store.outbox_done(rows[1].seq).await.unwrap();
    write(store, 3, vec![put_with_vector(memory(3, &alice(), "y"), vec![1.0])]).await;
    assert!(store.outbox(0, 10).await.unwrap()[0].seq > rows[1].seq, "numbers are not used again");
}

pub async fn forgetting_reaches_everything(store: &dyn GraphStore) {
    let secret = Memory {
        external_id: Some("row".to_owned()),
        session_id: Some("talk".to_owned()),
        task_id: Some("work".to_owned()),
        ..memory(1, &Scope::Global, "zebra secret")
    };
    let answer = |key: &str, answer| Some(Idempotency { key: key.to_owned(), request_hash: "h".to_owned(), answer });
    let mut ops = vec![put_with_vector(secret.clone(), vec![1.0]), put(memory(2, &Scope::Global, "other"))];
    ops.extend(name(1, EdgeKind::About, "Zebra", &Scope::Global));
    ops.extend(
        [name(1, EdgeKind::Mentions, "Zoo", &Scope::Global), name(2, EdgeKind::Mentions, "Zoo", &Scope::Global)]
            .concat(),
    );
    ops.extend([link(2, EdgeKind::DerivedFrom, 1, &Scope::Global), link(1, EdgeKind::Causes, 2, &Scope::Global)]);
    let stored = ChangeSet { idempotency: answer("stored", json!({"outcome": "stored"})), ..change(1, ops) };
    let told = ChangeSet {
        idempotency: answer("told", json!({"found": [{"ids": [id(1).to_string()]}]})),
        ..change(2, vec![])
    };
    let keyed = ChangeSet { idempotency: answer("keyed", json!({id(1).to_string(): 1})), ..change(3, vec![]) };
    let unrelated = ChangeSet { idempotency: answer("unrelated", json!({"id": id(2)})), ..change(4, vec![]) };
    store.apply(&[stored, told, keyed, unrelated]).await.unwrap();
    write(store, 5, vec![put(Memory { revision: 2, ..secret.clone() }), Op::Touch { ids: vec![id(1)] }]).await;
    let forget = ChangeSet {
        idempotency: answer("forget", json!({"forgotten": [id(1)]})),
        ..change(6, vec![Op::Forget { id: id(1) }])
    };
    assert_eq!(store.apply(&[forget]).await.unwrap(), [Applied::Now]);

    assert_eq!(get(store, 1).await, None);
    assert_eq!(store.revisions(id(1), &all()).await.unwrap(), []);
    assert_eq!(find(store, &["zebra", "secret"], &all()).await, []);
    assert!(store.by_external_ids(&["row".to_owned()], &all()).await.unwrap().is_empty());
    assert!(store.by_content_hashes(&[secret.content_hash], &Scope::Global).await.unwrap().is_empty());
    assert!(store.last_members(EdgeKind::SameSession, &["talk".to_owned()], &Scope::Global).await.unwrap().is_empty());
    assert!(store.last_members(EdgeKind::SameTask, &["work".to_owned()], &Scope::Global).await.unwrap().is_empty());
    assert_eq!(store.edges_of(id(1).0, 10, &all()).await.unwrap(), []);
    let uses = store.concepts(&[concept("Zebra").key, concept("Zoo").key], None, &all()).await.unwrap();
    assert_eq!(uses, [ConceptUse { concept: concept("Zoo"), uses: 1, about: 0 }]);
    for (key, kept) in [("stored", false), ("told", false), ("keyed", false), ("unrelated", true), ("forget", true)] {
        assert_eq!(store.recorded("alice", key).await.unwrap().is_some(), kept, "the answer under {key}");
    }
    let counts = store.counts(&all()).await.unwrap();
    assert_eq!(counts, StoreCounts { memories: 1, edges: 1, concepts: 1, outbox: 1 });
    assert_eq!(store.half_links(false).await.unwrap(), 0);
    write(store, 7, vec![Op::Forget { id: id(1) }]).await;
    write(store, 8, vec![put(Memory { external_id: Some("row".to_owned()), ..memory(3, &Scope::Global, "zebra") })])
        .await;
    assert_eq!(find(store, &["zebra"], &all()).await, [id(3)]);
}

pub async fn forgotten_vectors_do_not_wait_in_the_outbox(store: &dyn GraphStore) {
    write(
        store,
        1,
        vec![
            put_with_vector(memory(1, &alice(), "x"), vec![0.125]),
            put_with_vector(memory(2, &alice(), "y"), vec![0.5]),
        ],
    )
    .await;
    write(store, 2, vec![Op::Retire { id: id(1), status: Status::Archived, valid_to: None }]).await;
    write(
        store,
        3,
        vec![put_with_vector(memory(3, &alice(), "z"), vec![0.25]), Op::Forget { id: id(1) }, Op::Forget { id: id(3) }],
    )
    .await;
    let rows = store.outbox(0, 10).await.unwrap();
    let told: Vec<(MemoryId, bool)> = rows
        .iter()
        .map(|row| match &row.op {
            IndexOp::Upsert(point) => (point.id, true),
            IndexOp::Delete { id } => (*id, false),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [(id(2), true), (id(1), false), (id(3), false)]);
}

pub async fn pages_walk_everything_once(store: &dyn GraphStore) {
    let scopes = [Scope::Global, alice()];
    let ops = (1..=10).map(|n| put(memory(n, &scopes[usize::from(n % 2 == 1)], "x"))).collect();
    write(store, 1, ops).await;
    write(store, 2, vec![Op::Retire { id: id(4), status: Status::Archived, valid_to: None }]).await;
    for (visibility, expected) in [(all(), (1..=10).collect::<Vec<u64>>()), (reader("bob", &[]), vec![2, 4, 6, 8, 10])]
    {
        let (mut after, mut walked) = (None, Vec::new());
        loop {
            let page = store.page(after, 3, &visibility).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            walked.extend(page.iter().map(|memory| memory.id));
        }
        assert_eq!(walked, expected.into_iter().map(id).collect::<Vec<_>>());
    }
}

pub async fn setting_is_kept(store: &dyn GraphStore) {
    assert_eq!(store.meta("model").await.unwrap(), None);
    store.set_meta("model", "e5").await.unwrap();
    store.set_meta("model", "e5 v2").await.unwrap();
    assert_eq!(store.meta("model").await.unwrap().as_deref(), Some("e5 v2"));
    for (key, expected, value, done) in [
        ("lease", Some("x"), "one", false),
        ("lease", None, "one", true),
        ("lease", None, "two", false),
        ("lease", Some("two"), "three", false),
        ("lease", Some("one"), "two", true),
        ("model", Some("e5"), "other", false),
    ] {
        assert_eq!(store.swap_meta(key, expected, value).await.unwrap(), done, "{key} {expected:?} {value}");
    }
    assert_eq!(store.meta("lease").await.unwrap().as_deref(), Some("two"));
    assert_eq!(store.meta("model").await.unwrap().as_deref(), Some("e5 v2"));
    // Of several that know the same, one changes it.
    let tries = ["a", "b", "c", "d", "e", "f"].map(|value| store.swap_meta("lease", Some("two"), value));
    let done = futures::future::join_all(tries).await;
    assert_eq!(done.into_iter().filter(|done| *done.as_ref().unwrap()).count(), 1);
    store.ping().await.unwrap();
}

/// Whatever is written, in whatever order: a change applied twice is a change applied once, and no counter differs from
/// what it counts.
pub async fn repeated_changes_and_counters_agree(store: &dyn GraphStore) {
    let scopes = [alice(), ops_group(), Scope::Global];
    let readers = [all(), reader("alice", &[]), reader("alice", &["ops"]), reader("bob", &["ops"])];
    let labels = ["Red", "Green", "Blue"];
    let mut runner = TestRunner::deterministic();
    let step = (0..7_u8, 1..=6_u64, 1..=6_u64, 0..3_usize, 0..3_usize);
    for round in 1..=60 {
        let steps = vec(step.clone(), 1..6).new_tree(&mut runner).unwrap().current();
        let mut ops = Vec::new();
        let mut revisions: std::collections::HashMap<u64, u64> = std::collections::HashMap::new();
        for (what, a, b, scope, label) in steps {
            let scope = &scopes[scope];
            match what {
                0 | 1 => {
                    let stored = match revisions.get(&a) {
                        Some(revision) => *revision,
                        None => get(store, a).await.map_or(0, |memory| memory.revision),
                    };
                    revisions.insert(a, stored + 1);
                    ops.push(put(Memory {
                        revision: stored + 1,
                        session_id: Some(labels[label].to_owned()),
                        ..memory(a, scope, labels[label])
                    }));
                }
                // Not always the memory's scope: a narrower edge hides, a wider one shows nothing more.
                2 => ops.extend(name(a, EdgeKind::About, labels[label], &scopes[label])),
                3 => ops.extend(name(a, EdgeKind::Mentions, labels[label], &scopes[label])),
                4 => ops.push(link(a, EdgeKind::Causes, b, scope)),
                5 => ops.push(Op::DropEdges { from: id(a).0, kinds: vec![EdgeKind::About] }),
                _ => {
                    revisions.insert(a, 0);
                    ops.push(Op::Forget { id: id(a) });
                }
            }
        }
        ops.push(Op::PutEvent(event(round)));
        write(store, round, ops.clone()).await;
        let mut before = Vec::new();
        for visibility in &readers {
            before.push((store.counts(visibility).await.unwrap(), store.page(None, 100, visibility).await.unwrap()));
        }
        assert_eq!(store.apply(&[change(round, ops)]).await.unwrap(), [Applied::Before]);
        for (visibility, before) in readers.iter().zip(before) {
            let page = store.page(None, 100, visibility).await.unwrap();
            let counts = store.counts(visibility).await.unwrap();
            assert_eq!((counts, &page), (before.0, &before.1));
            assert_eq!(counts.memories, page.len());
            let walk = store.neighbourhood(&around(&[1, 2, 3, 4, 5, 6], 1, EdgeKind::ALL), visibility).await.unwrap();
            assert_eq!((walk.nodes.len(), walk.total_memories), (page.len(), page.len()));
            assert_eq!((walk.edges.len(), walk.concepts.len()), (counts.edges, counts.concepts), "round {round}");
            for label in labels {
                let members = store.memories_of_concept(&concept(label).key, 100, None, visibility).await.unwrap();
                let about = members.iter().filter(|(_, kind)| *kind == EdgeKind::About).count();
                let uses = store.concepts(&[concept(label).key], None, visibility).await.unwrap();
                let expected = (!members.is_empty()).then_some((members.len(), about));
                let uses = uses.first().map(|used| (used.uses, used.about));
                assert_eq!(uses, expected, "round {round}");
                let found = find(store, &[label], visibility).await;
                assert_eq!(found.len(), page.iter().filter(|memory| memory.content == label).count());
            }
        }
        assert_eq!(store.half_links(false).await.unwrap(), 0);
    }
}

fn event(n: u64) -> Event {
    Event {
        id: EventId(Uuid::from_u128(u128::from(n))),
        kind: EventKind::UserMessage,
        at: at(1),
        recorded_at: at(2),
        session_id: Some("s".to_owned()),
        task_id: None,
        user_id: "alice".to_owned(),
        scope: alice(),
        text: "hello".to_owned(),
        tool: None,
        status: None,
        feedback: None,
        made: Vec::new(),
    }
}

fn then(second: i64) -> AsOf {
    AsOf { known: Some(at(second)), world: None }
}

fn known(second: i64) -> Filter {
    Filter { as_of: then(second), ..Filter::default() }
}

pub async fn state_before_a_retirement_is_found_as_it_was(store: &dyn GraphStore) {
    let kept = Memory { valid_to: Some(at(500)), ..memory(1, &Scope::Global, "lyon") };
    write(store, 1, vec![put(kept.clone()), put(memory(2, &Scope::Global, "rome"))]).await;
    write(store, 5, vec![Op::Touch { ids: vec![id(1)] }]).await;
    write(
        store,
        10,
        vec![
            Op::Retire { id: id(1), status: Status::Superseded, valid_to: Some(at(7)) },
            Op::Retire { id: id(2), status: Status::Archived, valid_to: None },
        ],
    )
    .await;
    for (second, expected) in [(0, vec![]), (1, vec![id(1)]), (9, vec![id(1), id(2)]), (10, vec![])] {
        let found = store.recent(&known(second), 10, &all()).await.unwrap();
        let mut found: Vec<MemoryId> = found.into_iter().map(|hit| hit.id).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "recent in second {second}");
        let query = KeywordQuery { filter: known(second), ..question(&["lyon", "rome"]) };
        let mut found: Vec<MemoryId> =
            store.keyword(&query, &all()).await.unwrap().into_iter().map(|hit| hit.id).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "keyword in second {second}");
    }
    let state = store.memories(&[id(1)], then(9), &all()).await.unwrap().pop().unwrap();
    assert_eq!((state.status, state.valid_to, state.retired_at), (Status::Active, Some(at(500)), None));
    let state = store.memories(&[id(1)], then(10), &all()).await.unwrap().pop().unwrap();
    assert_eq!((state.status, state.valid_to, state.retired_at), (Status::Superseded, Some(at(7)), Some(at(10))));
    let asked = Filter { include_superseded: true, ..known(10) };
    assert_eq!(store.recent(&asked, 10, &all()).await.unwrap().len(), 1, "as now, when it is asked for");
    // Both clocks: what one would have been told in second 9 of second 100.
    let both = Filter { as_of: AsOf { world: Some(at(100)), known: Some(at(9)) }, ..Filter::default() };
    assert_eq!(store.recent(&both, 10, &all()).await.unwrap().len(), 2, "its end was not known yet");
}

pub async fn replaced_text_is_found_by_its_own_words_and_no_longer_by_the_new(store: &dyn GraphStore) {
    let text = |revision: u64, second: i64, content: &str, tag: &str| Memory {
        revision,
        recorded_at: at(second),
        tags: vec![tag.to_owned()],
        ..memory(1, &Scope::Global, content)
    };
    write(store, 10, vec![put(text(1, 10, "apple", "red"))]).await;
    write(store, 20, vec![put(text(2, 20, "pear", "green"))]).await;
    // Decay: another state of the same text.
    let weaker = Memory { importance: 0.1, revision: 3, ..text(2, 20, "pear", "green") };
    write(store, 30, vec![put(weaker)]).await;
    let found = async |word: &str, filter: Filter| {
        let query = KeywordQuery { filter, ..question(&[word]) };
        store.keyword(&query, &all()).await.unwrap().len()
    };
    for (second, apple, pear) in [(9, 0, 0), (10, 1, 0), (19, 1, 0), (20, 0, 1), (30, 0, 1)] {
        assert_eq!(
            (found("apple", known(second)).await, found("pear", known(second)).await),
            (apple, pear),
            "{second}"
        );
        let replaced = store.replaced_texts(&known(second), 10, &all()).await.unwrap();
        assert_eq!(replaced.len(), apple, "in second {second}");
    }
    let red = |second| Filter { tags: vec!["red".to_owned()], ..known(second) };
    assert_eq!((found("apple", red(15)).await, found("pear", red(25)).await), (1, 0));
    assert_eq!(store.replaced_texts(&red(15), 10, &all()).await.unwrap()[0].content, "apple");
    assert_eq!(store.replaced_texts(&known(15), 0, &all()).await.unwrap(), []);
    assert_eq!(store.replaced_texts(&Filter::default(), 10, &all()).await.unwrap(), [], "only a look back has them");
    write(store, 40, vec![Op::Forget { id: id(1) }]).await;
    assert_eq!((found("apple", known(15)).await, found("pear", known(25)).await), (0, 0), "no words are left behind");
    assert_eq!(store.replaced_texts(&known(15), 10, &all()).await.unwrap(), []);
    // The row of a forgotten state may be used again; it must not answer for the old words.
    write(store, 50, vec![put(Memory { recorded_at: at(50), ..memory(2, &Scope::Global, "plum") })]).await;
    write(store, 60, vec![Op::Retire { id: id(2), status: Status::Archived, valid_to: None }]).await;
    assert_eq!((found("apple", known(55)).await, found("plum", known(55)).await), (0, 1));
}

pub async fn edges_and_concepts_are_those_of_then(store: &dyn GraphStore) {
    write_plain(store, 1..=3).await;
    let key = concept("Old").key;
    let names = |n: u64, kind, second| {
        let named = Edge { recorded_at: at(second), ..edge(id(n).0, kind, concept("Old").id.0, &Scope::Global) };
        vec![Op::PutConcept(concept("Old")), Op::PutEdge(named)]
    };
    let causes = |weight, second| {
        let edge = edge(id(1).0, EdgeKind::Causes, id(3).0, &Scope::Global);
        vec![Op::PutEdge(Edge { weight, recorded_at: at(second), ..edge })]
    };
    write(store, 10, names(1, EdgeKind::About, 10)).await;
    write(store, 11, names(2, EdgeKind::Mentions, 11)).await;
    write(store, 12, causes(1.0, 12)).await;
    write(store, 20, vec![Op::DropEdges { from: id(1).0, kinds: vec![EdgeKind::About, EdgeKind::Causes] }]).await;
    write(store, 21, causes(0.5, 21)).await;
    write(store, 22, causes(0.25, 22)).await;
    for (second, uses, about) in [(9, 0, 0), (10, 1, 1), (11, 2, 1), (19, 2, 1), (20, 1, 0)] {
        let found = store.concepts(std::slice::from_ref(&key), Some(at(second)), &all()).await.unwrap();
        assert_eq!(found.first().map_or((0, 0), |used| (used.uses, used.about)), (uses, about), "in second {second}");
        let members = store.memories_of_concept(&key, 10, Some(at(second)), &all()).await.unwrap();
        assert_eq!(members.len(), uses, "in second {second}");
    }
    let walk = async |second: i64, kinds: &[EdgeKind]| {
        let query = NeighbourhoodQuery { filter: known(second), ..around(&[1], 1, kinds) };
        store.neighbourhood(&query, &all()).await.unwrap()
    };
    let both = [(1, 0), (3, 1)];
    for (second, expected, weight) in [
        (11, &both[..1], None),
        (12, &both[..], Some(1.0)),
        (20, &both[..1], None),
        (21, &both[..], Some(0.5)),
        (22, &both[..], Some(0.25)),
    ] {
        let found = walk(second, &[EdgeKind::Causes]).await;
        assert_eq!(reached(&found), numbered(expected), "in second {second}");
        assert_eq!(found.edges.first().map(|edge| edge.weight), weight, "in second {second}");
    }
    let over = walk(15, &[EdgeKind::About, EdgeKind::Mentions]).await;
    assert_eq!(reached(&over), numbered(&[(1, 0), (2, 1)]), "over the concept that it was about then");
    assert_eq!(over.concepts.iter().map(|used| (used.uses, used.about)).collect::<Vec<_>>(), [(2, 1)]);
    assert_eq!(reached(&walk(25, &[EdgeKind::About, EdgeKind::Mentions]).await), numbered(&[(1, 0)]));
    write(store, 30, vec![Op::Forget { id: id(1) }, Op::Forget { id: id(2) }]).await;
    assert_eq!(store.concepts(&[key], Some(at(15)), &all()).await.unwrap(), []);
}

pub async fn vote_replaces_the_same_principals_and_is_part_of_history(store: &dyn GraphStore) {
    write(store, 1, vec![put(memory(1, &alice(), "x")), put(memory(2, &bob(), "y"))]).await;
    let vote = |n: u64, principal: &str, useful: bool, confidence: f32| Op::Vote {
        id: id(n),
        principal: principal.to_owned(),
        useful,
        note: Some("seen".to_owned()),
        confidence,
    };
    let (owner, other) = (reader("alice", &[]), reader("bob", &[]));
    assert_eq!(store.vote_of(id(1), "alice", &owner).await.unwrap(), None);
    write(store, 10, vec![vote(1, "alice", true, 0.9), vote(1, "carol", true, 0.95), vote(9, "alice", true, 1.0)])
        .await;
    write(store, 20, vec![vote(1, "alice", false, 0.5)]).await;
    let voted = get(store, 1).await.unwrap();
    assert_eq!((voted.useful, voted.not_useful, voted.confidence, voted.revision), (1, 1, 0.5, 1));
    assert_eq!(store.vote_of(id(1), "alice", &owner).await.unwrap(), Some(false));
    assert_eq!(store.vote_of(id(1), "carol", &all()).await.unwrap(), Some(true));
    assert_eq!(store.vote_of(id(1), "alice", &other).await.unwrap(), None, "not to those who do not see the memory");
    for (second, expected) in [(9, (0, 0, 0.8)), (10, (2, 0, 0.95)), (20, (1, 1, 0.5))] {
        let state = store.memories(&[id(1)], then(second), &all()).await.unwrap().pop().unwrap();
        assert_eq!((state.useful, state.not_useful, state.confidence), expected, "in second {second}");
    }
    assert_eq!(store.outbox(0, 100).await.unwrap(), [], "nothing of a vote is in the index");
    write(store, 30, vec![Op::Forget { id: id(1) }]).await;
    assert_eq!(store.vote_of(id(1), "alice", &all()).await.unwrap(), None);
}

pub async fn members_and_events_come_in_order_and_only_to_those_who_see_them(store: &dyn GraphStore) {
    let member = |n: u64, scope: &Scope| Memory {
        session_id: Some("s".to_owned()),
        task_id: n.is_multiple_of(2).then(|| "t".to_owned()),
        ..memory(n, scope, "x")
    };
    let scopes = [alice(), Scope::Global, bob(), alice()];
    for (n, scope) in (1..).zip(&scopes) {
        write(store, n, vec![put(member(n, scope))]).await;
    }
    write(store, 9, vec![Op::Retire { id: id(2), status: Status::Archived, valid_to: None }]).await;
    let owner = reader("alice", &[]);
    let members = async |kind, name: &str, limit, visibility: &Visibility| {
        store.members(kind, name, limit, visibility).await.unwrap()
    };
    assert_eq!(members(EdgeKind::SameSession, "s", 10, &owner).await, [id(1), id(2), id(4)]);
    assert_eq!(members(EdgeKind::SameSession, "s", 2, &owner).await, [id(2), id(4)], "the last ones, in order");
    assert_eq!(members(EdgeKind::SameSession, "s", 10, &all()).await, [id(1), id(2), id(3), id(4)]);
    assert_eq!(members(EdgeKind::SameTask, "t", 10, &owner).await, [id(2), id(4)]);
    assert_eq!(members(EdgeKind::SameTask, "s", 10, &all()).await, []);
    assert_eq!(members(EdgeKind::Causes, "s", 10, &all()).await, []);

    let told = |n: u64, second: i64, scope: &Scope| Event { at: at(second), scope: scope.clone(), ..event(n) };
    let ops = [told(1, 30, &alice()), told(2, 10, &alice()), told(3, 20, &bob())].map(Op::PutEvent);
    write(store, 20, ops.to_vec()).await;
    write(store, 21, vec![Op::PutEvent(Event { text: "changed".to_owned(), ..told(1, 30, &alice()) })]).await;
    let named = |n: u64| event(n).id;
    let numbers = |events: Vec<Event>| events.into_iter().map(|event| event.id.0.as_u128()).collect::<Vec<_>>();
    assert_eq!(numbers(store.events_of_session("s", 10, &owner).await.unwrap()), [2, 1]);
    assert_eq!(numbers(store.events_of_session("s", 1, &all()).await.unwrap()), [1], "the last ones");
    assert_eq!(numbers(store.events_of_session("other", 10, &all()).await.unwrap()), []);
    assert_eq!(numbers(store.events(&[named(3), named(1), named(9)], &owner).await.unwrap()), [1]);
    assert_eq!(numbers(store.events(&[named(3), named(1)], &all()).await.unwrap()), [3, 1]);
    assert_eq!(store.events(&[named(1)], &owner).await.unwrap()[0].text, "hello", "an event is never written over");
    let from_event = Memory { provenance: vec![named(2).0], ..memory(7, &alice(), "z") };
    write(store, 30, vec![put(from_event)]).await;
    write(store, 31, vec![Op::Forget { id: id(7) }]).await;
    assert_eq!(numbers(store.events_of_session("s", 10, &owner).await.unwrap()), [1], "it goes with what it became");
    write(store, 40, vec![put(memory(8, &alice(), "hello"))]).await;
    let again = Event { made: vec![id(8)], ..told(4, 40, &alice()) };
    write(store, 41, vec![Op::PutEvent(again)]).await;
    write(store, 42, vec![Op::Forget { id: id(8) }]).await;
    assert_eq!(numbers(store.events_of_session("s", 10, &owner).await.unwrap()), [1], "so does one that said it again");
}
