//! Writing change sets, the outbox, settings.
//!
//! A batch of any length is one transaction of a few statements: take the turn, load what it touches, plan, write what has
//! rows. A connection lost on the way, even during the commit, is answered by doing it all again: changes that were
//! written after all are found by their ids.

use std::sync::Arc;

use neo4rs::{BoltType, Query};
use serde::Deserialize;

use super::{
    connection::{Connection, Nothing, Transaction, Work},
    error::Neo4jError,
    plan::{
        self, Answer, ChangeRow, Counters, EdgeKey, EdgeWrites, Found, Kept, Link, Mention, Needs, Record, State, Vote,
        Waiting, Writes, active_key, external_key, joined,
    },
    rows::{body_of_memory, ids, integer, limited, list, map, named, optional_time, scope_term, texts, time, uuid},
    statements,
};
use crate::{
    backends::packed::{pack, unpack},
    domain::{ChangeId, ChangeSet, Concept, Event, Memory},
    ports::{Applied, OutboxRow},
};

/// Rows of the outbox that one statement removes: a transaction of the server holds them all in memory.
const REMOVED_AT_ONCE: usize = 10_000;

/// All of `changes` or none. A caller that goes away does not stop it.
pub(super) async fn apply(connection: &Arc<Connection>, changes: &[ChangeSet]) -> Result<Vec<Applied>, Neo4jError> {
    let Some(first) = changes.first() else { return Ok(Vec::new()) };
    let batch = Batch { turn: first.id, changes: changes.to_vec() };
    let connection = Arc::clone(connection);
    tokio::spawn(async move { connection.write(&batch).await }).await.unwrap_or(Err(Neo4jError::Worker))
}

struct Batch {
    turn: ChangeId,
    changes: Vec<ChangeSet>,
}

impl Work for Batch {
    type Done = Vec<Applied>;

    async fn within(&self, transaction: &mut Transaction) -> Result<Vec<Applied>, Neo4jError> {
        transaction.run(statements::TAKE_TURN.query().param("turn", self.turn.to_string())).await?;
        let found = load(transaction, &Needs::of(&self.changes)).await?;
        let (applied, writes) = plan::plan(&self.changes, found)?;
        if applied.contains(&Applied::Now) {
            for query in queries(&writes)? {
                transaction.run(query).await?;
            }
        }
        Ok(applied)
    }
}

/// The row of `load`.
#[derive(Deserialize)]
struct Loaded {
    change_seq: i64,
    outbox_seq: i64,
    state_seq: i64,
    applied: Vec<String>,
    records: Vec<LoadedMemory>,
    others: Vec<LoadedMemory>,
    positions_in_sessions: Vec<Position>,
    positions_in_tasks: Vec<Position>,
    external_owners: Vec<Owner>,
    active_owners: Vec<Owner>,
    edges: Vec<LoadedEdge>,
    mentions: Vec<LoadedEdge>,
    named_before: Vec<NamedBefore>,
    found_concepts: Vec<String>,
    found_votes: Vec<LoadedVote>,
    found_answers: Vec<String>,
    versions: Vec<Version>,
    name_owners: Vec<Owner>,
}

#[derive(Deserialize)]
struct LoadedMemory {
    id: String,
    visibility: String,
    access_count: i64,
    last_accessed: Option<i64>,
    session_position: Option<i64>,
    task_position: Option<i64>,
    revised_at: Option<i64>,
    body: Option<String>,
}

#[derive(Deserialize)]
struct Position {
    key: String,
    position: i64,
}

#[derive(Deserialize)]
struct Owner {
    key: String,
    id: String,
}

#[derive(Deserialize)]
struct Version {
    id: String,
    version: i64,
}

#[derive(Deserialize)]
struct LoadedEdge {
    source: String,
    target: String,
    kind: String,
    visibility: String,
    weight: f64,
    reason: Option<String>,
    recorded_at: i64,
    since: Option<i64>,
    memory_visibility: Option<String>,
}

#[derive(Deserialize)]
struct NamedBefore {
    memory: String,
    concept: String,
}

#[derive(Deserialize)]
struct LoadedVote {
    key: String,
    useful: bool,
}

pub(super) async fn load(transaction: &mut Transaction, needs: &Needs) -> Result<Found, Neo4jError> {
    let pairs = needs
        .pairs
        .iter()
        .map(|(source, target)| map([("source", source.to_string().into()), ("target", target.to_string().into())]));
    let query = statements::LOAD.batch([
        ("changes", ids(needs.changes.iter().copied())),
        ("whole", ids(needs.whole.iter().copied())),
        ("others", ids(needs.others.iter().copied())),
        ("sessions", texts(needs.sessions.iter().cloned())),
        ("tasks", texts(needs.tasks.iter().cloned())),
        ("external", texts(needs.external.iter().cloned())),
        ("active", texts(needs.active.iter().cloned())),
        ("pairs", list(pairs)),
        ("leaving", ids(needs.leaving.iter().copied())),
        ("naming", ids(needs.naming.iter().copied())),
        ("loosening", ids(needs.loosening.iter().copied())),
        ("concepts", ids(needs.concepts.iter().copied())),
        ("votes", texts(needs.votes.iter().cloned())),
        ("answers", texts(needs.answers.iter().cloned())),
        ("kept", ids(needs.kept.iter().copied())),
        ("names", texts(needs.names.iter().cloned())),
    ]);
    let mut rows: Vec<Loaded> = transaction.rows(query).await?;
    rows.pop().ok_or(Neo4jError::Unreadable("store"))?.found()
}

impl Loaded {
    fn found(self) -> Result<Found, Neo4jError> {
        let uuids = |texts: Vec<String>| texts.iter().map(|text| uuid(text)).collect::<Result<_, _>>();
        let positions = |rows: Vec<Position>| rows.into_iter().map(|row| (row.key, row.position)).collect();
        let owners = |rows: Vec<Owner>| {
            rows.into_iter().map(|row| Ok((row.key, uuid(&row.id)?))).collect::<Result<_, Neo4jError>>()
        };
        let mut found = Found {
            change_seq: self.change_seq,
            outbox_seq: self.outbox_seq,
            state_seq: self.state_seq,
            changes: uuids(self.applied)?,
            sessions: positions(self.positions_in_sessions),
            tasks: positions(self.positions_in_tasks),
            external: owners(self.external_owners)?,
            active: owners(self.active_owners)?,
            concepts: uuids(self.found_concepts)?,
            votes: self.found_votes.into_iter().map(|vote| (vote.key, vote.useful)).collect(),
            answers: self.found_answers.into_iter().collect(),
            name_owners: owners(self.name_owners)?,
            ..Found::default()
        };
        for row in self.versions {
            found.versions.insert(uuid(&row.id)?, row.version.cast_unsigned());
        }
        for row in self.records.into_iter().chain(self.others) {
            let id = uuid(&row.id)?;
            let counters = Counters {
                visibility: row.visibility,
                access_count: row.access_count,
                last_accessed: row.last_accessed,
            };
            if let Some(body) = row.body {
                let positions = (row.session_position, row.task_position);
                let revised_at = row.revised_at.ok_or(Neo4jError::Unreadable("memory"))?;
                found.records.insert(id, Record::of_body(&body, &counters, positions, revised_at)?);
            }
            found.counters.insert(id, counters);
        }
        for row in self.edges {
            let (key, link, _) = row.parts()?;
            found.edges.insert(key, link);
        }
        for row in self.mentions {
            let (key, link, memory_visibility) = row.parts()?;
            let memory_visibility = memory_visibility.ok_or(Neo4jError::Unreadable("edge"))?;
            found.mentions.insert(key, Mention { memory_visibility, link });
        }
        for row in self.named_before {
            found.named_before.push((uuid(&row.memory)?, uuid(&row.concept)?));
        }
        Ok(found)
    }
}

impl LoadedEdge {
    fn parts(self) -> Result<(EdgeKey, Link, Option<String>), Neo4jError> {
        let key = (uuid(&self.source)?, uuid(&self.target)?, named(&self.kind)?);
        let link = Link {
            visibility: self.visibility,
            weight: self.weight,
            reason: self.reason,
            recorded_at: self.recorded_at,
            since: self.since,
        };
        Ok((key, link, self.memory_visibility))
    }
}

/// The statements that have rows, in order.
pub(super) fn queries(writes: &Writes) -> Result<Vec<Query>, Neo4jError> {
    let mut queries = Vec::new();
    if !writes.forgotten.is_empty() {
        queries.push(statements::FORGET.batch([
            ("ids", ids(writes.forgotten.iter().copied())),
            ("events", ids(writes.forgotten_events.iter().copied())),
        ]));
    }
    if !(writes.records.is_empty() && writes.counters.is_empty() && writes.scope_counts.is_empty()) {
        queries.push(put_memories(writes)?);
    }
    if !writes.edges.is_empty() {
        queries.push(put_edges(&writes.edges));
    }
    if !(writes.concepts.is_empty() && writes.mentions.is_empty() && writes.uses.is_empty()) {
        queries.push(put_mentions(writes));
    }
    if !(writes.concept_drops.is_empty() && writes.concept_edges.is_empty()) {
        queries.push(put_concept_edges(writes));
    }
    if !(writes.events.is_empty() && writes.votes.is_empty()) {
        queries.push(put_events(writes)?);
    }
    if !(writes.kept.is_empty() && writes.proposals.is_empty()) {
        queries.push(put_records(writes)?);
    }
    queries.push(put_log(writes)?);
    if !writes.loosened.is_empty() {
        queries.push(statements::REMOVE_ORPHANS.batch([("concepts", ids(writes.loosened.iter().copied()))]));
    }
    Ok(queries)
}

fn put_memories(writes: &Writes) -> Result<Query, Neo4jError> {
    let records = writes.records.iter().map(|record| {
        let id = record.memory.id.to_string().into();
        Ok(map([("id", id), ("properties", memory_properties(record)?)]))
    });
    let counters = writes.counters.iter().map(|(id, counters)| {
        map([
            ("id", id.to_string().into()),
            ("access_count", counters.access_count.into()),
            ("last_accessed", counters.last_accessed.into()),
        ])
    });
    let states = writes.states.iter().map(state_properties);
    let scopes = writes.scope_counts.iter().map(|(key, by)| map([("key", key.as_str().into()), ("by", (*by).into())]));
    Ok(statements::PUT_MEMORIES.batch([
        ("released", ids(writes.released.iter().copied())),
        ("memories", list(records.collect::<Result<Vec<_>, Neo4jError>>()?)),
        ("counters", list(counters)),
        ("states", list(states.collect::<Result<Vec<_>, _>>()?)),
        ("scopes", list(scopes)),
    ]))
}

fn memory_properties(record: &Record) -> Result<BoltType, Neo4jError> {
    let memory = &record.memory;
    let scope = memory.scope.key();
    let group_key = |name: &Option<String>| name.as_ref().map(|name| joined(&scope, name)).into();
    let own = [
        ("id", memory.id.to_string().into()),
        ("session_position", record.session_position.into()),
        ("session_key", group_key(&memory.session_id)),
        ("task_position", record.task_position.into()),
        ("task_key", group_key(&memory.task_id)),
        ("revised_at", record.revised_at.into()),
        ("content_hash", memory.content_hash.as_str().into()),
        ("access_count", integer(memory.access_count).into()),
        ("last_accessed", optional_time(memory.last_accessed)),
        ("external_id", memory.external_id.clone().into()),
        ("external_key", external_key(memory).into()),
        ("active_key", active_key(memory).into()),
        ("title", memory.title.clone().into()),
        ("summary", memory.summary.as_str().into()),
    ];
    Ok(map(own.into_iter().chain(filter_properties(memory)?)))
}

fn state_properties(state: &State) -> Result<BoltType, Neo4jError> {
    let own = [
        ("memory", state.record.memory.id.to_string().into()),
        ("believed_from", state.record.revised_at.into()),
        ("believed_to", state.ended_at.into()),
        ("seq", state.seq.into()),
    ];
    Ok(map(own.into_iter().chain(filter_properties(&state.record.memory)?)))
}

/// What queries need of a memory, in the present and in its states alike.
fn filter_properties(memory: &Memory) -> Result<[(&'static str, BoltType); 18], Neo4jError> {
    let scope = memory.scope.key();
    Ok([
        ("scope_term", scope_term(&scope).into()),
        ("visibility", scope.into()),
        ("status", memory.status.name().into()),
        ("kind", memory.kind.name().into()),
        ("type", memory.memory_type.name().into()),
        ("language", memory.language.name().into()),
        ("tags", texts(memory.tags.iter().cloned())),
        ("session", memory.session_id.clone().into()),
        ("task", memory.task_id.clone().into()),
        ("occurred_at", time(memory.occurred_at)),
        ("valid_from", optional_time(memory.valid_from)),
        ("valid_to", optional_time(memory.valid_to)),
        ("recorded_at", time(memory.recorded_at)),
        ("retired_at", optional_time(memory.retired_at)),
        ("expires_at", optional_time(memory.expires_at)),
        ("terms", memory.terms.as_str().into()),
        ("body", body_of_memory(memory)?.into()),
        ("revision", integer(memory.revision).into()),
    ])
}

fn put_edges(edges: &EdgeWrites<Link>) -> Query {
    let ended = edges.ended.iter().map(|((source, target, kind), link, ended_at)| {
        let own = [
            ("source", source.to_string().into()),
            ("target", target.to_string().into()),
            ("kind", kind.name().into()),
            ("ended_at", (*ended_at).into()),
        ];
        map(own.into_iter().chain(link_properties(link)))
    });
    let edges = edge_rows(edges, |_, link| map(link_properties(link)));
    statements::PUT_EDGES.batch(edges.into_iter().chain([("ended", list(ended))]))
}

fn put_mentions(writes: &Writes) -> Query {
    let mentions = &writes.mentions;
    let ended = mentions.ended.iter().map(|((memory, concept, kind), mention, ended_at)| {
        let own = [
            ("memory", memory.to_string().into()),
            ("concept", concept.to_string().into()),
            ("kind", kind.name().into()),
            ("memory_visibility", mention.memory_visibility.as_str().into()),
            ("ended_at", (*ended_at).into()),
        ];
        map(own.into_iter().chain(link_properties(&mention.link)))
    });
    let uses = writes.uses.iter().map(|((concept, memory_visibility, visibility), (uses, about))| {
        let key = joined(&joined(&concept.to_string(), memory_visibility), visibility);
        map([
            ("key", key.into()),
            ("concept", concept.to_string().into()),
            ("memory_visibility", memory_visibility.as_str().into()),
            ("visibility", visibility.as_str().into()),
            ("uses", (*uses).into()),
            ("about", (*about).into()),
        ])
    });
    let properties = |key: &EdgeKey, mention: &Mention| {
        let own =
            [("memory", key.0.to_string().into()), ("memory_visibility", mention.memory_visibility.as_str().into())];
        map(own.into_iter().chain(link_properties(&mention.link)))
    };
    let concepts = list(writes.concepts.iter().map(concept_row));
    let others = [("concepts", concepts), ("ended", list(ended)), ("uses", list(uses))];
    statements::PUT_MENTIONS.batch(edge_rows(mentions, properties).into_iter().chain(others))
}

fn edge_rows<T>(edges: &EdgeWrites<T>, properties: impl Fn(&EdgeKey, &T) -> BoltType) -> [(&'static str, BoltType); 3] {
    let whole = |(key, edge): &(EdgeKey, T)| edge_row(key, Some(properties(key, edge)));
    [
        ("dropped", list(edges.dropped.iter().map(|key| edge_row(key, None)))),
        ("changed", list(edges.changed.iter().map(whole))),
        ("created", list(edges.created.iter().map(whole))),
    ]
}

fn edge_row((source, target, kind): &EdgeKey, properties: Option<BoltType>) -> BoltType {
    map([
        ("source", source.to_string().into()),
        ("target", target.to_string().into()),
        ("kind", kind.name().into()),
        ("properties", properties.into()),
    ])
}

fn link_properties(link: &Link) -> [(&'static str, BoltType); 5] {
    [
        ("visibility", link.visibility.as_str().into()),
        ("weight", link.weight.into()),
        ("reason", link.reason.clone().into()),
        ("recorded_at", link.recorded_at.into()),
        ("since", link.since.into()),
    ]
}

fn concept_row(concept: &Concept) -> BoltType {
    map([
        ("id", concept.id.to_string().into()),
        ("key", concept.key.0.as_str().into()),
        ("label", concept.label.as_str().into()),
        ("origin", concept.origin.name().into()),
    ])
}

fn put_concept_edges(writes: &Writes) -> Query {
    let dropped = writes
        .concept_drops
        .iter()
        .map(|(source, kind)| map([("source", source.to_string().into()), ("kind", kind.name().into())]));
    let put = writes.concept_edges.iter().map(|(key, link)| edge_row(key, Some(map(link_properties(link)))));
    statements::PUT_CONCEPT_EDGES.batch([("dropped", list(dropped)), ("put", list(put))])
}

fn put_events(writes: &Writes) -> Result<Query, Neo4jError> {
    let events = writes.events.iter().map(event_row).collect::<Result<Vec<_>, _>>()?;
    let votes = writes
        .votes
        .iter()
        .map(|(key, vote)| map([("key", key.as_str().into()), ("properties", vote_properties(key, vote))]));
    Ok(statements::PUT_EVENTS.batch([("events", list(events)), ("votes", list(votes))]))
}

fn event_row(event: &Event) -> Result<BoltType, Neo4jError> {
    let body = serde_json::to_string(event).map_err(|_| Neo4jError::Unwritable("event"))?;
    let properties = map([
        ("id", event.id.to_string().into()),
        ("visibility", event.scope.key().into()),
        ("session", event.session_id.clone().into()),
        ("task", event.task_id.clone().into()),
        ("at", time(event.at)),
        ("body", body.into()),
    ]);
    let made = ids(event.made.iter().map(|memory| memory.0));
    Ok(map([("id", event.id.to_string().into()), ("properties", properties), ("made", made)]))
}

fn vote_properties(key: &str, vote: &Vote) -> BoltType {
    map([
        ("key", key.into()),
        ("memory", vote.memory.to_string().into()),
        ("principal", vote.principal.as_str().into()),
        ("useful", vote.useful.into()),
        ("note", vote.note.clone().into()),
        ("at", vote.at.into()),
    ])
}

fn put_records(writes: &Writes) -> Result<Query, Neo4jError> {
    let records = writes.kept.values().map(record_row).collect::<Result<Vec<_>, _>>()?;
    let (mut names, mut keys) = (Vec::new(), Vec::new());
    for Kept { record, .. } in writes.kept.values() {
        let (id, scope, found) = (record.id().to_string(), record.scope().key(), record.keys());
        names.extend(found.names.iter().map(|name| {
            map([
                ("key", joined(&scope, name).into()),
                ("name", name.as_str().into()),
                ("visibility", scope.as_str().into()),
                ("record", id.as_str().into()),
            ])
        }));
        let belongs = [
            found.of.map(|of| format!("of:{of}")),
            found.author.as_ref().map(|author| format!("author:{author}")),
            found.run.as_ref().map(|run| format!("run:{run}")),
        ];
        keys.extend(found.refs.iter().cloned().chain(belongs.into_iter().flatten()).map(|target| {
            map([
                ("target", target.into()),
                ("state", found.state.into()),
                ("at", time(found.at)),
                ("record", id.as_str().into()),
            ])
        }));
    }
    let notes = writes.proposals.iter().map(|((seq, id), decided)| {
        map([
            ("seq", (*seq).into()),
            ("proposal", id.to_string().into()),
            ("kind", decided.kind.name().into()),
            ("state", decided.state.name().into()),
            ("author", decided.author.as_str().into()),
            ("visibility", decided.scope.key().into()),
        ])
    });
    Ok(statements::PUT_RECORDS.batch([
        ("records", list(records)),
        ("names", list(names)),
        ("keys", list(keys)),
        ("notes", list(notes)),
    ]))
}

fn record_row(Kept { record, text }: &Kept) -> Result<BoltType, Neo4jError> {
    let keys = record.keys();
    let (claimed_by, claimed_until) = keys.claim.unzip();
    let body = record.body().map_err(|_| Neo4jError::Unwritable("record"))?;
    let mut properties = vec![
        ("kind", record.kind().name().into()),
        ("visibility", record.scope().key().into()),
        ("version", integer(record.version()).into()),
        ("state", keys.state.into()),
        ("class", keys.class.into()),
        ("of", keys.of.map(|of| of.to_string()).into()),
        ("number", integer(keys.number).into()),
        ("at", time(keys.at)),
        ("slug", keys.slug.into()),
        ("author", keys.author.into()),
        ("run", keys.run.into()),
        ("claimed_by", claimed_by.into()),
        ("claimed_until", optional_time(claimed_until)),
        ("decided_at", optional_time(keys.decided_at)),
        ("flagged", keys.flagged.into()),
        ("body", body.into()),
    ];
    properties.extend(text.as_deref().map(|text| ("text", text.into())));
    Ok(map([
        ("id", record.id().to_string().into()),
        ("kind", record.kind().name().into()),
        ("properties", map(properties)),
    ]))
}

fn put_log(writes: &Writes) -> Result<Query, Neo4jError> {
    let notes = writes.notes.iter().map(|((seq, memory), note)| {
        map([
            ("seq", (*seq).into()),
            ("memory", memory.to_string().into()),
            ("effect", note.effect.name().into()),
            ("visibility", note.visibility.as_str().into()),
        ])
    });
    let outbox = writes.outbox.iter().map(outbox_properties).collect::<Result<Vec<_>, _>>()?;
    Ok(statements::PUT_LOG.batch([
        ("changes", list(writes.changes.iter().map(change_properties))),
        ("notes", list(notes)),
        ("answers", list(writes.answers.iter().map(answer_row))),
        ("outbox_drops", ids(writes.outbox_drops.iter().copied())),
        ("outbox", list(outbox)),
        ("change_seq", writes.change_seq.into()),
        ("outbox_seq", writes.outbox_seq.into()),
        ("state_seq", writes.state_seq.into()),
    ]))
}

fn change_properties(change: &ChangeRow) -> BoltType {
    map([
        ("id", change.id.to_string().into()),
        ("seq", change.seq.into()),
        ("at", change.at.into()),
        ("actor", change.actor.as_str().into()),
        ("use_case", change.use_case.as_str().into()),
        ("reason", change.reason.clone().into()),
        ("ops", limited(change.ops).into()),
    ])
}

fn answer_row(answer: &Answer) -> BoltType {
    let properties = map([
        ("key", answer.key.as_str().into()),
        ("change", answer.change.to_string().into()),
        ("request_hash", answer.request_hash.as_str().into()),
        ("answer", answer.answer.as_str().into()),
    ]);
    map([("properties", properties), ("names", ids(answer.names.iter().copied()))])
}

fn outbox_properties(waiting: &Waiting) -> Result<BoltType, Neo4jError> {
    let (op, vectors) = pack(waiting.op.clone()).ok_or(Neo4jError::Unwritable("index operation"))?;
    Ok(map([
        ("seq", waiting.seq.into()),
        ("memory", waiting.memory.to_string().into()),
        ("op", op.into()),
        ("vectors", vectors.into()),
    ]))
}

pub(super) async fn outbox(connection: &Connection, after: u64, limit: usize) -> Result<Vec<OutboxRow>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        seq: i64,
        op: String,
        vectors: Option<neo4rs::BoltBytes>,
    }
    let query = statements::OUTBOX.query().param("after", integer(after)).param("limit", limited(limit));
    let rows: Vec<Row> = connection.read(query).await?;
    rows.into_iter()
        .map(|row| {
            let op = unpack(&row.op, row.vectors.as_ref().map(|bytes| bytes.value.as_ref()))
                .ok_or(Neo4jError::Unreadable("outbox row"))?;
            Ok(OutboxRow { seq: row.seq.cast_unsigned(), op })
        })
        .collect()
}

pub(super) async fn outbox_done(connection: &Connection, seq: u64) -> Result<(), Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        removed: i64,
    }
    loop {
        let query = statements::OUTBOX_DONE.query().param("seq", integer(seq)).param("limit", limited(REMOVED_AT_ONCE));
        let rows: Vec<Row> = connection.write_one(query).await?;
        if rows.first().is_none_or(|row| row.removed < limited(REMOVED_AT_ONCE)) {
            return Ok(());
        }
    }
}

pub(super) async fn set_meta(connection: &Connection, key: &str, value: &str) -> Result<(), Neo4jError> {
    let query = statements::SET_META.query().param("key", key).param("value", value);
    connection.write_one::<Nothing>(query).await.map(|_| ())
}

pub(super) async fn swap_meta(
    connection: &Connection,
    key: &str,
    expected: Option<&str>,
    value: &str,
) -> Result<bool, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        mine: bool,
    }
    let query = match expected {
        None => statements::ADD_META.query(),
        Some(expected) => statements::SWAP_META.query().param("expected", expected),
    };
    let rows: Vec<Row> = connection.write_one(query.param("key", key).param("value", value)).await?;
    Ok(rows.first().is_some_and(|row| row.mine))
}

/// A relationship of Neo4j has both its ends or is not there: what this looks for in tables cannot be.
pub(super) async fn half_links(_connection: &Connection, _repair: bool) -> Result<usize, Neo4jError> {
    Ok(0)
}
