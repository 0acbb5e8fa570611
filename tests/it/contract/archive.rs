//! What every store does that gives its rows and takes those of another: two stores with the same rows answer alike.
//!
//! [`sample`] has every kind of record and every way in which one ends; a new operation belongs in it.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use recollect::{
    backends::{exact::ExactIndex, sqlite::SqliteStore},
    domain::{
        AsOf, Caller, ChangeSet, Concept, ConceptKey, ConceptOrigin, Edge, EdgeKind, Event, EventId, EventKind, Filter,
        Idempotency, IndexOp, Label, LabelRole, Memory, MemoryId, NamedVector, OntologyVersion, Op, PrincipalKind,
        Record, Relation, Right, Scope, Status, Term, TermKind, Visibility,
    },
    jobs::{MoveError, Whole, carry, move_was_interrupted, read_all},
    ports::{
        Archive, ArchiveSource, Browse, GraphStore, KeywordQuery, Listing, MetaRow, OntologyStore, Part, PortError,
        PortErrorKind, Row, RowPage, SpaceSpec, StoredToken, TokenStore, VectorIndex,
    },
};
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    ontology_store::{iri, link, switch, term},
    review_store::{page, proposal, put as record, revision},
};
use crate::support::{at, change, id, memory};

macro_rules! archive_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            archive,
            [
                store_filled_from_another_answers_alike,
                store_that_is_emptied_into_another_loses_nothing,
                move_that_is_cut_short_goes_on_where_it_was,
                move_from_another_source_is_refused_half_way,
                store_that_holds_something_is_refused,
                rows_are_added_all_or_none,
            ]
        );
    };
}
pub(crate) use archive_suite;

/// All that a store must be.
pub trait Store: GraphStore + Browse + TokenStore + OntologyStore + Archive {}
impl<S: GraphStore + Browse + TokenStore + OntologyStore + Archive> Store for S {}

const SPACES: [&str; 2] = ["small", "small.window"];

fn everything() -> Visibility {
    Visibility::system("the contract suite looks at everything")
}

fn index() -> ExactIndex {
    ExactIndex::new(&SPACES.map(|name| SpaceSpec { name: name.to_owned(), dimension: 4 }))
}

fn alice() -> Scope {
    Scope::Private("alice".to_owned())
}

fn crew() -> Scope {
    Scope::Shared("crew".to_owned())
}

fn put(memory: Memory) -> Op {
    let angle = memory.id.0.as_u128() as u8;
    let vectors = memory.spaces.iter().zip([0.0, 1.0]).map(|(space, shift)| {
        let turn = f32::from(angle) / 7.0 + shift;
        NamedVector { space: space.clone(), vector: vec![turn.cos(), turn.sin(), 0.0, 0.0] }
    });
    let vectors = vectors.collect();
    Op::PutMemory { expected_revision: memory.revision - 1, memory: Box::new(memory), vectors }
}

fn edge(from: Uuid, kind: EdgeKind, to: Uuid, scope: &Scope, second: i64) -> Edge {
    Edge { from, to, kind, weight: 0.7, reason: None, scope: scope.clone(), recorded_at: at(second) }
}

fn concept(key: &str, origin: ConceptOrigin) -> Concept {
    let key = ConceptKey(key.to_owned());
    Concept { id: Concept::id_of(&key), label: key.0.to_uppercase(), key, origin }
}

/// In a session and a task, with everything that a memory can have.
fn logged(n: u64, scope: &Scope, content: &str) -> Memory {
    Memory {
        external_id: Some(format!("row {n}")),
        title: Some("harbour".to_owned()),
        context: Some("in winter".to_owned()),
        tags: vec!["boats".to_owned(), "a \"quoted\" tag".to_owned()],
        speaker: Some("Mia".to_owned()),
        session_id: Some("watch".to_owned()),
        task_id: Some("repair".to_owned()),
        provenance: vec![Uuid::from_u128(0xeeee)],
        expires_at: Some(at(90_000)),
        valid_from: Some(at(-50)),
        spaces: SPACES.map(str::to_owned).to_vec(),
        ..memory(n, scope, content)
    }
}

/// Changes that leave every kind of row behind.
pub fn sample() -> Vec<ChangeSet> {
    let (harbour, coast) = (concept("harbour", ConceptOrigin::Text), concept("coast", ConceptOrigin::Ontology));
    let link =
        |from: u64, kind, to: u64, scope: &Scope, second| Op::PutEdge(edge(id(from).0, kind, id(to).0, scope, second));
    let mention = |from: u64, kind, scope: &Scope, second| {
        Op::PutEdge(edge(id(from).0, kind, concept("harbour", ConceptOrigin::Text).id.0, scope, second))
    };
    let first = logged(1, &alice(), "the harbour gate opens at nine");
    let event = Event {
        id: EventId(Uuid::from_u128(0xeeee)),
        kind: EventKind::UserMessage,
        at: at(3),
        recorded_at: at(4),
        session_id: Some("watch".to_owned()),
        task_id: None,
        user_id: "alice".to_owned(),
        scope: crew(),
        text: "闸门 opens".to_owned(),
        tool: Some("bell".to_owned()),
        status: None,
        feedback: None,
        made: vec![id(3)],
    };
    let waiting = proposal(32, &crew(), "scribe");
    vec![
        change(
            1,
            vec![
                Op::PutConcept(harbour.clone()),
                put(first.clone()),
                mention(1, EdgeKind::About, &alice(), 1),
                mention(1, EdgeKind::Mentions, &alice(), 1),
            ],
        ),
        change(
            2,
            vec![
                put(logged(2, &alice(), "the tide is low")),
                link(2, EdgeKind::SameSession, 1, &alice(), 2),
                link(2, EdgeKind::SameTask, 1, &alice(), 2),
                Op::PutEdge(Edge {
                    reason: Some(Edge::SIMILAR.to_owned()),
                    ..edge(id(2).0, EdgeKind::Supplements, id(1).0, &alice(), 2)
                }),
            ],
        ),
        change(
            3,
            vec![
                Op::PutEvent(event),
                put(Memory {
                    spaces: vec![SPACES[0].to_owned()], ..memory(3, &crew(), "the gate is shut 闸门 关闭")
                }),
                link(3, EdgeKind::Causes, 2, &alice(), 3),
                mention(3, EdgeKind::Mentions, &crew(), 3),
            ],
        ),
        // A new text in a wider scope; what it was about is dropped.
        change(
            10,
            vec![
                put(Memory {
                    revision: 2,
                    scope: crew(),
                    recorded_at: at(10),
                    ..logged(1, &crew(), "the gate opens at ten")
                }),
                Op::DropEdges { from: id(1).0, kinds: vec![EdgeKind::About] },
            ],
        ),
        // An edge says something else.
        change(
            11,
            vec![Op::PutEdge(Edge {
                weight: 0.123_456_7,
                reason: Some("Mia says so".to_owned()),
                ..edge(id(2).0, EdgeKind::Supplements, id(1).0, &alice(), 2)
            })],
        ),
        ChangeSet {
            idempotency: Some(Idempotency {
                key: "again".to_owned(),
                request_hash: "of the request".to_owned(),
                answer: json!({"id": id(4).to_string(), "score": 0.123_456_789_012_345_6}),
            }),
            reason: Some("the tide turned".to_owned()),
            ..change(
                12,
                vec![
                    put(memory(4, &alice(), "the tide is high")),
                    Op::Retire { id: id(2), status: Status::Superseded, valid_to: Some(at(12)) },
                    link(4, EdgeKind::Supersedes, 2, &alice(), 12),
                ],
            )
        },
        change(
            13,
            ["alice", "bo"]
                .map(|principal| Op::Vote {
                    id: id(1),
                    principal: principal.to_owned(),
                    useful: principal == "bo",
                    note: (principal == "bo").then(|| "it was so".to_owned()),
                    confidence: 0.65,
                })
                .to_vec(),
        ),
        change(14, vec![Op::Touch { ids: vec![id(1), id(3)] }]),
        ChangeSet { use_case: ChangeSet::COUNT_USES.to_owned(), ..change(15, vec![Op::Touch { ids: vec![id(1)] }]) },
        change(
            16,
            vec![
                Op::PutConcept(coast.clone()),
                Op::PutEdge(edge(harbour.id.0, EdgeKind::Broader, coast.id.0, &Scope::Global, 16)),
            ],
        ),
        change(17, vec![put(memory(5, &Scope::Global, "a secret that is forgotten"))]),
        ChangeSet { reason: Some("asked for".to_owned()), ..change(18, vec![Op::Forget { id: id(5) }]) },
        change(19, vec![put(Memory { status: Status::Quarantined, ..memory(6, &alice(), "waits for a person") })]),
        change(20, vec![Op::SetSpaces { id: id(3), spaces: vec![SPACES[0].to_owned()] }]),
        change(
            21,
            vec![
                record(Record::Page(page(31, &crew(), "harbour/gate")), None, 0),
                record(Record::Revision(revision(31, 1, &crew())), Some("# Gate\r\n闸门\n"), 0),
                record(Record::Proposal(waiting.clone()), Some("# Gate\n"), 0),
            ],
        ),
        change(22, vec![record(Record::Proposal(waiting.released(at(22))), None, 1)]),
    ]
}

/// Versions of two vocabularies: terms that come, change and go, one that both describe, and links.
async fn fill_ontologies(store: &dyn Store) {
    let broader = |name| (Relation::Broader, name);
    let water = term("a", "Water", &[]);
    let sea = term("b", "Sea", &[broader("a"), (Relation::ExactMatch, "elsewhere")]);
    let property = Term { kind: TermKind::ObjectProperty, ..term("p", "flows into", &[(Relation::Range, "a")]) };
    switch(store, "waters", &[water, sea.clone(), property], &[]).await;
    switch(store, "coasts", &[term("a", "Wasser", &[]), term("c", "Cliff", &[(Relation::Related, "b")])], &[]).await;
    let salt = Label { role: LabelRole::Hidden, language: "de".to_owned(), text: "Meer".to_owned() };
    switch(store, "waters", &[Term { label: "Ocean".to_owned(), labels: vec![salt], ..sea }], &["p"]).await;
    link(store, 23, "b").await;
}

/// Writes the sample, with a token and a setting; its vectors go to the index.
pub async fn fill(store: &dyn Store, index: &dyn VectorIndex) {
    for change in sample() {
        store.apply(&[change]).await.unwrap();
    }
    fill_ontologies(store).await;
    store.set_meta("models", "small (4 dimensions, none)").await.unwrap();
    let caller = Caller {
        principal: "kai".to_owned(),
        kind: PrincipalKind::Service,
        groups: BTreeSet::from(["crew".to_owned(), "港口".to_owned()]),
        rights: BTreeSet::from([Right::MemoryWrite, Right::MemoryRead]),
        owner: None,
    };
    let token = StoredToken { id: "t1".to_owned(), secret_hash: "5e".repeat(32), caller, created_at: at(5) };
    store.add_token(&token).await.unwrap();
    let rows = store.outbox(0, 1000).await.unwrap();
    let ops: Vec<IndexOp> = rows.iter().map(|row| row.op.clone()).collect();
    index.apply(&ops).await.unwrap();
    store.outbox_done(rows.last().map_or(0, |row| row.seq)).await.unwrap();
}

pub async fn file() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (SqliteStore::open(folder.path().join("other.db")).await.unwrap(), folder)
}

pub fn whole<'a, S: Store>(store: &'a S, index: &'a dyn VectorIndex) -> Whole<'a> {
    Whole { store, archive: store, index: Some(index) }
}

/// Every row, as JSON, in an order of its own.
pub async fn rows(source: &dyn ArchiveSource) -> Vec<(Part, String)> {
    let mut found = Vec::new();
    read_all::<MoveError>(source, Part::ALL, async |part, rows: Vec<Row>| {
        found.extend(rows.iter().map(|row| (part, serde_json::to_string(row).unwrap())));
        Ok(())
    })
    .await
    .unwrap();
    found.sort();
    found
}

/// What a store answers to whoever asks; scores and the order of equals are the store's own.
async fn answers(store: &dyn Store) -> Vec<String> {
    fn say(what: &str, answer: impl Debug) -> String {
        format!("{what}: {answer:?}")
    }
    let ids: Vec<MemoryId> = (1..=6).map(id).collect();
    let harbour = ConceptKey("harbour".to_owned());
    let mut said = Vec::new();
    let readers =
        [everything(), Caller::operator("alice").visibility(), Visibility::only(&crew()), Visibility::only(&alice())];
    for (reader, seen) in readers.iter().enumerate() {
        let mut tell = |what: &str, answer: String| said.push(format!("{reader} {what}: {answer}"));
        for known in [None, Some(at(2)), Some(at(9)), Some(at(12))] {
            let as_of = AsOf { world: None, known };
            tell("memories", say("", store.memories(&ids, as_of, seen).await.unwrap()));
            let filter = Filter { as_of, ..Filter::default() };
            for term in ["gate", "tide", "闸门", "secret"] {
                let query = KeywordQuery { terms: vec![term.to_owned()], filter: filter.clone(), limit: 10 };
                let found: BTreeSet<MemoryId> =
                    store.keyword(&query, seen).await.unwrap().into_iter().map(|scored| scored.id).collect();
                tell(term, say("", found));
            }
            tell("recent", say("", store.recent(&filter, 10, seen).await.unwrap()));
            tell("replaced", say("", store.replaced_texts(&filter, 10, seen).await.unwrap()));
            let mut concepts = store.concepts(std::slice::from_ref(&harbour), known, seen).await.unwrap();
            concepts.sort_by_key(|used| used.concept.id);
            tell("concepts", say("", concepts));
            let of_concept = store.memories_of_concept(&harbour, 10, known, seen).await.unwrap();
            tell("of concept", say("", of_concept.into_iter().collect::<BTreeSet<_>>()));
        }
        for memory in &ids {
            tell("revisions", say("", store.revisions(*memory, seen).await.unwrap()));
            let edges: BTreeSet<String> = store
                .edges_of(memory.0, 100, seen)
                .await
                .unwrap()
                .iter()
                .map(|edge| serde_json::to_string(edge).unwrap())
                .collect();
            tell("edges", say("", edges));
            tell("vote", say("", store.vote_of(*memory, "bo", seen).await.unwrap()));
        }
        for kind in [EdgeKind::SameSession, EdgeKind::SameTask] {
            for name in ["watch", "repair"] {
                tell("members", say("", GraphStore::members(store, kind, name, 10, seen).await.unwrap()));
            }
        }
        tell("events", say("", store.events_of_session("watch", 10, seen).await.unwrap()));
        tell("audit", say("", store.audit(None, 100, seen).await.unwrap()));
        tell("changes", say("", store.changes(0, 100, seen).await.unwrap()));
        tell("total", say("", store.total_memories(seen).await.unwrap()));
        tell("list", say("", store.list(&Listing::default(), None, 100, seen).await.unwrap()));
        tell("counts", say("", store.counts(seen).await.unwrap()));
        for name in ["a", "b", "c"] {
            let iri = ConceptKey(iri(name));
            tell("concept", say("", store.concepts(std::slice::from_ref(&iri), None, seen).await.unwrap()));
        }
    }
    let names = ["watch".to_owned()];
    said.push(say("last", store.last_members(EdgeKind::SameSession, &names, &crew()).await.unwrap()));
    said.push(say("last", store.last_members(EdgeKind::SameSession, &names, &alice()).await.unwrap()));
    said.push(say("external", store.by_external_ids(&["row 1".to_owned()], &everything()).await.unwrap()));
    said.push(say("recorded", store.recorded("alice", "again").await.unwrap()));
    said.push(say("versions", store.versions(None, 10).await.unwrap()));
    said.push(say("vocabularies", store.vocabularies().await.unwrap()));
    said.push(say("terms", store.list_terms(None, None, 100).await.unwrap()));
    said.push(say("roots", store.children(None, None, 10).await.unwrap()));
    said.push(say("below", store.children(Some(&iri("a")), None, 10).await.unwrap()));
    for part in ["wa", "sea", "e"] {
        said.push(say(part, OntologyStore::search(store, part, None, 10).await.unwrap()));
    }
    said.push(say("token", store.token_by_hash(&"5e".repeat(32)).await.unwrap()));
    said.push(say("models", store.meta("models").await.unwrap()));
    said.push(say("last change", store.last_change().await.unwrap()));
    said
}

/// A list of what differs, which is easier to read than two lists.
fn assert_same(left: Vec<String>, right: Vec<String>) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.into_iter().zip(right) {
        assert_eq!(left, right);
    }
}

/// The same writes after the move do the same: places, positions of the log and counters go on.
async fn go_on(store: &dyn Store) {
    let later = change(
        30,
        vec![
            put(Memory { session_id: Some("watch".to_owned()), ..memory(8, &alice(), "the watch goes on") }),
            Op::PutEdge(edge(id(8).0, EdgeKind::SameSession, id(2).0, &alice(), 30)),
            put(Memory { revision: 3, recorded_at: at(30), ..logged(1, &alice(), "the gate is gone") }),
            Op::Vote { id: id(3), principal: "bo".to_owned(), useful: true, note: None, confidence: 0.9 },
            Op::Retire { id: id(4), status: Status::Archived, valid_to: None },
        ],
    );
    store.apply(&[later]).await.unwrap();
    store.apply(&[change(31, vec![Op::Forget { id: id(3) }])]).await.unwrap();
    let twice = sample().remove(0);
    store.apply(&[twice]).await.unwrap();
    // Back to the first version, whose names of the sea are others: the links go.
    let asked = OntologyVersion { actor: "ann".to_owned(), at: at(32), ..OntologyVersion::default() };
    let back = store.roll_back(1, &asked).await.unwrap().unwrap();
    assert_eq!(back.graph_hash, store.versions(Some(2), 1).await.unwrap()[0].graph_hash);
    switch(store, "coasts", &[term("elsewhere", "Elsewhere", &[(Relation::Broader, "a")])], &[]).await;
}

pub async fn store_filled_from_another_answers_alike(store: &(impl Store + 'static)) {
    let ((source, _folder), from, to) = (file().await, index(), index());
    fill(&source, &from).await;
    let moved = carry(&whole(&source, &from), &whole(store, &to), Part::ALL, |_, _| {}).await.unwrap();
    assert!(moved.iter().all(|(_, rows)| *rows > 0), "the sample has every part: {moved:?}");
    assert!(!move_was_interrupted(store).await.unwrap());
    assert_same(answers(store).await, answers(&source).await);
    go_on(store).await;
    go_on(&source).await;
    assert_same(answers(store).await, answers(&source).await);
}

pub async fn store_that_is_emptied_into_another_loses_nothing(store: &(impl Store + 'static)) {
    let ((target, _folder), from, to) = (file().await, index(), index());
    fill(store, &from).await;
    carry(&whole(store, &from), &whole(&target, &to), Part::ALL, |_, _| {}).await.unwrap();
    assert_eq!(rows(&whole(store, &from)).await, rows(&whole(&target, &to)).await);
    assert_same(answers(store).await, answers(&target).await);
}

/// A source that fails after some pages.
struct Cut<'a> {
    source: &'a dyn ArchiveSource,
    pages: AtomicUsize,
}

#[async_trait]
impl ArchiveSource for Cut<'_> {
    async fn identity(&self) -> Result<String, PortError> {
        self.source.identity().await
    }

    async fn count(&self, part: Part) -> Result<u64, PortError> {
        self.source.count(part).await
    }

    async fn rows(&self, part: Part, from: Option<&str>, _limit: usize) -> Result<RowPage, PortError> {
        let left = self.pages.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |pages| pages.checked_sub(1));
        if left.is_err() {
            return Err(PortError::new(PortErrorKind::Unavailable, "test", "rows", "cut"));
        }
        // Two rows a page, so that parts are cut within.
        self.source.rows(part, from, 2).await
    }
}

pub async fn move_that_is_cut_short_goes_on_where_it_was(store: &(impl Store + 'static)) {
    let ((source, _folder), from, to) = (file().await, index(), index());
    fill(&source, &from).await;
    let whole_source = whole(&source, &from);
    let mut cuts = 0;
    loop {
        // Comparing begins anew each time, so each try must get further.
        let cut = Cut { source: &whole_source, pages: AtomicUsize::new(cuts / 2 + 1) };
        match carry(&cut, &whole(store, &to), Part::ALL, |_, _| {}).await {
            Ok(_) => break,
            Err(MoveError::Port(error)) => assert_eq!(error.kind, PortErrorKind::Unavailable),
            Err(error) => panic!("after {cuts} cuts: {error}"),
        }
        assert!(move_was_interrupted(store).await.unwrap());
        cuts += 1;
    }
    assert!(cuts > 10, "{cuts}");
    assert!(!move_was_interrupted(store).await.unwrap());
    assert_eq!(rows(&whole(store, &to)).await, rows(&whole_source).await);
    assert_same(answers(store).await, answers(&source).await);
}

pub async fn move_from_another_source_is_refused_half_way(store: &(impl Store + 'static)) {
    let ((source, _folder), from, to) = (file().await, index(), index());
    fill(&source, &from).await;
    let whole_source = whole(&source, &from);
    let cut = Cut { source: &whole_source, pages: AtomicUsize::new(8) };
    carry(&cut, &whole(store, &to), Part::ALL, |_, _| {}).await.unwrap_err();
    source.apply(&[change(40, vec![put(memory(9, &Scope::Global, "later"))])]).await.unwrap();
    let refused = carry(&whole_source, &whole(store, &to), Part::ALL, |_, _| {}).await.unwrap_err();
    assert!(matches!(refused, MoveError::AnotherMove), "{refused}");
}

pub async fn store_that_holds_something_is_refused(store: &(impl Store + 'static)) {
    let ((source, _folder), from, to) = (file().await, index(), index());
    fill(&source, &from).await;
    store.apply(&[change(1, vec![put(memory(1, &Scope::Global, "here before"))])]).await.unwrap();
    let refused = carry(&whole(&source, &from), &whole(store, &to), Part::ALL, |_, _| {}).await.unwrap_err();
    assert!(matches!(refused, MoveError::NotEmpty { part: Part::Memories, rows: 1 }), "{refused}");
    assert!(!move_was_interrupted(store).await.unwrap(), "it was not touched");
    assert_eq!(store.total_memories(&everything()).await.unwrap(), 1);
}

pub async fn rows_are_added_all_or_none(store: &(impl Store + 'static)) {
    let note = MetaRow { key: "note".to_owned(), value: "here".to_owned() };
    let (harbour, coast) = (concept("harbour", ConceptOrigin::Text), concept("coast", ConceptOrigin::Text));
    store.add_rows(&[Row::Concept(harbour.clone())], &note).await.unwrap();
    let later = MetaRow { value: "there".to_owned(), ..note.clone() };
    let refused = store.add_rows(&[Row::Concept(coast), Row::Concept(harbour)], &later).await.unwrap_err();
    assert_eq!(refused.kind, PortErrorKind::Conflict);
    assert_eq!(ArchiveSource::count(store, Part::Concepts).await.unwrap(), 1);
    assert_eq!(store.meta("note").await.unwrap().as_deref(), Some("here"));
}
