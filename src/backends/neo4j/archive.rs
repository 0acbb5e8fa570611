//! The `Archive` port: every record of the graph as a plain value, and back.
//!
//! Parts that belong to memories or concepts are read for some of those at a time, so a page may have more or fewer rows than
//! asked for, even none. Rows are written by the statements that write changes.

use std::collections::BTreeSet;

use async_trait::async_trait;
use neo4rs::Query;
use serde::{Deserialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    Neo4jStore,
    apply::{load, queries},
    connection::{Connection, Transaction, Work},
    error::Neo4jError,
    graph_store::named as operation,
    ontology,
    plan::{
        self, Answer, Counters, EdgeKey, Found, Kept, Link, Mention, Needs, Note, Record, State, Vote, Writes, joined,
    },
    rows::{SEPARATOR, integer, limited, map, memory_of_body, named, scope_of_key, time, timestamp, uuid},
    statements::{self, Statement},
    versions,
};
use crate::{
    domain::{self, ChangeId, Concept, ConceptId, ConceptKey, Edge, EdgeKind, MemoryId, ProposalId},
    ports::{
        AnswerRow, Archive, ArchiveSource, ChangeRow, DecidedRow, EdgeRow, MemoryRow, MemoryStateRow, MetaRow, Part,
        PortError, RecordRow, Row, RowPage, TermRow, TokenRow, TouchedRow, VoteRow,
    },
};

#[async_trait]
impl ArchiveSource for Neo4jStore {
    async fn identity(&self) -> Result<String, PortError> {
        #[derive(Deserialize)]
        struct Last {
            seq: Option<i64>,
            id: Option<String>,
            version: Option<i64>,
        }
        operation("identity", async {
            let rows: Vec<Last> = self.connection.read(statements::ARCHIVE_IDENTITY.query()).await?;
            let Some(Last { seq, id, version }) = rows.into_iter().next() else { return Ok("no change".to_owned()) };
            let last = match (seq, id) {
                (Some(seq), Some(id)) => format!("change {seq} {id}"),
                _ => "no change".to_owned(),
            };
            // A version of the ontologies is no change.
            Ok(match version {
                None => last,
                Some(version) => format!("{last} ontologies {version}"),
            })
        })
        .await
    }

    async fn count(&self, part: Part) -> Result<u64, PortError> {
        #[derive(Deserialize)]
        struct Count {
            part: String,
            rows: i64,
        }
        operation("count", async {
            let counts: Vec<Count> = self.connection.read(statements::ARCHIVE_COUNTS.query()).await?;
            let count = counts.iter().find(|count| count.part == part.name());
            Ok(count.map_or(0, |count| count.rows.cast_unsigned()))
        })
        .await
    }

    async fn rows(&self, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, PortError> {
        operation("rows", Reader { connection: &self.connection, from, limit }.page(part)).await
    }
}

#[async_trait]
impl Archive for Neo4jStore {
    async fn add_rows(&self, rows: &[Row], note: &MetaRow) -> Result<(), PortError> {
        operation("add_rows", self.connection.write(&Addition { rows, note })).await
    }
}

struct Reader<'a> {
    connection: &'a Connection,
    from: Option<&'a str>,
    limit: usize,
}

/// A row that stands at a place: the key of its own, or of the memory or concept it belongs to.
trait Placed {
    fn place(&self) -> String;
}

impl Reader<'_> {
    async fn page(&self, part: Part) -> Result<RowPage, Neo4jError> {
        match part {
            Part::Meta => self.records(&statements::ARCHIVE_META, MetaFound::row).await,
            Part::Tokens => self.tokens().await,
            Part::Concepts => self.records(&statements::ARCHIVE_CONCEPTS, ConceptFound::row).await,
            Part::ConceptEdges => self.edges(&statements::ARCHIVE_CONCEPT_EDGES, Row::ConceptEdge).await,
            Part::Memories => self.records(&statements::ARCHIVE_MEMORIES, MemoryFound::row).await,
            Part::MemoryStates => self.records(&statements::ARCHIVE_MEMORY_STATES, StateFound::row).await,
            Part::Edges => self.edges(&statements::ARCHIVE_EDGES, Row::Edge).await,
            Part::EdgeStates => self.edges(&statements::ARCHIVE_EDGE_STATES, Row::EdgeState).await,
            Part::Mentions => self.edges(&statements::ARCHIVE_MENTIONS, Row::Mention).await,
            Part::MentionStates => self.edges(&statements::ARCHIVE_MENTION_STATES, Row::MentionState).await,
            Part::Events => self.records(&statements::ARCHIVE_EVENTS, EventFound::row).await,
            Part::Votes => self.records(&statements::ARCHIVE_VOTES, VoteFound::row).await,
            Part::OntologyVersions => {
                self.positions().records(&statements::ARCHIVE_ONTOLOGY_VERSIONS, VersionFound::row).await
            }
            Part::Terms => self.records(&statements::ARCHIVE_TERMS, TermFound::row).await,
            Part::Changes => self.positions().records(&statements::ARCHIVE_CHANGES, ChangeFound::row).await,
            Part::Answers => self.records(&statements::ARCHIVE_ANSWERS, AnswerFound::row).await,
            Part::Records => self.records(&statements::ARCHIVE_RECORDS, RecordFound::row).await,
            Part::Vectors => Ok(RowPage { rows: Vec::new(), next: None }),
        }
    }

    /// The same, where places are numbers.
    fn positions(&self) -> Self {
        Reader { from: Some(self.from.unwrap_or(FIRST_POSITION)), ..*self }
    }

    /// The rows of a statement that begins after a place and goes on for some of them.
    async fn records<T: Placed + DeserializeOwned + Send + 'static>(
        &self,
        statement: &Statement,
        row: impl Fn(T) -> Result<Option<Row>, Neo4jError>,
    ) -> Result<RowPage, Neo4jError> {
        let query = self.after(statement.query())?.param("limit", limited(self.limit));
        let found: Vec<T> = self.connection.read(query).await?;
        let (mut places, mut rows) = (0, Vec::with_capacity(found.len()));
        let mut last: Option<String> = None;
        for found in found {
            let place = found.place();
            if last.as_ref() != Some(&place) {
                places += 1;
                last = Some(place);
            }
            rows.extend(row(found)?);
        }
        Ok(RowPage { rows, next: last.filter(|_| places == self.limit) })
    }

    /// Places are keys or numbers.
    fn after(&self, query: Query) -> Result<Query, Neo4jError> {
        let from = self.from.unwrap_or_default();
        Ok(match from.strip_prefix(POSITION) {
            Some(position) => query
                .param("after", position.parse::<i64>().map_err(|_| Neo4jError::Unreadable("place in the archive"))?),
            None => query.param("after", from),
        })
    }

    async fn edges(&self, statement: &Statement, row: fn(EdgeRow) -> Row) -> Result<RowPage, Neo4jError> {
        self.records(statement, |found: EdgeFound| Ok(found.edge()?.map(row))).await
    }

    /// All at once: they are few.
    async fn tokens(&self) -> Result<RowPage, Neo4jError> {
        let mut tokens: Vec<TokenFound> = self.connection.read(statements::TOKENS.query()).await?;
        tokens.sort_by(|one, other| one.id.cmp(&other.id));
        let rows = tokens.into_iter().map(TokenFound::row).collect::<Result<_, _>>()?;
        Ok(RowPage { rows, next: None })
    }
}

/// What a place that is a number starts with. No id and no key does.
const POSITION: &str = "#";
const FIRST_POSITION: &str = "#0";

macro_rules! placed {
    ($($row:ident = $field:ident),+ $(,)?) => {
        $(impl Placed for $row {
            fn place(&self) -> String {
                self.$field.clone()
            }
        })+
    };
}
placed!(
    MetaFound = key,
    ConceptFound = id,
    EdgeFound = place,
    MemoryFound = id,
    StateFound = place,
    EventFound = id,
    VoteFound = place,
    AnswerFound = key,
    RecordFound = id,
    TermFound = key,
);

impl Placed for VersionFound {
    fn place(&self) -> String {
        format!("{POSITION}{}", self.number)
    }
}

impl Placed for ChangeFound {
    fn place(&self) -> String {
        format!("{POSITION}{}", self.seq)
    }
}

#[derive(Deserialize)]
struct MetaFound {
    key: String,
    value: String,
}

impl MetaFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        Ok(Some(Row::Meta(MetaRow { key: self.key, value: self.value })))
    }
}

#[derive(Deserialize)]
struct TokenFound {
    id: String,
    secret_hash: String,
    principal: String,
    kind: String,
    groups: String,
    rights: String,
    created_at: i64,
    owner: Option<String>,
}

impl TokenFound {
    fn row(self) -> Result<Row, Neo4jError> {
        let list = |text: &str| serde_json::from_str(text).map_err(|_| Neo4jError::Unreadable("token"));
        Ok(Row::Token(TokenRow {
            groups: list(&self.groups)?,
            rights: list(&self.rights)?,
            created_at: timestamp(self.created_at)?,
            id: self.id,
            secret_hash: self.secret_hash,
            principal: self.principal,
            kind: self.kind,
            owner: self.owner,
        }))
    }
}

#[derive(Deserialize)]
struct ConceptFound {
    id: String,
    key: String,
    label: String,
    origin: String,
}

impl ConceptFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        Ok(Some(Row::Concept(Concept {
            id: ConceptId(uuid(&self.id)?),
            key: ConceptKey(self.key),
            label: self.label,
            origin: named(&self.origin)?,
        })))
    }
}

#[derive(Deserialize)]
struct EdgeFound {
    place: String,
    target: Option<String>,
    kind: Option<String>,
    visibility: Option<String>,
    weight: Option<f64>,
    reason: Option<String>,
    recorded_at: Option<i64>,
    since: Option<i64>,
    ended_at: Option<i64>,
    memory_visibility: Option<String>,
}

impl EdgeFound {
    /// `None` for a place without an edge.
    fn edge(self) -> Result<Option<EdgeRow>, Neo4jError> {
        let Some(target) = self.target else { return Ok(None) };
        let (Some(kind), Some(visibility), Some(weight), Some(recorded_at)) =
            (self.kind, self.visibility, self.weight, self.recorded_at)
        else {
            return Err(Neo4jError::Unreadable("edge"));
        };
        let edge = Edge {
            from: uuid(&self.place)?,
            to: uuid(&target)?,
            kind: named(&kind)?,
            #[expect(clippy::cast_possible_truncation, reason = "written from an f32")]
            weight: weight as f32,
            reason: self.reason,
            scope: scope_of_key(&visibility)?,
            recorded_at: timestamp(recorded_at)?,
        };
        Ok(Some(EdgeRow {
            edge,
            since: self.since.map(timestamp).transpose()?,
            ended_at: self.ended_at.map(timestamp).transpose()?,
            memory_scope: self.memory_visibility.as_deref().map(scope_of_key).transpose()?,
        }))
    }
}

#[derive(Deserialize)]
struct VersionFound {
    number: i64,
    body: String,
}

impl VersionFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        Ok(Some(Row::OntologyVersion(ontology::parsed(&self.body)?)))
    }
}

#[derive(Deserialize)]
struct TermFound {
    key: String,
    vocabulary: String,
    body: String,
    since: i64,
    until: Option<i64>,
    keys: Vec<String>,
}

impl TermFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        Ok(Some(Row::Term(Box::new(TermRow {
            vocabulary: self.vocabulary,
            since: self.since.cast_unsigned(),
            until: self.until.map(i64::cast_unsigned),
            keys: self.keys,
            term: ontology::parsed(&self.body)?,
        }))))
    }
}

#[derive(Deserialize)]
struct MemoryFound {
    id: String,
    body: String,
    revised_at: i64,
    access_count: i64,
    last_accessed: Option<i64>,
    session_position: Option<i64>,
    task_position: Option<i64>,
}

impl MemoryFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        Ok(Some(Row::Memory(Box::new(MemoryRow {
            memory: memory_of_body(&self.body)?,
            revised_at: timestamp(self.revised_at)?,
            access_count: self.access_count.cast_unsigned(),
            last_accessed: self.last_accessed.map(timestamp).transpose()?,
            session_position: self.session_position.map(i64::cast_unsigned),
            task_position: self.task_position.map(i64::cast_unsigned),
        }))))
    }
}

#[derive(Deserialize)]
struct StateFound {
    place: String,
    body: Option<String>,
    believed_from: Option<i64>,
    believed_to: Option<i64>,
}

impl StateFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        let Some(body) = self.body else { return Ok(None) };
        let (Some(from), Some(to)) = (self.believed_from, self.believed_to) else {
            return Err(Neo4jError::Unreadable("memory"));
        };
        Ok(Some(Row::MemoryState(Box::new(MemoryStateRow {
            memory: memory_of_body(&body)?,
            believed_from: timestamp(from)?,
            believed_to: timestamp(to)?,
        }))))
    }
}

#[derive(Deserialize)]
struct EventFound {
    id: String,
    body: String,
}

impl EventFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        let event = serde_json::from_str(&self.body).map_err(|_| Neo4jError::Unreadable("event"))?;
        Ok(Some(Row::Event(event)))
    }
}

#[derive(Deserialize)]
struct VoteFound {
    place: String,
    principal: Option<String>,
    useful: Option<bool>,
    note: Option<String>,
    at: Option<i64>,
}

impl VoteFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        let Some(principal) = self.principal else { return Ok(None) };
        let (Some(useful), Some(at)) = (self.useful, self.at) else { return Err(Neo4jError::Unreadable("vote")) };
        let memory = MemoryId(uuid(&self.place)?);
        Ok(Some(Row::Vote(VoteRow { memory, principal, useful, note: self.note, at: timestamp(at)? })))
    }
}

#[derive(Deserialize)]
struct ChangeFound {
    seq: i64,
    id: String,
    at: i64,
    actor: String,
    use_case: String,
    reason: Option<String>,
    ops: i64,
    memories: Vec<TouchedFound>,
    proposals: Vec<DecidedFound>,
}

#[derive(Deserialize)]
struct DecidedFound {
    proposal: String,
    kind: String,
    state: String,
    author: String,
    visibility: String,
}

#[derive(Deserialize)]
struct TouchedFound {
    memory: String,
    effect: String,
    visibility: String,
}

impl ChangeFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        let touched = self.memories.iter().map(|touched| {
            Ok(TouchedRow {
                memory: MemoryId(uuid(&touched.memory)?),
                effect: named(&touched.effect)?,
                scope: scope_of_key(&touched.visibility)?,
            })
        });
        let decided = self.proposals.into_iter().map(|decided| {
            Ok(DecidedRow {
                proposal: ProposalId(uuid(&decided.proposal)?),
                kind: named(&decided.kind)?,
                state: named(&decided.state)?,
                author: decided.author,
                scope: scope_of_key(&decided.visibility)?,
            })
        });
        Ok(Some(Row::Change(ChangeRow {
            seq: self.seq.cast_unsigned(),
            id: ChangeId(uuid(&self.id)?),
            at: timestamp(self.at)?,
            memories: touched.collect::<Result<_, Neo4jError>>()?,
            proposals: decided.collect::<Result<_, Neo4jError>>()?,
            actor: self.actor,
            use_case: self.use_case,
            reason: self.reason,
            ops: self.ops.cast_unsigned(),
        })))
    }
}

#[derive(Deserialize)]
struct RecordFound {
    id: String,
    kind: String,
    body: String,
    text: Option<String>,
}

impl RecordFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        let record =
            domain::Record::parse(named(&self.kind)?, &self.body).map_err(|_| Neo4jError::Unreadable("record"))?;
        Ok(Some(Row::Record(Box::new(RecordRow { record, text: self.text }))))
    }
}

#[derive(Deserialize)]
struct AnswerFound {
    key: String,
    change: String,
    request_hash: String,
    answer: String,
    names: Vec<String>,
}

impl AnswerFound {
    fn row(self) -> Result<Option<Row>, Neo4jError> {
        let (principal, key) = self.key.split_once(SEPARATOR).ok_or(Neo4jError::Unreadable("answer"))?;
        Ok(Some(Row::Answer(AnswerRow {
            principal: principal.to_owned(),
            key: key.to_owned(),
            change: ChangeId(uuid(&self.change)?),
            request_hash: self.request_hash,
            answer: self.answer,
            names: self.names.iter().map(|name| uuid(name)).collect::<Result<_, _>>()?,
        })))
    }
}

/// Rows that are added in one transaction, with a setting.
struct Addition<'a> {
    rows: &'a [Row],
    note: &'a MetaRow,
}

impl Work for Addition<'_> {
    type Done = ();

    async fn within(&self, transaction: &mut Transaction) -> Result<(), Neo4jError> {
        transaction.run(statements::TAKE_TURN.query().param("turn", self.note.value.as_str())).await?;
        let found = load(transaction, &needs(self.rows)).await?;
        for query in queries(&writes(self.rows, found)?)? {
            transaction.run(query).await?;
        }
        for row in self.rows {
            match row {
                Row::Meta(meta) => transaction.run(set_meta(meta)).await?,
                Row::Token(token) => transaction.run(add_token(token)?).await?,
                _ => {}
            }
        }
        versions::add(transaction, self.rows).await?;
        transaction.run(set_meta(self.note)).await
    }
}

fn set_meta(meta: &MetaRow) -> Query {
    statements::SET_META.query().param("key", meta.key.as_str()).param("value", meta.value.as_str())
}

fn add_token(token: &TokenRow) -> Result<Query, Neo4jError> {
    let json = |list: &[String]| serde_json::to_string(list).map_err(|_| Neo4jError::Unwritable("token"));
    let properties = map([
        ("id", token.id.as_str().into()),
        ("secret_hash", token.secret_hash.as_str().into()),
        ("principal", token.principal.as_str().into()),
        ("kind", token.kind.as_str().into()),
        ("groups", json(&token.groups)?.into()),
        ("rights", json(&token.rights)?.into()),
        ("created_at", time(token.created_at)),
        ("owner", token.owner.clone().into()),
    ]);
    Ok(statements::ADD_TOKEN.query().param("properties", properties))
}

/// The records that rows name or would be written over.
fn needs(rows: &[Row]) -> Needs {
    let mut needs = Needs::default();
    for row in rows {
        match row {
            Row::Meta(_) | Row::Token(_) | Row::OntologyVersion(_) | Row::Term(_) | Row::Event(_) | Row::Vectors(_) => {
            }
            Row::Record(row) => needs.keep(&row.record),
            Row::Concept(concept) => {
                needs.concepts.insert(concept.id.0);
            }
            Row::ConceptEdge(EdgeRow { edge, .. }) => needs.concepts.extend([edge.from, edge.to]),
            Row::Memory(row) => {
                needs.others.insert(row.memory.id.0);
            }
            Row::MemoryState(row) => {
                needs.others.insert(row.memory.id.0);
            }
            Row::Edge(EdgeRow { edge, .. }) => {
                needs.others.extend([edge.from, edge.to]);
                needs.pairs.insert((edge.from, edge.to));
            }
            Row::EdgeState(EdgeRow { edge, .. }) => needs.others.extend([edge.from, edge.to]),
            Row::Mention(EdgeRow { edge, .. }) => {
                needs.others.insert(edge.from);
                needs.naming.insert(edge.from);
                needs.concepts.insert(edge.to);
            }
            Row::MentionState(EdgeRow { edge, .. }) => {
                needs.others.insert(edge.from);
                needs.concepts.insert(edge.to);
            }
            Row::Vote(vote) => {
                needs.others.insert(vote.memory.0);
                needs.votes.insert(plan::vote_key(vote.memory, &vote.principal));
            }
            Row::Change(change) => {
                needs.changes.insert(change.id.0);
            }
            Row::Answer(answer) => {
                needs.answers.insert(joined(&answer.principal, &answer.key));
            }
        }
    }
    needs
}

/// What the rows come to; a conflict if one is there already, or names a record that is not.
fn writes(rows: &[Row], found: Found) -> Result<Writes, Neo4jError> {
    let mut writes = Writes {
        change_seq: found.change_seq,
        outbox_seq: found.outbox_seq,
        state_seq: found.state_seq,
        ..Writes::default()
    };
    let mut twins: BTreeSet<(EdgeKey, String, String)> = BTreeSet::new();
    for (key, mention) in &found.mentions {
        twins.insert((*key, mention.memory_visibility.clone(), mention.link.visibility.clone()));
    }
    let known = |memory: Uuid| found.counters.contains_key(&memory);
    for row in rows {
        match row {
            Row::Meta(_) | Row::Token(_) | Row::OntologyVersion(_) | Row::Term(_) => {}
            Row::Concept(concept) => {
                unless(found.concepts.contains(&concept.id.0), "concept")?;
                writes.concepts.push(concept.clone());
            }
            Row::ConceptEdge(row) => {
                let key = key(row, "concept edge", plan::among_concepts)?;
                unless(!found.concepts.contains(&key.0) || !found.concepts.contains(&key.1), "concept edge")?;
                writes.concept_edges.insert(key, link(row));
            }
            Row::Memory(row) => {
                let id = row.memory.id.0;
                unless(known(id), "memory")?;
                let scope = row.memory.scope.key();
                *writes.scope_counts.entry(scope.clone()).or_default() += 1;
                writes.records.push(Record {
                    memory: row.memory.clone(),
                    session_position: row.session_position.map(integer),
                    task_position: row.task_position.map(integer),
                    revised_at: row.revised_at.as_microsecond(),
                });
                let counters = Counters {
                    visibility: scope,
                    access_count: integer(row.access_count),
                    last_accessed: row.last_accessed.map(jiff::Timestamp::as_microsecond),
                };
                writes.counters.push((id, counters));
            }
            Row::MemoryState(row) => {
                unless(!known(row.memory.id.0), "memory state")?;
                // A scope that held something once is known for good.
                writes.scope_counts.entry(row.memory.scope.key()).or_default();
                writes.state_seq += 1;
                let record = Record {
                    memory: row.memory.clone(),
                    session_position: None,
                    task_position: None,
                    revised_at: row.believed_from.as_microsecond(),
                };
                let ended_at = row.believed_to.as_microsecond();
                writes.states.push(State { record, ended_at, seq: writes.state_seq });
            }
            Row::Edge(row) => {
                let key = key(row, "edge", among_memories)?;
                unless(!known(key.0) || !known(key.1) || found.edges.contains_key(&key), "edge")?;
                writes.edges.created.push((key, link(row)));
            }
            Row::EdgeState(row) => {
                let key = key(row, "edge state", among_memories)?;
                unless(!known(key.0) || !known(key.1), "edge state")?;
                writes.edges.ended.push((key, link(row), ended(row)?));
            }
            Row::Mention(row) => {
                let key = key(row, "mention", EdgeKind::to_concept)?;
                let absent = !known(key.0) || !found.concepts.contains(&key.1);
                unless(absent || found.mentions.contains_key(&key), "mention")?;
                let mention = mention(row)?;
                let scopes = (mention.memory_visibility.clone(), mention.link.visibility.clone());
                let other = if key.2 == EdgeKind::About { EdgeKind::Mentions } else { EdgeKind::About };
                let twin = twins.contains(&((key.0, key.1, other), scopes.0.clone(), scopes.1.clone()));
                twins.insert((key, scopes.0.clone(), scopes.1.clone()));
                // A memory that is about a concept and mentions it too counts once.
                let counted = writes.uses.entry((key.1, scopes.0, scopes.1)).or_default();
                counted.0 += i64::from(!twin);
                counted.1 += i64::from(key.2 == EdgeKind::About);
                writes.mentions.created.push((key, mention));
            }
            Row::MentionState(row) => {
                let key = key(row, "mention state", EdgeKind::to_concept)?;
                unless(!known(key.0) || !found.concepts.contains(&key.1), "mention state")?;
                writes.mentions.ended.push((key, mention(row)?, ended(row)?));
            }
            Row::Event(event) => {
                writes.scope_counts.entry(event.scope.key()).or_default();
                writes.events.push((**event).clone());
            }
            Row::Vote(vote) => {
                let key = plan::vote_key(vote.memory, &vote.principal);
                unless(!known(vote.memory.0) || found.votes.contains_key(&key), "vote")?;
                let vote = Vote {
                    memory: vote.memory.0,
                    principal: vote.principal.clone(),
                    useful: vote.useful,
                    note: vote.note.clone(),
                    at: vote.at.as_microsecond(),
                };
                writes.votes.insert(key, vote);
            }
            Row::Record(row) => {
                let id = row.record.id();
                let taken = plan::names_of(&row.record).any(|name| found.name_owners.contains_key(&name));
                unless(found.versions.contains_key(&id) || taken, "record")?;
                writes.kept.insert(id, Kept { record: row.record.clone(), text: row.text.clone() });
            }
            Row::Change(change) => {
                unless(found.changes.contains(&change.id.0), "change")?;
                let seq = integer(change.seq);
                writes.change_seq = writes.change_seq.max(seq);
                writes.changes.push(plan::ChangeRow {
                    seq,
                    id: change.id.0,
                    at: change.at.as_microsecond(),
                    actor: change.actor.clone(),
                    use_case: change.use_case.clone(),
                    reason: change.reason.clone(),
                    ops: usize::try_from(change.ops).unwrap_or(usize::MAX),
                });
                for touched in &change.memories {
                    let visibility = touched.scope.key();
                    writes.scope_counts.entry(visibility.clone()).or_default();
                    let note = Note { effect: touched.effect, visibility };
                    writes.notes.insert((seq, touched.memory.0), note);
                }
                for decided in &change.proposals {
                    writes.proposals.insert((seq, decided.proposal.0), decided.clone());
                }
            }
            Row::Answer(answer) => {
                let key = joined(&answer.principal, &answer.key);
                unless(found.answers.contains(&key), "answer")?;
                writes.answers.push(Answer {
                    key,
                    change: answer.change.0,
                    request_hash: answer.request_hash.clone(),
                    answer: answer.answer.clone(),
                    names: answer.names.iter().copied().collect(),
                });
            }
            Row::Vectors(_) => return Err(Neo4jError::Unwritable("vector")),
        }
    }
    Ok(writes)
}

fn unless(conflict: bool, what: &'static str) -> Result<(), Neo4jError> {
    if conflict { Err(Neo4jError::Conflict(what)) } else { Ok(()) }
}

fn key(row: &EdgeRow, what: &'static str, kind: impl Fn(EdgeKind) -> bool) -> Result<EdgeKey, Neo4jError> {
    unless(!kind(row.edge.kind), what)?;
    Ok((row.edge.from, row.edge.to, row.edge.kind))
}

fn among_memories(kind: EdgeKind) -> bool {
    !kind.to_concept() && !plan::among_concepts(kind)
}

fn link(row: &EdgeRow) -> Link {
    Link {
        visibility: row.edge.scope.key(),
        weight: f64::from(row.edge.weight),
        reason: row.edge.reason.clone(),
        recorded_at: row.edge.recorded_at.as_microsecond(),
        since: row.since.map(jiff::Timestamp::as_microsecond),
    }
}

fn mention(row: &EdgeRow) -> Result<Mention, Neo4jError> {
    let scope = row.memory_scope.as_ref().ok_or(Neo4jError::Conflict("mention"))?;
    Ok(Mention { memory_visibility: scope.key(), link: link(row) })
}

fn ended(row: &EdgeRow) -> Result<i64, Neo4jError> {
    row.ended_at.map(jiff::Timestamp::as_microsecond).ok_or(Neo4jError::Conflict("end of an edge"))
}
