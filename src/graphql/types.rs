//! What the schema shows: the records of the façade, and what leads on from them.

use async_graphql::{ComplexObject, Context, ID, Interface, Object, Result, SimpleObject};
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Asking,
    convert::{NodeType, global, global_of, memory_id, memory_ids, named, node_id},
    loader::{ConceptOf, EdgesOf, MemoryOf, asking, service},
    names::{
        Code, ConceptOrigin, DateTime, EdgeKind, Effect, EventKind, Feedback, Kind, MemoryType, Mode, Outcome,
        PrincipalKind, Right, Scope, Source, Status, StoreState, Verification,
    },
    page::{ConceptMemoryConnection, EventConnection, MemoryConnection, Naming, Total, connection, page},
    review::Proposal,
    wiki::Page,
};
use crate::{
    domain::{self, ConceptId, MemoryId},
    ontology,
    ports::{self, Group},
};

/// A record with a global id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Its global id."))]
pub(super) enum Node {
    Memory(Memory),
    Concept(Concept),
    Event(Event),
    Session(Session),
    Task(Task),
    Page(Page),
    Proposal(Proposal),
}

/// A memory as it is stored.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Memory {
    /// Its plain id, the same in every interface.
    #[serde(rename = "id")]
    pub uuid: String,
    /// The name another system knows it by.
    external_id: Option<String>,
    /// Layer.
    kind: Kind,
    /// What it says.
    r#type: MemoryType,
    /// The full text, byte for byte as given.
    content: String,
    /// What it is about.
    title: Option<String>,
    /// At most 150 characters.
    summary: String,
    /// When it applies.
    context: Option<String>,
    /// Labels.
    tags: Vec<String>,
    /// Who said it, where it is a turn of a dialogue.
    speaker: Option<String>,
    /// Between 0 and 1.
    importance: f64,
    /// Between 0 and 1.
    confidence: f64,
    /// Where the claim comes from.
    source: Source,
    /// Name of the session it belongs to.
    session_id: Option<String>,
    /// Name of the task it belongs to.
    task_id: Option<String>,
    /// The principal that stored it.
    user_id: String,
    /// The agent that stored it, when an agent did.
    agent_id: Option<String>,
    /// Who may read it.
    scope: Scope,
    /// The group it is shared with.
    group: Option<String>,
    /// Where it is in its life.
    status: Status,
    /// True in the world from then; absent is always.
    valid_from: Option<DateTime>,
    /// True in the world until then.
    valid_to: Option<DateTime>,
    /// Believed from then.
    recorded_at: DateTime,
    /// Believed until then.
    retired_at: Option<DateTime>,
    /// When what it tells happened.
    occurred_at: DateTime,
    /// Not recalled from then on.
    expires_at: Option<DateTime>,
    /// Times it was stored again or counted as used.
    access_count: i64,
    /// The last such time.
    last_accessed: Option<DateTime>,
    /// Votes that it helped.
    useful: i64,
    /// Votes that it did not.
    not_useful: i64,
    /// Whether a lesson was borne out.
    verification: Option<Verification>,
    /// Starts at 1 and grows with each update; give it as `expectedRevision`.
    revision: i64,
    /// What happened, in parts.
    event: Option<EventDetail>,
}

/// The parts of a remembered event.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct EventDetail {
    /// When, as the client wrote it.
    timestamp: Option<String>,
    /// Who.
    actor: Option<String>,
    /// Did what.
    action: Option<String>,
    /// To what.
    object: Option<String>,
    /// With which result.
    result: Option<String>,
    /// Under which circumstances.
    context: Option<String>,
}

#[ComplexObject]
impl Memory {
    /// Its global id.
    async fn id(&self) -> ID {
        global(NodeType::Memory, &self.uuid)
    }

    /// The session it belongs to.
    async fn session(&self) -> Option<Session> {
        self.session_id.clone().map(Session)
    }

    /// The task it belongs to.
    async fn task(&self) -> Option<Task> {
        self.task_id.clone().map(Task)
    }

    /// Edges that leave or reach it, latest first.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn edges(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only these kinds. Default all.")] kinds: Option<Vec<EdgeKind>>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
    ) -> Result<Vec<Edge>> {
        let first = crate::input::count("first", first.unwrap_or(20), 100)?;
        let id: MemoryId = crate::input::memory_id("id", &self.uuid)?;
        let edges = asking(ctx)?.loader.load_one(EdgesOf(id)).await?.unwrap_or_default();
        let wanted = |edge: &Edge| kinds.as_ref().is_none_or(|kinds| kinds.contains(&edge.kind));
        Ok(edges.into_iter().filter(wanted).take(first).collect())
    }
}

/// An edge of the graph.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(complex)]
pub(super) struct Edge {
    /// What it says of its two ends.
    kind: EdgeKind,
    /// Strength, between 0 and 1.
    weight: f64,
    /// Why it was made.
    reason: Option<String>,
    /// Recorded then.
    recorded_at: DateTime,
    #[graphql(skip)]
    from: Uuid,
    #[graphql(skip)]
    to: Uuid,
}

#[ComplexObject]
impl Edge {
    /// Global id of the node it leaves.
    async fn from_id(&self) -> ID {
        global_of(self.from)
    }

    /// Global id of the node it reaches.
    async fn to_id(&self) -> ID {
        global_of(self.to)
    }

    /// The node it leaves.
    async fn from(&self, ctx: &Context<'_>) -> Result<Option<Node>> {
        end(ctx, self.from).await
    }

    /// The node it reaches.
    async fn to(&self, ctx: &Context<'_>) -> Result<Option<Node>> {
        end(ctx, self.to).await
    }
}

/// The memory or concept at the end of an edge or path.
async fn end(ctx: &Context<'_>, id: Uuid) -> Result<Option<Node>> {
    let Asking { loader, .. } = asking(ctx)?;
    if let Some(memory) = loader.load_one(MemoryOf(MemoryId(id))).await? {
        return Ok(Some(Node::Memory(memory)));
    }
    Ok(loader.load_one(ConceptOf(ConceptId(id))).await?.map(Node::Concept))
}

impl TryFrom<domain::Edge> for Edge {
    type Error = crate::error::Error;
    fn try_from(edge: domain::Edge) -> std::result::Result<Self, Self::Error> {
        Ok(Self {
            kind: named(edge.kind.name())?,
            weight: f64::from(edge.weight),
            reason: edge.reason,
            recorded_at: edge.recorded_at.into(),
            from: edge.from,
            to: edge.to,
        })
    }
}

/// What memories are about and what they mention.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(complex)]
pub(super) struct Concept {
    #[graphql(skip)]
    pub id: ConceptId,
    /// Its name in the form in which two spellings are the same.
    key: String,
    /// Its name as first seen.
    label: String,
    /// Where it comes from.
    origin: ConceptOrigin,
    /// Visible memories that name it.
    uses: i64,
    /// Those of them that are about it.
    about: i64,
}

#[ComplexObject]
impl Concept {
    /// Its global id.
    async fn id(&self) -> ID {
        global(NodeType::Concept, self.id)
    }

    /// What ontologies say of it; nothing if it comes from the text of memories.
    async fn term(&self, ctx: &Context<'_>) -> Result<Option<OntologyTerm>> {
        if self.origin != ConceptOrigin::Ontology {
            return Ok(None);
        }
        let record = service(ctx)?.show_concept(&asking(ctx)?.caller, &self.key).await?;
        Ok(Some(super::convert::reply(&record)?))
    }

    /// The memories that name it: those about it first.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn memories(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<ConceptMemoryConnection> {
        let page = page(first, after);
        let found = service(ctx)?.concept_members(&asking(ctx)?.caller, self.id, &page).await?;
        connection(found, Total::Known(self.uses), |(record, kind)| {
            Ok((super::convert::reply(&record)?, Naming { naming: named(kind.name())? }))
        })
    }
}

/// A name, or a text about a concept.
#[derive(SimpleObject, Deserialize)]
pub(super) struct ConceptLabel {
    /// The text.
    text: String,
    /// BCP 47 tag, or nothing.
    language: String,
    /// preferred, alternative, hidden or definition.
    role: String,
}

/// How a concept hangs together with another.
#[derive(SimpleObject, Deserialize)]
pub(super) struct ConceptRelation {
    /// broader, related, exact_match and others.
    relation: String,
    /// IRI of the other end.
    iri: String,
    /// What that is called, if an import described it.
    label: String,
}

/// Something else that is said of a concept.
#[derive(SimpleObject, Deserialize)]
pub(super) struct ConceptNote {
    /// IRI of the property.
    property: String,
    /// Its value.
    value: String,
    /// BCP 47 tag, or nothing.
    language: String,
}

/// What ontologies say of a concept.
#[derive(SimpleObject, Deserialize)]
pub(super) struct OntologyTerm {
    /// Its IRI.
    iri: String,
    /// concept, class, individual, scheme, collection or a kind of property.
    kind: String,
    /// Vocabularies that describe it.
    vocabularies: Vec<String>,
    /// Its names.
    labels: Vec<ConceptLabel>,
    /// What it is.
    definitions: Vec<ConceptLabel>,
    /// How it hangs together with others.
    relations: Vec<ConceptRelation>,
    /// What else is said of it.
    notes: Vec<ConceptNote>,
    /// Whether it is not to be used any longer.
    deprecated: bool,
}

/// A concept in the tree of an ontology.
#[derive(SimpleObject)]
pub(super) struct TreeConcept {
    /// Its global id.
    id: ID,
    /// Its IRI.
    iri: String,
    /// What to call it.
    label: String,
    /// Concepts right below it.
    narrower: i64,
}

impl TryFrom<ontology::ConceptSummary> for TreeConcept {
    type Error = crate::error::Error;
    fn try_from(found: ontology::ConceptSummary) -> std::result::Result<Self, Self::Error> {
        let id = global(NodeType::Concept, found.id);
        Ok(Self { id, iri: found.iri, label: found.label, narrower: found.narrower })
    }
}

/// A version of all ontologies.
#[derive(SimpleObject, Deserialize)]
pub(super) struct OntologyVersion {
    /// Its number.
    number: i64,
    /// The vocabulary that was imported; empty for a rollback.
    vocabulary: String,
    /// When.
    at: DateTime,
    /// By whom; of one that was proposed, who agreed.
    actor: String,
    /// Who proposed it, if somebody had to agree.
    proposed_by: Option<String>,
    /// Plain id of the proposal it came from.
    proposal_id: Option<String>,
    /// Name of the file, or the version that it went back to.
    source: String,
    /// SHA-256 of the file, or hash of the graph that it went back to.
    source_hash: String,
    /// Terms that came in.
    new: i64,
    /// Terms that became others.
    changed: i64,
    /// Terms that went.
    removed: i64,
    /// Hash of the graph of all vocabularies.
    graph_hash: String,
}

/// A subject of a file that is no term.
#[derive(SimpleObject, Deserialize)]
pub(super) struct SkippedSubject {
    /// Its IRI.
    #[serde(rename = "where")]
    place: String,
    /// Why.
    why: String,
}

/// What an import did, or would do.
#[derive(SimpleObject, Deserialize)]
pub(super) struct OntologyImport {
    /// Version in force after it; of a dry run, the one before.
    version: i64,
    /// The vocabulary.
    vocabulary: String,
    /// Format of the file.
    format: String,
    /// Terms that came in.
    new: i64,
    /// Terms that became others.
    changed: i64,
    /// Terms that went.
    removed: i64,
    /// Terms that are as they were.
    unchanged: i64,
    /// Subjects of the file that are no terms, the first hundred.
    skipped: Vec<SkippedSubject>,
    /// What is odd about the file.
    warnings: Vec<String>,
    /// IRIs of terms that go, the first hundred.
    removals: Vec<String>,
    /// How many subjects are no terms.
    skipped_total: i64,
    /// What is in the file, in numbers.
    statements: i64,
    /// Classes in it.
    classes: i64,
    /// Concepts in it.
    concepts: i64,
    /// Individuals in it.
    individuals: i64,
    /// Properties of all kinds in it.
    properties: i64,
    /// Hash of the graph of all vocabularies in force.
    graph_hash: String,
    /// Memories that were linked to what came in.
    linked: i64,
}

/// How far an import has come.
#[derive(SimpleObject)]
pub(super) struct ImportProgress {
    /// idle, reading, staging, switching or linking.
    stage: String,
    /// Steps done.
    done: i64,
    /// Steps in all.
    total: i64,
}

impl From<ontology::Progress> for ImportProgress {
    fn from(told: ontology::Progress) -> Self {
        Self { stage: told.stage.name().to_owned(), done: count(told.done), total: count(told.total) }
    }
}

/// What became of an ontology that was given.
#[derive(SimpleObject, Default)]
pub(super) struct ImportOntologyPayload {
    /// What it did, or would do.
    pub imported: Option<OntologyImport>,
    /// The proposal that waits for a person, if the caller has no right to import.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What became of a rollback.
#[derive(SimpleObject, Default)]
pub(super) struct RollbackOntologyPayload {
    /// The version that it made.
    pub version: Option<OntologyVersion>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not done.
    pub user_errors: Vec<UserError>,
}

impl TryFrom<ports::ConceptUse> for Concept {
    type Error = crate::error::Error;
    fn try_from(used: ports::ConceptUse) -> std::result::Result<Self, Self::Error> {
        let count = |uses: usize| i64::try_from(uses).unwrap_or(i64::MAX);
        Ok(Self {
            id: used.concept.id,
            key: used.concept.key.0,
            label: used.concept.label,
            origin: named(used.concept.origin.name())?,
            uses: count(used.uses),
            about: count(used.about),
        })
    }
}

impl TryFrom<&ontology::ConceptRecord> for Concept {
    type Error = crate::error::Error;
    fn try_from(record: &ontology::ConceptRecord) -> std::result::Result<Self, Self::Error> {
        Ok(Self {
            id: record.id.parse().map_err(|error| crate::error::Error::bad_input("id", error))?,
            key: record.iri.clone(),
            label: record.label.clone(),
            origin: ConceptOrigin::Ontology,
            uses: record.memories,
            about: 0,
        })
    }
}

/// A raw event, kept as it came.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(complex)]
pub(super) struct Event {
    /// Its plain id.
    uuid: String,
    /// What is reported.
    kind: EventKind,
    /// When it happened.
    at: DateTime,
    /// When the service was told.
    recorded_at: DateTime,
    /// Name of the session it belongs to.
    session_id: Option<String>,
    /// Name of the task it belongs to.
    task_id: Option<String>,
    /// The principal that reported it.
    user_id: String,
    /// Who may read it.
    scope: Scope,
    /// Text of the message, the input or the output.
    text: String,
    /// Tool concerned.
    tool: Option<String>,
    /// Status the tool or task gave.
    status: Option<String>,
    /// What a person thought of it.
    feedback: Option<Feedback>,
    #[graphql(skip)]
    made: Vec<MemoryId>,
}

#[ComplexObject]
impl Event {
    /// Its global id.
    async fn id(&self) -> ID {
        global(NodeType::Event, &self.uuid)
    }

    /// The memories that it made, or that said the same already.
    async fn memories(&self, ctx: &Context<'_>) -> Result<Vec<Memory>> {
        let keys = self.made.iter().copied().map(MemoryOf);
        let mut found = asking(ctx)?.loader.load_many(keys.clone()).await?;
        Ok(keys.filter_map(|key| found.remove(&key)).collect())
    }
}

impl TryFrom<domain::Event> for Event {
    type Error = crate::error::Error;
    fn try_from(event: domain::Event) -> std::result::Result<Self, Self::Error> {
        Ok(Self {
            uuid: event.id.to_string(),
            kind: named(event.kind.name())?,
            at: event.at.into(),
            recorded_at: event.recorded_at.into(),
            session_id: event.session_id,
            task_id: event.task_id,
            user_id: event.user_id,
            scope: named(event.scope.name())?,
            text: event.text,
            tool: event.tool,
            status: event.status,
            made: event.made,
            feedback: event.feedback.map(|feedback| named(feedback.name())).transpose()?,
        })
    }
}

/// A session, by the name clients give it.
#[derive(Debug, Clone)]
pub(super) struct Session(pub String);

/// A task, by the name clients give it.
#[derive(Debug, Clone)]
pub(super) struct Task(pub String);

macro_rules! group {
    ($doc:literal, $name:ident) => {
        #[doc = $doc]
        #[Object]
        impl $name {
            /// Its global id.
            async fn id(&self) -> ID {
                global(NodeType::$name, &self.0)
            }

            /// The name clients give it.
            async fn name(&self) -> &str {
                &self.0
            }

            /// Visible memories in it.
            async fn memory_count(&self, ctx: &Context<'_>) -> Result<i64> {
                Ok(measured(ctx, Group::$name(self.0.clone())).await?.map_or(0, |summary| count(summary.memories)))
            }

            /// Visible events in it.
            async fn event_count(&self, ctx: &Context<'_>) -> Result<i64> {
                Ok(measured(ctx, Group::$name(self.0.clone())).await?.map_or(0, |summary| count(summary.events)))
            }

            /// The earliest moment that its memories and events tell of.
            async fn first_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
                Ok(measured(ctx, Group::$name(self.0.clone())).await?.map(|summary| summary.first.into()))
            }

            /// The latest.
            async fn last_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
                Ok(measured(ctx, Group::$name(self.0.clone())).await?.map(|summary| summary.last.into()))
            }

            /// Its memories in the order of recording, whatever their status.
            #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
            async fn memories(
                &self,
                ctx: &Context<'_>,
                #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
                #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
            ) -> Result<MemoryConnection> {
                let group = Group::$name(self.0.clone());
                let found = service(ctx)?.members(&asking(ctx)?.caller, &group, &page(first, after)).await?;
                super::page::memories(found, Total::Members(group))
            }

            /// Its raw events, earliest first.
            #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
            async fn events(
                &self,
                ctx: &Context<'_>,
                #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
                #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
            ) -> Result<EventConnection> {
                let group = Group::$name(self.0.clone());
                let found = service(ctx)?.events(&asking(ctx)?.caller, Some(&group), &page(first, after)).await?;
                super::page::events(found)
            }
        }
    };
}

group!("A session: what was stored and reported under its name, in order.", Session);
group!("A task: what was stored and reported under its name, in order.", Task);

async fn measured(ctx: &Context<'_>, group: Group) -> Result<Option<ports::GroupSummary>> {
    asking(ctx)?.loader.load_one(group).await
}

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The answer to a question.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Recall {
    /// Best first.
    items: Vec<RecallItem>,
    /// Constraints in force for the caller, outside the ranking.
    constraints: Vec<RecallItem>,
    /// The block for a prompt, when asked for.
    prompt: Option<String>,
    /// What the question was taken to mean.
    understood: Understood,
    /// Parts that did not answer.
    degraded: Vec<Degraded>,
    /// Where the next page begins, if there is one.
    cursor: Option<String>,
    /// Milliseconds it took.
    took_ms: f64,
}

/// What is to be put into a prompt: labelled sections inside a token budget, escaped and fenced as data.
#[derive(SimpleObject, Deserialize)]
pub(super) struct PromptBlock {
    /// The text.
    prompt: String,
    /// Parts that did not answer.
    degraded: Vec<Degraded>,
    /// Milliseconds it took.
    took_ms: f64,
}

/// A recalled memory.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct RecallItem {
    /// Global id of the memory.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
    /// The name another system knows it by.
    external_id: Option<String>,
    /// What it is about.
    title: Option<String>,
    /// The full text.
    content: String,
    /// Whether the content is cut here; memory_get has it whole.
    #[serde(default)]
    cut: bool,
    /// At most 150 characters.
    summary: String,
    /// Layer.
    kind: Kind,
    /// What it says.
    r#type: MemoryType,
    /// Between 0 and 1, best first.
    score: f64,
    /// Whether it matches only weakly.
    weak: bool,
    /// Between 0 and 1.
    confidence: f64,
    /// Where it is in its life.
    status: Status,
    /// When it happened.
    occurred_at: DateTime,
    /// True in the world from then.
    valid_from: Option<DateTime>,
    /// True in the world until then.
    valid_to: Option<DateTime>,
    /// Name of its session.
    session_id: Option<String>,
    /// Name of its task.
    task_id: Option<String>,
    /// Its labels.
    tags: Vec<String>,
    /// Why it was returned.
    why: Option<Why>,
}

#[ComplexObject]
impl RecallItem {
    /// The memory as it is stored now.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

pub(super) async fn memory_of(ctx: &Context<'_>, id: &ID) -> Result<Option<Memory>> {
    let id = crate::input::memory_id("id", &super::convert::plain(NodeType::Memory, id))?;
    asking(ctx)?.loader.load_one(MemoryOf(id)).await
}

/// Why a memory was returned. All parts lie between 0 and 1.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Why {
    /// How well it answers by meaning, by itself or with the turn before it.
    semantic: Option<f64>,
    /// Keyword score, relative to the best.
    keyword: Option<f64>,
    /// Rarity of what it is about, where the query names that.
    named: Option<f64>,
    /// Share of the query's words that it has.
    coverage: f64,
    /// What the graph added, relative to the best.
    activation: Option<f64>,
    /// Fused relevance, relative to the best.
    relevance: f64,
    /// 1 now, one half after the half-life of its layer.
    freshness: f64,
    /// Priority of its type.
    type_priority: f64,
    /// Its importance.
    importance: f64,
    /// Its confidence.
    confidence: f64,
    /// Grows with use.
    access: f64,
    /// The way from the seed, where the graph brought it.
    #[serde(default)]
    path: Vec<PathStep>,
}

/// One step of a path through the graph.
#[derive(SimpleObject, Deserialize)]
pub(super) struct PathStep {
    /// Global id of the memory or concept it leaves.
    #[serde(deserialize_with = "node_id")]
    from: ID,
    /// Kind of the edge; `<` before it when it is followed against its direction.
    edge: String,
    /// Global id of the memory or concept it reaches.
    #[serde(deserialize_with = "node_id")]
    to: ID,
    /// The concept's name, where a concept is reached.
    label: Option<String>,
    /// Share of the activation that passes, between 0 and 1.
    weight: f64,
}

/// What a question was taken to mean.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Understood {
    /// Mode that answered.
    mode: Mode,
    /// Language of the query: en or other.
    language: String,
    /// Words that were searched for.
    terms: Vec<String>,
    /// Vector spaces that were searched.
    spaces: Vec<String>,
    /// Concepts of ontologies that it names, by whatever name in whatever language.
    concepts: Vec<String>,
    /// Narrower concepts that were looked for too, the first twenty.
    expanded: Vec<String>,
}

/// A part that did not answer.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Degraded {
    /// vectors, models, keyword, concepts, recent, graph or constraints.
    part: String,
    /// Why it is missing.
    reason: String,
}

/// The answer from the graph.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Association {
    /// Where the walk started.
    seeds: Vec<Seed>,
    /// Best first; without the given memories, and without the best match of a query.
    items: Vec<AssociatedItem>,
    /// The part of the graph that explains the items.
    subgraph: Subgraph,
    /// Parts that did not answer.
    degraded: Vec<Degraded>,
    /// Where the next page begins, if there is one.
    cursor: Option<String>,
    /// Milliseconds it took.
    took_ms: f64,
}

/// A memory the walk started from.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Seed {
    /// Global id of the memory.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
    /// How well it answers, relative to the best.
    score: f64,
}

#[ComplexObject]
impl Seed {
    /// The memory as it is stored now.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

/// A memory reached through the graph.
#[derive(SimpleObject, Deserialize)]
pub(super) struct AssociatedItem {
    /// The memory, and how well it answers.
    #[serde(flatten)]
    #[graphql(flatten)]
    item: RecallItem,
    /// Hops from the seed.
    distance: i64,
    /// The way from the seed.
    path: Vec<PathStep>,
}

/// The part of the graph that was walked.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Subgraph {
    /// Memories and concepts on the paths.
    nodes: Vec<SubgraphNode>,
    /// Edges on the paths.
    edges: Vec<SubgraphEdge>,
    /// Whether the neighbourhood was larger than the limit.
    truncated: bool,
}

/// A memory or concept of a subgraph.
#[derive(SimpleObject, Deserialize)]
pub(super) struct SubgraphNode {
    /// Its global id.
    #[serde(deserialize_with = "node_id")]
    id: ID,
    /// memory or concept.
    r#type: String,
    /// Summary or name.
    label: String,
}

/// An edge of a subgraph.
#[derive(SimpleObject, Deserialize)]
pub(super) struct SubgraphEdge {
    /// Global id of the node it leaves.
    #[serde(deserialize_with = "node_id")]
    from: ID,
    /// Global id of the node it reaches.
    #[serde(deserialize_with = "node_id")]
    to: ID,
    /// Its kind.
    edge: EdgeKind,
}

/// Where a memory stands for a question.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Explanation {
    /// Global id of the memory.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
    /// Its place in the answer of mode HYBRID, from 1; absent when it is not among the candidates.
    rank: Option<i64>,
    /// Its score there.
    score: Option<f64>,
    /// Its place in the answer of mode ASSOCIATIVE, which follows the graph.
    associative_rank: Option<i64>,
    /// Whether it would be marked weak.
    weak: bool,
    /// What each arm makes of it.
    arms: Vec<ArmTrace>,
    /// Why recall leaves it out; empty when nothing keeps it back.
    failed: Vec<FailedFilter>,
    /// All parts of its score, whether it was found or not.
    why: Why,
    /// The best way to it through the graph from what answers the question.
    path: Vec<PathStep>,
    /// Parts that did not answer.
    degraded: Vec<Degraded>,
}

#[ComplexObject]
impl Explanation {
    /// The memory as it is stored now.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

/// What one arm makes of a memory.
#[derive(SimpleObject, Deserialize)]
pub(super) struct ArmTrace {
    /// semantic, keyword, named or graph.
    arm: String,
    /// Whether it brings the memory in.
    found: bool,
    /// Its place there, from 1.
    rank: Option<i64>,
    /// Its score there, on the arm's own scale.
    score: Option<f64>,
}

/// A condition of recall that a memory does not meet.
#[derive(SimpleObject, Deserialize)]
pub(super) struct FailedFilter {
    /// status, expired or valid.
    filter: String,
    /// What it is, and what would be needed.
    reason: String,
}

/// How the service is. Numbers are of what the caller sees.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct ServiceStatus {
    /// Memories of any status.
    memories: i64,
    /// Edges.
    edges: i64,
    /// Concepts.
    concepts: i64,
    /// Changes that the vector index has still to make durable.
    outbox: i64,
    /// Writes that wait for the graph store.
    journal: i64,
    /// Writes that were given up and wait for a person.
    dead_letters: i64,
    /// Model behind each vector space.
    spaces: Vec<String>,
}

#[ComplexObject]
impl ServiceStatus {
    /// Version of the program.
    async fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    /// Whether each part answers now.
    async fn parts(&self, ctx: &Context<'_>) -> Result<Vec<Part>> {
        let parts = service(ctx)?.ready().await;
        Ok(parts.into_iter().map(|part| Part { name: part.part, ready: part.ready }).collect())
    }
}

/// A part of the service.
#[derive(SimpleObject)]
pub(super) struct Part {
    /// graph, vectors or models.
    name: &'static str,
    /// Whether it answers.
    ready: bool,
}

/// Who is asking.
#[derive(SimpleObject)]
pub(super) struct Me {
    /// Its name; the owner of what it stores privately.
    principal: String,
    /// What stands behind it.
    kind: PrincipalKind,
    /// Groups whose shared memories it reads and writes.
    groups: Vec<String>,
    /// What it may do.
    rights: Vec<Right>,
    /// Who answers for it, if it is an agent.
    owner: Option<String>,
}

impl TryFrom<&domain::Caller> for Me {
    type Error = crate::error::Error;
    fn try_from(caller: &domain::Caller) -> std::result::Result<Self, Self::Error> {
        Ok(Self {
            principal: caller.principal.clone(),
            kind: named(caller.kind.name())?,
            groups: caller.groups.iter().cloned().collect(),
            rights: caller.rights.iter().map(|right| named(right.name())).collect::<std::result::Result<_, _>>()?,
            owner: caller.owner.clone(),
        })
    }
}

/// A bearer token, without its secret.
#[derive(SimpleObject)]
pub(super) struct Token {
    /// Its id, for revoking.
    id: ID,
    /// Whom it speaks for.
    caller: Me,
    /// When it was made.
    created_at: DateTime,
}

impl TryFrom<ports::StoredToken> for Token {
    type Error = crate::error::Error;
    fn try_from(token: ports::StoredToken) -> std::result::Result<Self, Self::Error> {
        Ok(Self { caller: Me::try_from(&token.caller)?, id: ID(token.id), created_at: token.created_at.into() })
    }
}

/// A row of the audit log: who changed what, when and why, never what it contained.
#[derive(SimpleObject)]
pub(super) struct AuditEntry {
    /// Its position; grows, never reused.
    position: String,
    /// Id of the change, as mutations answer it.
    operation_id: String,
    /// When it was decided.
    at: DateTime,
    /// The principal it was decided for.
    actor: String,
    /// The use case.
    use_case: String,
    /// Why, if whoever asked for it said so: the reason of a forget or a link, the note of a vote.
    reason: Option<String>,
    /// The memories it touched, at most 100.
    memories: Vec<Touched>,
    /// How many memories it touched.
    memory_count: i64,
}

/// What a change did to one memory.
#[derive(SimpleObject)]
pub(super) struct Touched {
    /// Global id of the memory.
    id: ID,
    /// What became of it.
    effect: Effect,
}

impl TryFrom<ports::AuditRow> for AuditEntry {
    type Error = crate::error::Error;
    fn try_from(row: ports::AuditRow) -> std::result::Result<Self, Self::Error> {
        let touched = |(id, effect): (MemoryId, domain::Effect)| {
            Ok(Touched { id: global(NodeType::Memory, id), effect: named(effect.name())? })
        };
        Ok(Self {
            position: row.seq.to_string(),
            operation_id: row.change.to_string(),
            at: row.at.into(),
            actor: row.actor,
            use_case: row.use_case,
            reason: row.reason,
            memories: row.memories.into_iter().map(touched).collect::<std::result::Result<_, Self::Error>>()?,
            memory_count: count(row.total),
        })
    }
}

/// What became of a memory.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(super) struct MemoryChange {
    /// Position of the change; give the last one as `after` to go on from it.
    position: String,
    /// When it was decided.
    at: DateTime,
    /// What became of the memory.
    pub effect: Effect,
    /// Global id of the memory.
    id: ID,
}

#[ComplexObject]
impl MemoryChange {
    /// The memory as it is now; absent if it is gone or no longer the caller's to see.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

impl TryFrom<ports::MemoryChange> for MemoryChange {
    type Error = crate::error::Error;
    fn try_from(change: ports::MemoryChange) -> std::result::Result<Self, Self::Error> {
        Ok(Self {
            position: change.seq.to_string(),
            at: change.at.into(),
            effect: named(change.effect.name())?,
            id: global(NodeType::Memory, change.memory),
        })
    }
}

/// Why an input was not taken.
#[derive(SimpleObject)]
pub(super) struct UserError {
    /// What went wrong.
    pub code: Code,
    /// The field of the input, where it is one.
    pub field: Option<String>,
    /// For the reader.
    pub message: String,
}

/// An edge that was made when a memory was stored.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Link {
    /// Kind of the edge.
    r#type: EdgeKind,
    /// Global id of the other end.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
}

/// What became of a memory that was given.
#[derive(SimpleObject, Deserialize)]
pub(super) struct StoreMemoryPayload {
    /// The memory: the new one, or the one that was known.
    #[serde(skip)]
    pub memory: Option<Memory>,
    /// Id of that memory in the façade.
    #[graphql(skip)]
    pub id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// How far it is.
    pub state: Option<StoreState>,
    /// Edges made to other memories.
    pub links: Vec<Link>,
    /// Global ids of memories it replaced.
    #[serde(deserialize_with = "memory_ids")]
    pub superseded: Vec<ID>,
    /// What was taken out of the text before it was stored.
    pub redactions: Vec<String>,
    /// Why it was dropped or refreshed.
    pub reason: Option<String>,
    /// Review item, when a person must decide.
    pub review_id: Option<String>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// Why it was not taken.
    #[serde(skip)]
    pub user_errors: Vec<UserError>,
}

/// A changed memory.
#[derive(SimpleObject)]
pub(super) struct UpdateMemoryPayload {
    /// The memory as it is now.
    pub memory: Option<Memory>,
    /// What was done; QUARANTINED if the new text waits for a person.
    pub outcome: Option<Outcome>,
    /// Plain id of the proposal under which it waits.
    pub review_id: Option<String>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// How many memories were forgotten.
#[derive(SimpleObject)]
pub(super) struct ForgetMemoriesPayload {
    /// Memories forgotten.
    pub forgotten: i64,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// An edge between two memories.
#[derive(SimpleObject)]
pub(super) struct LinkMemoriesPayload {
    /// The memory it leaves.
    pub from: Option<Memory>,
    /// The memory it reaches.
    pub to: Option<Memory>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What a vote did.
#[derive(SimpleObject)]
pub(super) struct GiveFeedbackPayload {
    /// The memory as it is now.
    pub memory: Option<Memory>,
    /// Confidence before the vote, between 0 and 1.
    pub confidence_before: Option<f64>,
    /// Confidence after it.
    pub confidence_after: Option<f64>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What became of an event.
#[derive(Default, SimpleObject)]
pub(super) struct ObservePayload {
    /// Global id of the raw event, which is kept.
    pub event_id: Option<ID>,
    /// How far it is.
    pub state: Option<StoreState>,
    /// Memories made by it.
    pub memories: Vec<Observed>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A memory that an event made.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Observed {
    /// Global id of the new memory, or of the one that said the same.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
    /// What became of it.
    outcome: Outcome,
    /// Layer.
    kind: Kind,
    /// What it says.
    r#type: MemoryType,
}

#[ComplexObject]
impl Observed {
    /// The memory.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

/// A new token.
#[derive(SimpleObject)]
pub(super) struct CreateTokenPayload {
    /// The token.
    pub token: Option<Token>,
    /// Its secret, which is nowhere else: keep it now.
    pub secret: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A token that was removed.
#[derive(SimpleObject)]
pub(super) struct RevokeTokenPayload {
    /// Its id.
    pub id: Option<ID>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What a job found.
#[derive(Default, SimpleObject)]
pub(super) struct RunJobPayload {
    /// For DOCTOR: what disagreed.
    pub doctor: Option<Doctor>,
    /// For REINDEX: how many memories the new index has.
    pub indexed: Option<i64>,
    /// For EXPIRE_PROPOSALS: how many were ended.
    pub expired: Option<i64>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// Where the graph store and the vector index disagree.
#[derive(SimpleObject)]
pub(super) struct Doctor {
    /// Whether they agree.
    pub ok: bool,
    /// Memories missing from the index.
    pub missing: i64,
    /// Points of no memory.
    pub orphan: i64,
    /// Points with other filter fields than their memory.
    pub stale: i64,
    /// Edges whose end is gone.
    pub half_links: i64,
}
