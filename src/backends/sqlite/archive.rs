//! The `Archive` port: every row of the file as a plain value, and back.
//!
//! A page begins after the key of the last row of the page before, as JSON. Rows are read in the order of their row ids and
//! written in the order they come, so the order in which memories were recorded is kept where row ids stand for it.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, ToSql, Transaction, TransactionBehavior, params};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    SqliteStore,
    apply::{Place, Terms, put_event, scope_id, tags, write_memory, write_terms},
    error::SqliteError,
    ontology,
    read::{limited, size},
    review,
    rows::{Scopes, body_of_memory, edge, integer, memory_of_body, named, timestamp, uuid},
};
use crate::{
    domain::{ChangeId, Concept, ConceptId, ConceptKey, EdgeKind, MemoryId},
    ports::{
        AnswerRow, Archive, ArchiveSource, ChangeRow, EdgeRow, MemoryRow, MemoryStateRow, MetaRow, Part, PortError,
        RecordRow, Row, RowPage, TokenRow, TouchedRow, VoteRow,
    },
};

#[async_trait]
impl ArchiveSource for SqliteStore {
    async fn identity(&self) -> Result<String, PortError> {
        self.read("identity", |connection| {
            let last = connection
                .prepare_cached("SELECT seq, id FROM change ORDER BY seq DESC LIMIT 1")?
                .query_row([], |row| Ok((row.get::<_, i64>(0)?, uuid(row, 1)?)))
                .optional()?;
            let last = last.map_or_else(|| "no change".to_owned(), |(seq, id)| format!("change {seq} {id}"));
            // A version of the ontologies is no change.
            Ok(match ontology::current(connection)? {
                0 => last,
                version => format!("{last} ontologies {version}"),
            })
        })
        .await
    }

    async fn count(&self, part: Part) -> Result<u64, PortError> {
        let Some(statement) = count_of(part) else { return Ok(0) };
        self.read("count", move |connection| {
            Ok(connection.query_row(statement, [], |row| row.get::<_, i64>(0)).map(|rows| size(rows) as u64)?)
        })
        .await
    }

    async fn rows(&self, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, PortError> {
        let from = from.map(str::to_owned);
        self.read("rows", move |connection| page(connection, part, from.as_deref(), limit)).await
    }
}

#[async_trait]
impl Archive for SqliteStore {
    async fn add_rows(&self, rows: &[Row], note: &MetaRow) -> Result<(), PortError> {
        let (rows, note) = (rows.to_vec(), note.clone());
        self.write("add_rows", move |connection| add(connection, &rows, &note)).await
    }
}

fn count_of(part: Part) -> Option<&'static str> {
    Some(match part {
        Part::Meta => "SELECT count(*) FROM meta",
        Part::Tokens => "SELECT count(*) FROM token",
        Part::Concepts => "SELECT count(*) FROM concept",
        Part::ConceptEdges => "SELECT count(*) FROM concept_edge",
        Part::OntologyVersions => "SELECT count(*) FROM ontology_version",
        Part::Terms => "SELECT count(*) FROM ontology_term",
        Part::Memories => "SELECT count(*) FROM memory",
        Part::MemoryStates => "SELECT count(*) FROM memory_state",
        Part::Edges => "SELECT count(*) FROM edge",
        Part::EdgeStates => "SELECT count(*) FROM edge_state",
        Part::Mentions => "SELECT count(*) FROM mention",
        Part::MentionStates => "SELECT count(*) FROM mention_state",
        Part::Events => "SELECT count(*) FROM event",
        Part::Votes => "SELECT count(*) FROM vote",
        Part::Records => "SELECT count(*) FROM record",
        Part::Changes => "SELECT count(*) FROM change",
        Part::Answers => "SELECT count(*) FROM idempotency",
        Part::Vectors => return None,
    })
}

/// Key of an edge: source, kind, target.
type Ends = (i64, String, i64);

fn page(connection: &Connection, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, SqliteError> {
    let reader = Reader { connection, from, limit };
    match part {
        Part::Meta => reader.page(
            "SELECT key, value FROM meta WHERE key > ?1 ORDER BY key LIMIT ?2",
            String::new(),
            |key| vec![key],
            |row, _| Ok((row.get(0)?, Row::Meta(MetaRow { key: row.get(0)?, value: row.get(1)? }))),
        ),
        Part::Tokens => reader.page(
            "SELECT id, secret_hash, principal, kind, groups, rights, created_at, owner FROM token WHERE id > ?1 ORDER BY id LIMIT ?2",
            String::new(),
            |key| vec![key],
            |row, _| Ok((row.get(0)?, Row::Token(token(row)?))),
        ),
        Part::Concepts => reader.by_rowid(
            "SELECT rowid, id, key, label, origin FROM concept WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
            |row, _| {
                Ok(Row::Concept(Concept {
                    id: ConceptId(uuid(row, 1)?),
                    key: ConceptKey(row.get(2)?),
                    label: row.get(3)?,
                    origin: named(row, 4)?,
                }))
            },
        ),
        Part::ConceptEdges => reader.by_ends(
            "SELECT e.source, e.kind, e.target, a.id, b.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at, NULL, NULL, NULL
             FROM concept_edge e JOIN concept a ON a.rowid = e.source JOIN concept b ON b.rowid = e.target
             WHERE (e.source, e.kind, e.target) > (?1, ?2, ?3) ORDER BY e.source, e.kind, e.target LIMIT ?4",
            Row::ConceptEdge,
        ),
        Part::OntologyVersions => reader.by_rowid(
            "SELECT number, body FROM ontology_version WHERE number > ?1 ORDER BY number LIMIT ?2",
            |row, _| Ok(Row::OntologyVersion(ontology::parsed(row, 1)?)),
        ),
        Part::Terms => reader.by_rowid(
            "SELECT rowid, vocabulary, since, until, keys, body FROM ontology_term WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
            |row, _| Ok(Row::Term(Box::new(ontology::term_row(row)?))),
        ),
        Part::Memories => reader.by_rowid(
            "SELECT rowid, body, revised_at, access_count, last_accessed, session_position, task_position
             FROM memory WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
            |row, _| {
                Ok(Row::Memory(Box::new(MemoryRow {
                    memory: memory_of_body(text(row, 1)?)?,
                    revised_at: timestamp(row.get(2)?)?,
                    access_count: row.get::<_, i64>(3)?.cast_unsigned(),
                    last_accessed: moment(row, 4)?,
                    session_position: position(row, 5)?,
                    task_position: position(row, 6)?,
                })))
            },
        ),
        Part::MemoryStates => reader.by_rowid(
            "SELECT rowid, body, believed_from, believed_to FROM memory_state WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
            |row, _| {
                Ok(Row::MemoryState(Box::new(MemoryStateRow {
                    memory: memory_of_body(text(row, 1)?)?,
                    believed_from: timestamp(row.get(2)?)?,
                    believed_to: timestamp(row.get(3)?)?,
                })))
            },
        ),
        Part::Edges => reader.by_ends(
            "SELECT e.source, e.kind, e.target, a.id, b.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at, e.since, NULL, NULL
             FROM edge e JOIN memory a ON a.rowid = e.source JOIN memory b ON b.rowid = e.target
             WHERE (e.source, e.kind, e.target) > (?1, ?2, ?3) ORDER BY e.source, e.kind, e.target LIMIT ?4",
            Row::Edge,
        ),
        Part::EdgeStates => reader.by_rowid(
            "SELECT e.rowid, e.kind, e.target, a.id, b.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at, e.since,
                e.ended_at, NULL
             FROM edge_state e JOIN memory a ON a.rowid = e.source JOIN memory b ON b.rowid = e.target
             WHERE e.rowid > ?1 ORDER BY e.rowid LIMIT ?2",
            |row, scopes| Ok(Row::EdgeState(edge_row(row, scopes)?)),
        ),
        Part::Mentions => reader.by_ends(
            "SELECT e.memory, e.kind, e.concept, m.id, c.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at, e.since, NULL,
                e.memory_scope
             FROM mention e JOIN memory m ON m.rowid = e.memory JOIN concept c ON c.rowid = e.concept
             WHERE (e.memory, e.concept, e.kind) > (?1, ?3, ?2) ORDER BY e.memory, e.concept, e.kind LIMIT ?4",
            Row::Mention,
        ),
        Part::MentionStates => reader.by_rowid(
            "SELECT e.rowid, e.kind, e.concept, m.id, c.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at, e.since,
                e.ended_at, e.memory_scope
             FROM mention_state e JOIN memory m ON m.rowid = e.memory JOIN concept c ON c.rowid = e.concept
             WHERE e.rowid > ?1 ORDER BY e.rowid LIMIT ?2",
            |row, scopes| Ok(Row::MentionState(edge_row(row, scopes)?)),
        ),
        Part::Events => reader.page(
            "SELECT id, body FROM event WHERE id > ?1 ORDER BY id LIMIT ?2",
            Vec::new(),
            |key: &Vec<u8>| vec![key],
            |row, _| {
                let event = serde_json::from_str(text(row, 1)?).map_err(|_| SqliteError::Unreadable("event"))?;
                Ok((row.get(0)?, Row::Event(event)))
            },
        ),
        Part::Votes => reader.page(
            "SELECT v.memory, v.principal, m.id, v.useful, v.note, v.at FROM vote v JOIN memory m ON m.rowid = v.memory
             WHERE (v.memory, v.principal) > (?1, ?2) ORDER BY v.memory, v.principal LIMIT ?3",
            (0, String::new()),
            |(memory, principal): &(i64, String)| vec![memory, principal],
            |row, _| {
                let vote = VoteRow {
                    memory: MemoryId(uuid(row, 2)?),
                    principal: row.get(1)?,
                    useful: row.get(3)?,
                    note: row.get(4)?,
                    at: timestamp(row.get(5)?)?,
                };
                Ok(((row.get(0)?, row.get(1)?), Row::Vote(vote)))
            },
        ),
        Part::Records => reader.by_rowid(
            "SELECT rowid, kind, body, text FROM record WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
            |row, _| {
                let record = review::record(named(row, 1)?, text(row, 2)?)?;
                Ok(Row::Record(Box::new(RecordRow { record, text: row.get(3)? })))
            },
        ),
        Part::Changes => reader.by_rowid(
            "SELECT seq, id, at, actor, use_case, reason, ops FROM change WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            |row, scopes| {
                let seq: i64 = row.get(0)?;
                Ok(Row::Change(ChangeRow {
                    seq: seq.cast_unsigned(),
                    id: ChangeId(uuid(row, 1)?),
                    at: timestamp(row.get(2)?)?,
                    actor: row.get(3)?,
                    use_case: row.get(4)?,
                    reason: row.get(5)?,
                    ops: row.get::<_, i64>(6)?.cast_unsigned(),
                    memories: touched(connection, seq, scopes)?,
                    proposals: review::decided(connection, seq, scopes)?,
                }))
            },
        ),
        Part::Answers => reader.by_rowid(
            "SELECT rowid, principal, key, change, request_hash, answer FROM idempotency WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
            |row, _| {
                Ok(Row::Answer(AnswerRow {
                    principal: row.get(1)?,
                    key: row.get(2)?,
                    change: ChangeId(uuid(row, 3)?),
                    request_hash: row.get(4)?,
                    answer: row.get(5)?,
                    names: names(connection, row.get(0)?)?,
                }))
            },
        ),
        Part::Vectors => Ok(RowPage { rows: Vec::new(), next: None }),
    }
}

struct Reader<'a> {
    connection: &'a Connection,
    from: Option<&'a str>,
    limit: usize,
}

impl Reader<'_> {
    /// A page of a statement that binds the parts of a key and a limit. `first` is a key below all others.
    fn page<K: Serialize + DeserializeOwned>(
        &self,
        statement: &str,
        first: K,
        parts: impl Fn(&K) -> Vec<&dyn ToSql>,
        row: impl Fn(&SqlRow<'_>, &mut Scopes<'_>) -> Result<(K, Row), SqliteError>,
    ) -> Result<RowPage, SqliteError> {
        let unreadable = || SqliteError::Unreadable("place in the archive");
        let from = match self.from {
            Some(from) => serde_json::from_str(from).map_err(|_| unreadable())?,
            None => first,
        };
        let limit = limited(self.limit);
        let mut bound = parts(&from);
        bound.push(&limit);
        let (mut scopes, mut last) = (Scopes::of(self.connection), None);
        let mut statement = self.connection.prepare_cached(statement)?;
        let mut found = statement.query(bound.as_slice())?;
        let mut rows = Vec::new();
        while let Some(next) = found.next()? {
            let (key, next) = row(next, &mut scopes)?;
            last = Some(key);
            rows.push(next);
        }
        let full = rows.len() == self.limit;
        let next =
            last.filter(|_| full).map(|key| serde_json::to_string(&key).map_err(|_| unreadable())).transpose()?;
        Ok(RowPage { rows, next })
    }

    fn by_rowid(
        &self,
        statement: &str,
        row: impl Fn(&SqlRow<'_>, &mut Scopes<'_>) -> Result<Row, SqliteError>,
    ) -> Result<RowPage, SqliteError> {
        self.page(statement, 0_i64, |rowid| vec![rowid], |found, scopes| Ok((found.get(0)?, row(found, scopes)?)))
    }

    fn by_ends(&self, statement: &str, row: impl Fn(EdgeRow) -> Row) -> Result<RowPage, SqliteError> {
        self.page(
            statement,
            (0, String::new(), 0),
            |(source, kind, target): &Ends| vec![source, kind, target],
            |found, scopes| Ok(((found.get(0)?, found.get(1)?, found.get(2)?), row(edge_row(found, scopes)?))),
        )
    }
}

/// From columns of which 3 and 4 are the ids of the ends, 5 to 9 the edge, then since, end and scope of the memory.
fn edge_row(row: &SqlRow<'_>, scopes: &mut Scopes<'_>) -> Result<EdgeRow, SqliteError> {
    Ok(EdgeRow {
        edge: edge(row, 5, uuid(row, 3)?, uuid(row, 4)?, scopes)?,
        since: moment(row, 10)?,
        ended_at: moment(row, 11)?,
        memory_scope: row.get::<_, Option<i64>>(12)?.map(|scope| scopes.get(scope).cloned()).transpose()?,
    })
}

fn token(row: &SqlRow<'_>) -> Result<TokenRow, SqliteError> {
    let list = |column| serde_json::from_str(text(row, column)?).map_err(|_| SqliteError::Unreadable("token"));
    Ok(TokenRow {
        id: row.get(0)?,
        secret_hash: row.get(1)?,
        principal: row.get(2)?,
        kind: row.get(3)?,
        groups: list(4)?,
        rights: list(5)?,
        created_at: timestamp(row.get(6)?)?,
        owner: row.get(7)?,
    })
}

fn touched(connection: &Connection, seq: i64, scopes: &mut Scopes<'_>) -> Result<Vec<TouchedRow>, SqliteError> {
    connection
        .prepare_cached("SELECT memory, effect, scope FROM change_memory WHERE seq = ?1 ORDER BY memory")?
        .query_and_then([seq], |row| {
            Ok(TouchedRow {
                memory: MemoryId(uuid(row, 0)?),
                effect: named(row, 1)?,
                scope: scopes.get(row.get(2)?)?.clone(),
            })
        })?
        .collect()
}

fn names(connection: &Connection, answer: i64) -> Result<Vec<Uuid>, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT id FROM idempotency_names WHERE answer = ?1 ORDER BY id")?;
    let names = statement.query_map([answer], |row| uuid(row, 0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

fn text<'a>(row: &'a SqlRow<'_>, column: usize) -> Result<&'a str, SqliteError> {
    row.get_ref(column)?.as_str().map_err(|_| SqliteError::Unreadable("text"))
}

fn moment(row: &SqlRow<'_>, column: usize) -> Result<Option<Timestamp>, SqliteError> {
    row.get::<_, Option<i64>>(column)?.map(timestamp).transpose()
}

fn position(row: &SqlRow<'_>, column: usize) -> Result<Option<u64>, SqliteError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

fn add(connection: &mut Connection, rows: &[Row], note: &MetaRow) -> Result<(), SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut writer = Writer { transaction: &transaction, memory_terms: Vec::new(), state_terms: Vec::new() };
    for row in rows {
        writer.add(row)?;
    }
    writer.write_terms()?;
    put_meta(&transaction, note)?;
    Ok(transaction.commit()?)
}

struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    /// Words are written together, see [`Terms`].
    memory_terms: Vec<Terms>,
    state_terms: Vec<Terms>,
}

impl Writer<'_> {
    fn add(&mut self, row: &Row) -> Result<(), SqliteError> {
        match row {
            Row::Meta(meta) => put_meta(self.transaction, meta),
            Row::Token(token) => self.token(token),
            Row::Concept(concept) => self.execute(
                "concept",
                "INSERT INTO concept (id, key, label, origin) VALUES (?1, ?2, ?3, ?4)",
                params![concept.id.0.as_bytes(), concept.key.0, concept.label, concept.origin.name()],
            ),
            Row::ConceptEdge(edge) => self.edge(
                "INSERT INTO concept_edge (source, target, kind, scope, weight, reason, recorded_at)
                 SELECT a.rowid, b.rowid, ?3, ?4, ?5, ?6, ?7 FROM concept a JOIN concept b WHERE a.id = ?1 AND b.id = ?2",
                edge,
                |kind| matches!(kind, EdgeKind::Broader | EdgeKind::Related),
            ),
            Row::OntologyVersion(version) => ontology::add_version(self.transaction, version),
            Row::Term(term) => ontology::add_term(self.transaction, term),
            Row::Memory(memory) => self.memory(memory),
            Row::MemoryState(state) => self.memory_state(state),
            Row::Edge(edge) => self.edge(
                "INSERT INTO edge (source, target, kind, scope, weight, reason, recorded_at, since)
                 SELECT a.rowid, b.rowid, ?3, ?4, ?5, ?6, ?7, ?8 FROM memory a JOIN memory b WHERE a.id = ?1 AND b.id = ?2",
                edge,
                among_memories,
            ),
            Row::EdgeState(edge) => self.edge(
                "INSERT INTO edge_state (source, target, kind, scope, weight, reason, recorded_at, since, ended_at)
                 SELECT a.rowid, b.rowid, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM memory a JOIN memory b WHERE a.id = ?1 AND b.id = ?2",
                edge,
                among_memories,
            ),
            Row::Mention(edge) => self.edge(
                "INSERT INTO mention (memory, concept, kind, scope, weight, reason, recorded_at, since, memory_scope)
                 SELECT m.rowid, c.rowid, ?3, ?4, ?5, ?6, ?7, ?8, ?10 FROM memory m JOIN concept c WHERE m.id = ?1 AND c.id = ?2",
                edge,
                EdgeKind::to_concept,
            ),
            Row::MentionState(edge) => self.edge(
                "INSERT INTO mention_state (memory, concept, kind, scope, weight, reason, recorded_at, since, ended_at, memory_scope)
                 SELECT m.rowid, c.rowid, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM memory m JOIN concept c
                 WHERE m.id = ?1 AND c.id = ?2",
                edge,
                EdgeKind::to_concept,
            ),
            Row::Event(event) => put_event(self.transaction, event),
            Row::Vote(vote) => self.execute(
                "vote",
                "INSERT INTO vote (memory, principal, useful, note, at) SELECT rowid, ?2, ?3, ?4, ?5 FROM memory WHERE id = ?1",
                params![
                    vote.memory.0.as_bytes(),
                    vote.principal,
                    vote.useful,
                    vote.note,
                    vote.at.as_microsecond()
                ],
            ),
            Row::Record(row) => review::add(self.transaction, &row.record, row.text.as_deref()),
            Row::Change(change) => self.change(change),
            Row::Answer(answer) => self.answer(answer),
            Row::Vectors(_) => Err(SqliteError::Unwritable("vector")),
        }
    }

    /// A statement that writes one row; `Conflict` if what the row names is not there.
    fn execute(&self, what: &'static str, statement: &str, bound: &[&dyn ToSql]) -> Result<(), SqliteError> {
        match self.transaction.prepare_cached(statement)?.execute(bound)? {
            1 => Ok(()),
            _ => Err(SqliteError::Conflict(what)),
        }
    }

    fn token(&self, token: &TokenRow) -> Result<(), SqliteError> {
        let json = |list: &[String]| serde_json::to_string(list).map_err(|_| SqliteError::Unwritable("token"));
        self.execute(
            "token",
            "INSERT INTO token (id, secret_hash, principal, kind, groups, rights, created_at, owner)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                token.id,
                token.secret_hash,
                token.principal,
                token.kind,
                json(&token.groups)?,
                json(&token.rights)?,
                token.created_at.as_microsecond(),
                token.owner
            ],
        )
    }

    fn memory(&mut self, row: &MemoryRow) -> Result<(), SqliteError> {
        let MemoryRow { memory, revised_at, access_count, last_accessed, session_position, task_position } = row;
        let there: bool = self
            .transaction
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM memory WHERE id = ?1)")?
            .query_row([memory.id.0.as_bytes()], |row| row.get(0))?;
        if there {
            return Err(SqliteError::Conflict("memory"));
        }
        let scope = scope_id(self.transaction, &memory.scope)?;
        let place = Place {
            scope,
            session_position: session_position.map(integer),
            task_position: task_position.map(integer),
            revised_at: *revised_at,
            access_count: *access_count,
            last_accessed: *last_accessed,
        };
        let rowid = write_memory(self.transaction, memory, &place)?;
        self.memory_terms.push(Terms { rowid, scope, terms: memory.terms.clone() });
        Ok(())
    }

    fn memory_state(&mut self, row: &MemoryStateRow) -> Result<(), SqliteError> {
        let MemoryStateRow { memory, believed_from, believed_to } = row;
        let micros = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
        let scope = scope_id(self.transaction, &memory.scope)?;
        self.execute(
            "memory state",
            "INSERT INTO memory_state (memory, scope, status, kind, type, language, tags, session, task, occurred_at, valid_from,
                valid_to, recorded_at, retired_at, expires_at, believed_from, believed_to, body)
             SELECT rowid, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18 FROM memory WHERE id = ?1",
            params![
                memory.id.0.as_bytes(),
                scope,
                memory.status.name(),
                memory.kind.name(),
                memory.memory_type.name(),
                memory.language.name(),
                tags(memory)?,
                memory.session_id,
                memory.task_id,
                memory.occurred_at.as_microsecond(),
                micros(memory.valid_from),
                micros(memory.valid_to),
                memory.recorded_at.as_microsecond(),
                micros(memory.retired_at),
                micros(memory.expires_at),
                believed_from.as_microsecond(),
                believed_to.as_microsecond(),
                body_of_memory(memory)?,
            ],
        )?;
        let rowid = self.transaction.last_insert_rowid();
        self.state_terms.push(Terms { rowid, scope, terms: memory.terms.clone() });
        Ok(())
    }

    fn edge(&self, statement: &str, row: &EdgeRow, kind: impl Fn(EdgeKind) -> bool) -> Result<(), SqliteError> {
        let EdgeRow { edge, since, ended_at, memory_scope } = row;
        if !kind(edge.kind) {
            return Err(SqliteError::Conflict("kind of edge"));
        }
        let micros = |time: &Option<Timestamp>| time.map(Timestamp::as_microsecond);
        let scope = scope_id(self.transaction, &edge.scope)?;
        let memory_scope =
            memory_scope.as_ref().map(|memory_scope| scope_id(self.transaction, memory_scope)).transpose()?;
        let (from, to, kind) = (edge.from.as_bytes(), edge.to.as_bytes(), edge.kind.name());
        let weight = f64::from(edge.weight);
        let (recorded_at, since, ended_at) = (edge.recorded_at.as_microsecond(), micros(since), micros(ended_at));
        let bound = params![from, to, kind, scope, weight, edge.reason, recorded_at, since, ended_at, memory_scope];
        let mut statement = self.transaction.prepare_cached(statement)?;
        // The ten values have one order; each statement takes as many of them as it has room for.
        let taken = &bound[..statement.parameter_count()];
        if statement.execute(taken)? == 1 { Ok(()) } else { Err(SqliteError::Conflict("edge")) }
    }

    fn change(&self, change: &ChangeRow) -> Result<(), SqliteError> {
        self.execute(
            "change",
            "INSERT INTO change (seq, id, at, actor, use_case, reason, ops) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                integer(change.seq),
                change.id.0.as_bytes(),
                change.at.as_microsecond(),
                change.actor,
                change.use_case,
                change.reason,
                integer(change.ops)
            ],
        )?;
        for TouchedRow { memory, effect, scope } in &change.memories {
            self.execute(
                "change",
                "INSERT INTO change_memory (seq, memory, effect, scope) VALUES (?1, ?2, ?3, ?4)",
                params![integer(change.seq), memory.0.as_bytes(), effect.name(), scope_id(self.transaction, scope)?],
            )?;
        }
        change.proposals.iter().try_for_each(|row| review::add_decided(self.transaction, integer(change.seq), row))
    }

    fn answer(&self, answer: &AnswerRow) -> Result<(), SqliteError> {
        self.execute(
            "answer",
            "INSERT INTO idempotency (principal, key, change, request_hash, answer) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![answer.principal, answer.key, answer.change.0.as_bytes(), answer.request_hash, answer.answer],
        )?;
        let rowid = self.transaction.last_insert_rowid();
        for name in &answer.names {
            self.execute(
                "answer",
                "INSERT INTO idempotency_names (id, answer) VALUES (?1, ?2)",
                params![name.as_bytes(), rowid],
            )?;
        }
        Ok(())
    }

    fn write_terms(&mut self) -> Result<(), SqliteError> {
        write_terms(self.transaction, &mut self.memory_terms)?;
        let mut statement = self
            .transaction
            .prepare_cached("INSERT INTO state_terms (rowid, terms, scope) VALUES (?1, ?2, 's' || ?3)")?;
        for Terms { rowid, scope, terms } in self.state_terms.drain(..) {
            statement.execute(params![rowid, terms, scope])?;
        }
        Ok(())
    }
}

fn among_memories(kind: EdgeKind) -> bool {
    !kind.to_concept() && !matches!(kind, EdgeKind::Broader | EdgeKind::Related)
}

pub(super) fn put_meta(transaction: &Transaction<'_>, meta: &MetaRow) -> Result<(), SqliteError> {
    transaction
        .prepare_cached("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2")?
        .execute(params![meta.key, meta.value])?;
    Ok(())
}
