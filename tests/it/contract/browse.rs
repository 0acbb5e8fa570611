//! What every store that can be looked through does.

use std::collections::BTreeSet;

use recollect::{
    domain::{
        Caller, ChangeSet, Concept, ConceptKey, Edge, EdgeKind, Effect, Event, EventId, EventKind, Kind, Memory,
        MemoryType, Op, PrincipalKind, Scope, Status, Visibility,
    },
    ports::{AuditRow, Browse, GraphStore, Group, Listing},
};
use uuid::Uuid;

use crate::support::{at, change, id, memory};

/// A store that keeps what it is given, so that it can be looked through.
pub trait Both: Browse + GraphStore {}
impl<T: Browse + GraphStore> Both for T {}

macro_rules! browse_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            browse,
            [
                listing_meets_its_conditions_latest_first,
                list_goes_on_after_its_last_record,
                session_is_what_the_reader_sees_of_it,
                events_are_listed_in_order,
                concepts_are_found_by_a_part_of_their_name,
                members_of_a_concept_are_those_about_it_first,
                edges_of_several_come_in_the_order_asked,
                change_log_says_what_became_of_each_memory,
                change_log_tells_only_those_who_saw,
                counted_uses_are_told_to_nobody,
                change_is_never_cut,
                audit_log_goes_back_page_by_page,
                reason_is_shown_until_the_memory_is_forgotten,
            ]
        );
    };
}
pub(crate) use browse_suite;

fn alice() -> Scope {
    Scope::Private("alice".to_owned())
}

fn bob() -> Scope {
    Scope::Private("bob".to_owned())
}

fn reader(principal: &str) -> Visibility {
    Caller {
        principal: principal.to_owned(),
        kind: PrincipalKind::Human,
        groups: BTreeSet::new(),
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

fn edge(from: Uuid, kind: EdgeKind, to: Uuid, reason: Option<&str>) -> Op {
    let (reason, scope) = (reason.map(str::to_owned), Scope::Global);
    Op::PutEdge(Edge { from, to, kind, weight: 0.5, reason, scope, recorded_at: at(1) })
}

fn concept(label: &str) -> Concept {
    Concept::from_text(ConceptKey(label.to_lowercase()), label.to_owned())
}

async fn write(store: &dyn Both, n: u64, ops: Vec<Op>) {
    store.apply(&[change(n, ops)]).await.unwrap();
}

fn numbers(memories: &[Memory]) -> Vec<u64> {
    memories.iter().map(|memory| u64::try_from(memory.id.0.as_u128() & 0xffff_ffff).unwrap()).collect()
}

pub async fn listing_meets_its_conditions_latest_first(store: &dyn Both) {
    let tagged = |n: u64, tags: &[&str]| Memory {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..memory(n, &Scope::Global, "x")
    };
    let ops = vec![
        put(tagged(1, &["red"])),
        put(tagged(2, &["blue", "red"])),
        put(Memory { kind: Kind::Warning, ..tagged(3, &[]) }),
        put(Memory { memory_type: MemoryType::Insight, session_id: Some("s".into()), ..tagged(4, &["blue"]) }),
        put(Memory { task_id: Some("t".into()), ..tagged(5, &["green"]) }),
        put(memory(6, &bob(), "of bob")),
        Op::Retire { id: id(1), status: Status::Archived, valid_to: None },
    ];
    write(store, 1, ops).await;
    let red = || Listing { tags: vec!["red".into()], ..Listing::default() };
    for (listing, expected) in [
        (Listing::default(), vec![5, 4, 3, 2, 1]),
        (red(), vec![2, 1]),
        (Listing { tags: vec!["green".into(), "blue".into()], ..Listing::default() }, vec![5, 4, 2]),
        (Listing { statuses: vec![Status::Active], ..red() }, vec![2]),
        (Listing { statuses: vec![Status::Archived, Status::Superseded], ..Listing::default() }, vec![1]),
        (Listing { kinds: vec![Kind::Warning], ..Listing::default() }, vec![3]),
        (Listing { types: vec![MemoryType::Insight], ..Listing::default() }, vec![4]),
        (Listing { session_id: Some("s".into()), ..Listing::default() }, vec![4]),
        (Listing { task_id: Some("t".into()), ..Listing::default() }, vec![5]),
        (Listing { since: Some(at(2)), until: Some(at(4)), ..Listing::default() }, vec![3, 2]),
        (Listing { session_id: Some("s".into()), ..red() }, vec![]),
    ] {
        let found = store.list(&listing, None, 10, &reader("alice")).await.unwrap();
        assert_eq!(numbers(&found), expected, "{listing:?}");
        assert_eq!(store.list_total(&listing, &reader("alice")).await.unwrap(), expected.len(), "{listing:?}");
    }
    assert_eq!(numbers(&store.list(&Listing::default(), None, 2, &all()).await.unwrap()), [6, 5]);
}

pub async fn list_goes_on_after_its_last_record(store: &dyn Both) {
    // Many at the same moment, in two scopes.
    let ops = (1..=20).map(|n| {
        let scope = if n % 2 == 0 { alice() } else { Scope::Global };
        put(Memory { occurred_at: at(i64::try_from(n / 7).unwrap()), ..memory(n, &scope, "x") })
    });
    write(store, 1, ops.collect()).await;
    let whole = store.list(&Listing::default(), None, 100, &reader("alice")).await.unwrap();
    assert_eq!(numbers(&whole), (1..=20).rev().collect::<Vec<_>>());
    for limit in [1, 3, 20] {
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = store.list(&Listing::default(), after, limit, &reader("alice")).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some((last.occurred_at, last.id));
            found.extend(page);
        }
        assert_eq!(found, whole);
    }
}

pub async fn session_is_what_the_reader_sees_of_it(store: &dyn Both) {
    let member = |n: u64, scope: &Scope| Memory {
        session_id: Some("s".into()),
        task_id: Some("t".into()),
        occurred_at: at(100 - i64::try_from(n).unwrap()),
        ..memory(n, scope, "x")
    };
    let ops = vec![
        put(member(1, &alice())),
        put(member(2, &Scope::Global)),
        put(member(3, &bob())),
        put(member(4, &alice())),
        put(memory(5, &alice(), "in no session")),
        Op::Retire { id: id(2), status: Status::Superseded, valid_to: None },
    ];
    write(store, 1, ops).await;
    for group in [Group::Session("s".into()), Group::Task("t".into())] {
        let seen = store.group(&group, &reader("alice")).await.unwrap().unwrap();
        assert_eq!((seen.memories, seen.events, seen.first, seen.last), (3, 0, at(96), at(99)));
        assert_eq!(numbers(&Browse::members(store, &group, None, 10, &reader("alice")).await.unwrap()), [1, 2, 4]);
        assert_eq!(numbers(&Browse::members(store, &group, None, 2, &reader("alice")).await.unwrap()), [1, 2]);
        assert_eq!(numbers(&Browse::members(store, &group, Some(id(2)), 2, &reader("alice")).await.unwrap()), [4]);
        assert_eq!(numbers(&Browse::members(store, &group, None, 10, &reader("carol")).await.unwrap()), [2]);
    }
    assert_eq!(store.group(&Group::Session("t".into()), &reader("alice")).await.unwrap(), None);
    assert_eq!(store.group(&Group::Task("none".into()), &all()).await.unwrap(), None);
}

pub async fn events_are_listed_in_order(store: &dyn Both) {
    let event = |n: u128, scope: Scope, session: &str| Event {
        id: EventId(Uuid::from_u128((7 << 76) | n)),
        kind: EventKind::ToolCall,
        at: at(i64::try_from(n / 3).unwrap()),
        recorded_at: at(0),
        session_id: Some(session.to_owned()),
        task_id: Some("t".to_owned()),
        user_id: "alice".to_owned(),
        scope,
        text: format!("event {n}"),
        tool: None,
        status: None,
        feedback: None,
        made: Vec::new(),
    };
    let events: Vec<Event> = (1..=8).map(|n| event(n, alice(), if n == 8 { "other" } else { "s" })).collect();
    let hidden = event(9, bob(), "s");
    let ops = events.iter().chain([&hidden]).rev().cloned().map(Op::PutEvent).collect();
    write(store, 1, ops).await;
    let session = Group::Session("s".into());
    assert_eq!(Browse::events(store, Some(&session), None, 100, &reader("alice")).await.unwrap(), events[..7]);
    assert_eq!(Browse::events(store, None, None, 100, &reader("alice")).await.unwrap(), events);
    assert_eq!(
        Browse::events(store, Some(&Group::Task("t".into())), None, 3, &reader("alice")).await.unwrap(),
        events[..3]
    );
    let after = Some((events[3].at, events[3].id));
    assert_eq!(Browse::events(store, Some(&session), after, 2, &reader("alice")).await.unwrap(), events[4..6]);
    let seen = store.group(&session, &reader("alice")).await.unwrap().unwrap();
    assert_eq!((seen.memories, seen.events), (0, 7));
}

pub async fn concepts_are_found_by_a_part_of_their_name(store: &dyn Both) {
    let mut ops: Vec<Op> = (1..=3).map(|n| put(memory(n, &Scope::Global, "x"))).collect();
    ops.push(put(memory(4, &bob(), "x")));
    for (n, label) in
        [(1, "Ember Tea"), (2, "Ember Tea"), (2, "Green Tea"), (3, "Harbour"), (4, "Secret Tea"), (4, "Ember Tea")]
    {
        ops.push(Op::PutConcept(concept(label)));
        ops.push(edge(id(n).0, EdgeKind::Mentions, concept(label).id.0, None));
    }
    write(store, 1, ops).await;
    let find = async |part: &str, after: Option<&str>, limit| {
        let after = after.map(|key| ConceptKey(key.to_owned()));
        let found = store.find_concepts(part, after.as_ref(), limit, &reader("alice")).await.unwrap();
        found.into_iter().map(|used| (used.concept.label, used.uses)).collect::<Vec<_>>()
    };
    let pair = |label: &str, uses: usize| (label.to_owned(), uses);
    assert_eq!(find("tea", None, 10).await, [pair("Ember Tea", 2), pair("Green Tea", 1)]);
    assert_eq!(find("", None, 10).await, [pair("Ember Tea", 2), pair("Green Tea", 1), pair("Harbour", 1)]);
    assert_eq!(find("", Some("ember tea"), 1).await, [pair("Green Tea", 1)]);
    assert_eq!(find("%", None, 10).await, []);
    let ids = [concept("Secret Tea").id, concept("Harbour").id];
    let found = store.concepts_by_id(&ids, &reader("alice")).await.unwrap();
    assert_eq!(found.iter().map(|used| used.concept.label.as_str()).collect::<Vec<_>>(), ["Harbour"]);
}

pub async fn members_of_a_concept_are_those_about_it_first(store: &dyn Both) {
    let tea = concept("Tea");
    let mut ops = vec![Op::PutConcept(tea.clone())];
    for n in 1..=6 {
        let scope = if n == 6 { bob() } else { Scope::Global };
        ops.push(put(memory(n, &scope, "x")));
        ops.push(edge(id(n).0, EdgeKind::Mentions, tea.id.0, None));
    }
    ops.extend([edge(id(2).0, EdgeKind::About, tea.id.0, None), edge(id(4).0, EdgeKind::About, tea.id.0, None)]);
    write(store, 1, ops).await;
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = store.concept_members(tea.id, after, 2, &reader("alice")).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.kind, last.memory.id));
        found.extend(page.into_iter().map(|member| (numbers(&[member.memory])[0], member.kind)));
    }
    let (about, mentions) = (EdgeKind::About, EdgeKind::Mentions);
    assert_eq!(found, [(4, about), (2, about), (5, mentions), (3, mentions), (1, mentions)]);
}

pub async fn edges_of_several_come_in_the_order_asked(store: &dyn Both) {
    let mut ops: Vec<Op> = (1..=3).map(|n| put(memory(n, &Scope::Global, "x"))).collect();
    ops.push(put(memory(4, &bob(), "x")));
    ops.extend([
        edge(id(1).0, EdgeKind::Causes, id(2).0, None),
        edge(id(2).0, EdgeKind::Causes, id(3).0, None),
        edge(id(1).0, EdgeKind::Causes, id(4).0, None),
    ]);
    write(store, 1, ops).await;
    let nodes = [id(3).0, id(4).0, id(2).0, id(1).0];
    let edges = store.edges_of_all(&nodes, 10, &reader("alice")).await.unwrap();
    assert_eq!(edges.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2, 1]);
    let edges = store.edges_of_all(&nodes, 1, &all()).await.unwrap();
    assert_eq!(edges.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1]);
}

/// What the change log says, by the number of the memory.
async fn log(store: &dyn Both, after: u64, visibility: &Visibility) -> Vec<(u64, Effect)> {
    let changes = store.changes(after, 100, visibility).await.unwrap();
    assert!(changes.is_sorted_by_key(|change| change.seq) && changes.iter().all(|change| change.seq > after));
    let number = |id: recollect::domain::MemoryId| u64::try_from(id.0.as_u128() & 0xffff_ffff).unwrap();
    changes.into_iter().map(|change| (number(change.memory), change.effect)).collect()
}

pub async fn change_log_says_what_became_of_each_memory(store: &dyn Both) {
    assert_eq!(store.last_change().await.unwrap(), 0);
    let first = memory(1, &Scope::Global, "one");
    write(store, 1, vec![put(first.clone()), put(memory(2, &Scope::Global, "two"))]).await;
    let steps: Vec<(Vec<Op>, Vec<(u64, Effect)>)> = vec![
        (vec![put(Memory { revision: 2, ..first })], vec![(1, Effect::Updated)]),
        (vec![Op::Touch { ids: vec![id(1), id(99)] }], vec![(1, Effect::Refreshed)]),
        (vec![edge(id(1).0, EdgeKind::Causes, id(2).0, None)], vec![(1, Effect::Linked), (2, Effect::Linked)]),
        // What goes without saying.
        (vec![edge(id(1).0, EdgeKind::SameSession, id(2).0, None)], vec![]),
        (vec![edge(id(1).0, EdgeKind::Supplements, id(2).0, Some(Edge::SIMILAR))], vec![]),
        // The newer one is new, whatever else it is.
        (
            vec![
                put(memory(3, &Scope::Global, "three")),
                Op::Retire { id: id(1), status: Status::Superseded, valid_to: None },
                edge(id(3).0, EdgeKind::Supersedes, id(1).0, None),
            ],
            vec![(1, Effect::Superseded), (3, Effect::Created)],
        ),
        (
            vec![Op::Vote { id: id(3), principal: "ann".into(), useful: true, note: None, confidence: 0.9 }],
            vec![(3, Effect::Voted)],
        ),
        // Retired already: nothing becomes of it.
        (vec![Op::Retire { id: id(1), status: Status::Archived, valid_to: None }], vec![]),
        (vec![Op::Retire { id: id(2), status: Status::Archived, valid_to: None }], vec![(2, Effect::Archived)]),
        (vec![Op::Forget { id: id(2) }], vec![(2, Effect::Forgotten)]),
        (vec![Op::Forget { id: id(2) }], vec![]),
    ];
    for (n, (ops, expected)) in (2..).zip(steps) {
        let before = store.last_change().await.unwrap();
        write(store, n, ops.clone()).await;
        assert_eq!(log(store, before, &all()).await, expected, "{ops:?}");
        // Applied again, it says nothing again.
        let after = store.last_change().await.unwrap();
        write(store, n, ops).await;
        assert_eq!((store.last_change().await.unwrap(), log(store, after, &all()).await), (after, vec![]));
    }
}

pub async fn change_log_tells_only_those_who_saw(store: &dyn Both) {
    let private = memory(1, &alice(), "x");
    write(store, 1, vec![put(private.clone()), put(memory(2, &Scope::Global, "y"))]).await;
    assert_eq!(log(store, 0, &reader("bob")).await, [(2, Effect::Created)]);
    // An edge is told to those who see it, though its end is seen by more.
    let Op::PutEdge(link) = edge(id(1).0, EdgeKind::Causes, id(2).0, None) else { unreachable!("an edge") };
    write(store, 9, vec![Op::PutEdge(Edge { scope: alice(), ..link })]).await;
    assert_eq!(log(store, 0, &reader("bob")).await, [(2, Effect::Created)]);
    assert_eq!(log(store, 0, &reader("alice")).await[2..], [(1, Effect::Linked), (2, Effect::Linked)]);
    // It is widened, then forgotten: bob hears of it from when he could see it.
    write(store, 2, vec![put(Memory { revision: 2, scope: Scope::Global, ..private })]).await;
    write(store, 3, vec![Op::Forget { id: id(1) }]).await;
    let heard = [(2, Effect::Created), (1, Effect::Updated), (1, Effect::Forgotten)];
    assert_eq!(log(store, 0, &reader("bob")).await, heard);
    let nobody = Visibility::only(&Scope::Private("nobody".to_owned()));
    assert_eq!(log(store, 0, &nobody).await, []);
}

/// Being returned is a use, not a change.
pub async fn counted_uses_are_told_to_nobody(store: &dyn Both) {
    write(store, 1, vec![put(memory(1, &Scope::Global, "x"))]).await;
    let uses =
        ChangeSet { use_case: ChangeSet::COUNT_USES.to_owned(), ..change(2, vec![Op::Touch { ids: vec![id(1)] }]) };
    store.apply(&[uses]).await.unwrap();
    assert_eq!(log(store, 0, &all()).await, [(1, Effect::Created)]);
    assert_eq!(store.audit(None, 10, &all()).await.unwrap().len(), 1);
}

pub async fn change_is_never_cut(store: &dyn Both) {
    write(store, 1, vec![put(memory(1, &Scope::Global, "x"))]).await;
    write(store, 2, (2..=6).map(|n| put(memory(n, &Scope::Global, &format!("x{n}")))).collect()).await;
    write(store, 3, vec![put(memory(7, &Scope::Global, "y"))]).await;
    for (limit, expected) in [(1, 1), (2, 6), (6, 6), (7, 7), (100, 7)] {
        assert_eq!(store.changes(0, limit, &all()).await.unwrap().len(), expected, "{limit}");
    }
}

/// Whoever sees none of the memories is told no reason; why it was forgotten outlives the memory.
pub async fn reason_is_shown_until_the_memory_is_forgotten(store: &dyn Both) {
    let because = |n: u64, reason: &str, op: Op| ChangeSet { reason: Some(reason.to_owned()), ..change(n, vec![op]) };
    let vote = |n: u64| Op::Vote {
        id: id(n),
        principal: "alice".to_owned(),
        useful: false,
        note: Some("wrong".to_owned()),
        confidence: 0.5,
    };
    write(store, 1, vec![put(memory(1, &alice(), "x")), put(memory(2, &Scope::Global, "y"))]).await;
    store.apply(&[because(2, "wrong", vote(1)), because(3, "right", vote(2))]).await.unwrap();
    let reasons = async |visibility: Visibility| {
        let rows = store.audit(None, 10, &visibility).await.unwrap();
        rows.into_iter().filter_map(|row| row.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(all()).await, ["right", "wrong"]);
    assert_eq!(reasons(reader("bob")).await, ["right"]);
    store.apply(&[because(4, "asked to", Op::Forget { id: id(1) })]).await.unwrap();
    assert_eq!(reasons(all()).await, ["asked to", "right"]);
}

pub async fn audit_log_goes_back_page_by_page(store: &dyn Both) {
    let many = (1..=150).map(|n| put(memory(n, &Scope::Global, &format!("x{n}")))).collect();
    let by = |n: u64, actor: &str, ops: Vec<Op>| ChangeSet { actor: actor.to_owned(), ..change(n, ops) };
    store.apply(&[by(1, "ann", many), by(2, "bob", Vec::new())]).await.unwrap();
    store.apply(&[by(3, "ann", vec![put(memory(200, &alice(), "z"))])]).await.unwrap();
    let (mut before, mut rows) = (None, Vec::new());
    loop {
        let page = store.audit(before, 2, &all()).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.seq);
        rows.extend(page);
    }
    let seen: Vec<(&str, usize, usize)> =
        rows.iter().map(|row| (row.actor.as_str(), row.total, row.memories.len())).collect();
    assert_eq!(seen, [("ann", 1, 1), ("bob", 0, 0), ("ann", 150, AuditRow::MEMORIES)]);
    assert_eq!(
        (rows[0].at, rows[0].use_case.as_str(), rows[0].memories[0]),
        (at(3), "store", (id(200), Effect::Created))
    );
    // Whoever sees less is told of less.
    assert_eq!(store.audit(None, 1, &reader("bob")).await.unwrap()[0].total, 0);
}
