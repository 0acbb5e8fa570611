//! What a writer looks up before it decides: ids by name, last members, earlier answers, settings.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    connection::Connection,
    error::Neo4jError,
    plan::joined,
    rows::{keys, list, map, texts, uuid},
    statements,
};
use crate::{
    domain::{ChangeId, EdgeKind, Idempotency, MemoryId, Scope, Visibility},
    ports::Recorded,
};

#[derive(Deserialize)]
struct Named {
    name: String,
    id: String,
}

fn by_name(rows: Vec<Named>) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    rows.into_iter().map(|row| Ok((row.name, MemoryId(uuid(&row.id)?)))).collect()
}

pub(super) async fn by_external_ids(
    connection: &Connection,
    external_ids: &[String],
    visibility: &Visibility,
) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    let names = texts(external_ids.iter().cloned());
    let query = statements::BY_EXTERNAL_IDS.batch([("names", names), ("keys", keys(visibility))]);
    by_name(connection.read(query).await?)
}

pub(super) async fn by_content_hashes(
    connection: &Connection,
    hashes: &[String],
    scope: &Scope,
) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    let scope = scope.key();
    let rows = hashes.iter().map(|hash| map([("hash", hash.as_str().into()), ("key", joined(&scope, hash).into())]));
    by_name(connection.read(statements::BY_CONTENT_HASHES.batch([("active", list(rows))])).await?)
}

pub(super) async fn last_members(
    connection: &Connection,
    kind: EdgeKind,
    names: &[String],
    scope: &Scope,
) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    let statement = match kind {
        EdgeKind::SameSession => statements::LAST_IN_SESSIONS,
        EdgeKind::SameTask => statements::LAST_IN_TASKS,
        _ => return Ok(BTreeMap::new()),
    };
    let scope = scope.key();
    let groups = names.iter().map(|name| map([("name", name.as_str().into()), ("key", joined(&scope, name).into())]));
    by_name(connection.read(statement.batch([("groups", list(groups))])).await?)
}

pub(super) async fn recorded(
    connection: &Connection,
    principal: &str,
    key: &str,
) -> Result<Option<Recorded>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        change: String,
        request_hash: String,
        answer: String,
    }
    let rows: Vec<Row> = connection.read(statements::RECORDED.query().param("key", joined(principal, key))).await?;
    let Some(row) = rows.into_iter().next() else { return Ok(None) };
    let answer = serde_json::from_str(&row.answer).map_err(|_| Neo4jError::Unreadable("answer"))?;
    let idempotency = Idempotency { key: key.to_owned(), request_hash: row.request_hash, answer };
    Ok(Some(Recorded { change: ChangeId(uuid(&row.change)?), idempotency }))
}

pub(super) async fn meta(connection: &Connection, key: &str) -> Result<Option<String>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        value: String,
    }
    let rows: Vec<Row> = connection.read(statements::META.query().param("key", key)).await?;
    Ok(rows.into_iter().next().map(|row| row.value))
}

pub(super) async fn ping(connection: &Connection) -> Result<(), Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        #[serde(rename = "change_seq")]
        _change_seq: i64,
    }
    let rows: Vec<Row> = connection.read(statements::PING.query()).await?;
    rows.first().map(|_| ()).ok_or(Neo4jError::Unreadable("store"))
}
