//! The ports of a store behind a [`Circuit`], for stores that are servers. Each call goes on as it came.
//!
//! To add a method to a port: a line here.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::circuit::{Circuit, CircuitSettings};
use crate::{
    domain::{
        AsOf, ChangeSet, ConceptId, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, IndexOp, Memory, MemoryId,
        OntologyVersion, Page, PageId, Payload, Proposal, ProposalId, Record, Revision, Scope, Visibility,
    },
    ports::{
        Applied, AuditRow, Browse, ConceptMember, ConceptUse, GraphStore, Group, GroupSummary, KeywordQuery, Listing,
        MemoryChange, Neighbourhood, NeighbourhoodQuery, OntologyStore, OutboxRow, PageQuery, PortError,
        ProposalChange, QueueQuery, Rebuild, Recorded, ReviewStore, Scored, StagedTerm, Staging, StoreCounts,
        StoredTerm, StoredToken, Switch, Tally, TermEntry, TokenStore, VectorIndex, VectorQuery,
    },
};

/// See the module.
pub struct Guarded<S: ?Sized> {
    store: Arc<S>,
    circuit: Arc<Circuit>,
}

/// A graph store with all its ports, behind one circuit.
pub fn graph<S: GraphStore + 'static>(store: Arc<S>, settings: CircuitSettings) -> Guarded<S> {
    let looked_at = store.clone();
    let look = move || {
        let store = looked_at.clone();
        Box::pin(async move { store.ping().await }) as _
    };
    Guarded { store, circuit: Circuit::new("graph", settings, Box::new(look)) }
}

/// A vector index behind a circuit.
pub fn index<S: VectorIndex + 'static>(store: Arc<S>, settings: CircuitSettings) -> Guarded<S> {
    let looked_at = store.clone();
    let look = move || {
        let store = looked_at.clone();
        Box::pin(async move { store.count().await.map(drop) }) as _
    };
    Guarded { store, circuit: Circuit::new("vectors", settings, Box::new(look)) }
}

/// Implements a port by calling the same method of the store; `plainly` past the circuit, since it asks no server.
macro_rules! guarded {
    ($port:ident {
        $(fn $method:ident($($name:ident: $type:ty),* $(,)?) -> $answer:ty;)+
        $(plainly fn $plain:ident();)*
    }) => {
        #[async_trait]
        impl<S: $port + ?Sized> $port for Guarded<S> {
            $(async fn $method(&self, $($name: $type),*) -> Result<$answer, PortError> {
                self.circuit.call(stringify!($method), self.store.$method($($name),*)).await
            })+
            $(async fn $plain(&self) {
                self.store.$plain().await;
            })*
        }
    };
}

guarded!(VectorIndex {
    fn apply(ops: &[IndexOp]) -> ();
    fn search(query: &VectorQuery, visibility: &Visibility) -> Vec<Scored>;
    fn vectors(space: &str, ids: &[MemoryId], visibility: &Visibility) -> HashMap<MemoryId, Vec<f32>>;
    fn payloads(ids: &[MemoryId], visibility: &Visibility) -> HashMap<MemoryId, Payload>;
    fn ids(after: Option<MemoryId>, limit: usize, visibility: &Visibility) -> Vec<MemoryId>;
    fn count() -> usize;
    fn flush() -> ();
    fn optimize() -> ();
    fn rebuild() -> Arc<dyn Rebuild>;
    plainly fn withdraw();
});

guarded!(GraphStore {
    fn apply(changes: &[ChangeSet]) -> Vec<Applied>;
    fn memories(ids: &[MemoryId], as_of: AsOf, visibility: &Visibility) -> Vec<Memory>;
    fn by_external_ids(external_ids: &[String], visibility: &Visibility) -> BTreeMap<String, MemoryId>;
    fn by_content_hashes(hashes: &[String], scope: &Scope) -> BTreeMap<String, MemoryId>;
    fn last_members(kind: EdgeKind, names: &[String], scope: &Scope) -> BTreeMap<String, MemoryId>;
    fn recorded(principal: &str, key: &str) -> Option<Recorded>;
    fn keyword(query: &KeywordQuery, visibility: &Visibility) -> Vec<Scored>;
    fn recent(filter: &Filter, limit: usize, visibility: &Visibility) -> Vec<Scored>;
    fn neighbourhood(query: &NeighbourhoodQuery, visibility: &Visibility) -> Neighbourhood;
    fn edges_of(id: Uuid, limit: usize, visibility: &Visibility) -> Vec<Edge>;
    fn concepts(keys: &[ConceptKey], known: Option<Timestamp>, visibility: &Visibility) -> Vec<ConceptUse>;
    fn memories_of_concept(
        key: &ConceptKey,
        limit: usize,
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Vec<(MemoryId, EdgeKind)>;
    fn replaced_texts(filter: &Filter, limit: usize, visibility: &Visibility) -> Vec<Memory>;
    fn members(kind: EdgeKind, name: &str, limit: usize, visibility: &Visibility) -> Vec<MemoryId>;
    fn events(ids: &[EventId], visibility: &Visibility) -> Vec<Event>;
    fn events_of_session(session: &str, limit: usize, visibility: &Visibility) -> Vec<Event>;
    fn vote_of(id: MemoryId, principal: &str, visibility: &Visibility) -> Option<bool>;
    fn page(after: Option<MemoryId>, limit: usize, visibility: &Visibility) -> Vec<Memory>;
    fn total_memories(visibility: &Visibility) -> usize;
    fn counts(visibility: &Visibility) -> StoreCounts;
    fn outbox(after: u64, limit: usize) -> Vec<OutboxRow>;
    fn outbox_done(seq: u64) -> ();
    fn meta(key: &str) -> Option<String>;
    fn set_meta(key: &str, value: &str) -> ();
    fn swap_meta(key: &str, expected: Option<&str>, value: &str) -> bool;
    fn half_links(repair: bool) -> usize;
    fn ping() -> ();
    fn revisions(id: MemoryId, visibility: &Visibility) -> Vec<(Timestamp, Option<Timestamp>, Memory)>;
});

guarded!(Browse {
    fn list(
        listing: &Listing,
        after: Option<(Timestamp, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<Memory>;
    fn list_total(listing: &Listing, visibility: &Visibility) -> usize;
    fn group(group: &Group, visibility: &Visibility) -> Option<GroupSummary>;
    fn members(group: &Group, after: Option<MemoryId>, limit: usize, visibility: &Visibility) -> Vec<Memory>;
    fn events(
        group: Option<&Group>,
        after: Option<(Timestamp, EventId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<Event>;
    fn find_concepts(
        part: &str,
        after: Option<&ConceptKey>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<ConceptUse>;
    fn concepts_by_id(ids: &[ConceptId], visibility: &Visibility) -> Vec<ConceptUse>;
    fn concept_members(
        concept: ConceptId,
        after: Option<(EdgeKind, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<ConceptMember>;
    fn edges_of_all(nodes: &[Uuid], limit: usize, visibility: &Visibility) -> Vec<Vec<Edge>>;
    fn audit(before: Option<u64>, limit: usize, visibility: &Visibility) -> Vec<AuditRow>;
    fn changes(after: u64, limit: usize, visibility: &Visibility) -> Vec<MemoryChange>;
    fn last_change() -> u64;
});

guarded!(ReviewStore {
    fn records(ids: &[Uuid], visibility: &Visibility) -> Vec<Record>;
    fn text(id: Uuid, visibility: &Visibility) -> Option<String>;
    fn pages_named(names: &[String], visibility: &Visibility) -> Vec<Page>;
    fn pages(
        query: &PageQuery,
        after: Option<(String, PageId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<Page>;
    fn history(
        page: PageId,
        before: Option<u64>,
        until: Option<Timestamp>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<Revision>;
    fn queue(
        query: &QueueQuery,
        after: Option<(Timestamp, ProposalId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Vec<Proposal>;
    fn queue_total(query: &QueueQuery, visibility: &Visibility) -> usize;
    fn tallies(visibility: &Visibility) -> Vec<Tally>;
    fn waiting(limit: usize, visibility: &Visibility) -> Vec<Timestamp>;
    fn proposal_changes(
        after: u64,
        limit: usize,
        author: Option<&str>,
        visibility: &Visibility,
    ) -> Vec<ProposalChange>;
});

guarded!(OntologyStore {
    fn current() -> u64;
    fn versions(before: Option<u64>, limit: usize) -> Vec<OntologyVersion>;
    fn vocabularies() -> Vec<(String, usize)>;
    fn hashes(vocabulary: &str) -> BTreeMap<String, [u8; 32]>;
    fn begin(vocabulary: &str, source_hash: &str) -> Staging;
    fn stage(number: u64, terms: &[StagedTerm]) -> ();
    fn switch(switch: &Switch) -> OntologyVersion;
    fn roll_back(to: u64, version: &OntologyVersion) -> Option<OntologyVersion>;
    fn terms(iris: &[String]) -> Vec<StoredTerm>;
    fn list_terms(vocabulary: Option<&str>, after: Option<(&str, &str)>, limit: usize) -> Vec<StoredTerm>;
    fn children(parent: Option<&str>, after: Option<(&str, &str)>, limit: usize) -> Vec<TermEntry>;
    fn search(part: &str, after: Option<(&str, &str)>, limit: usize) -> Vec<TermEntry>;
});

guarded!(TokenStore {
    fn add_token(token: &StoredToken) -> ();
    fn token_by_hash(secret_hash: &str) -> Option<StoredToken>;
    fn tokens() -> Vec<StoredToken>;
    fn revoke_token(id: &str) -> bool;
});
