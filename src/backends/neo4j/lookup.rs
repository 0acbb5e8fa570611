//! What a writer looks up before it decides: ids by name, last members, earlier answers, settings.

use std::collections::BTreeMap;

use super::{connection::Connection, error::Neo4jError};
use crate::{
    domain::{EdgeKind, MemoryId, Scope, Visibility},
    ports::Recorded,
};

pub(super) async fn by_external_ids(
    _connection: &Connection,
    _external_ids: &[String],
    _visibility: &Visibility,
) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn by_content_hashes(
    _connection: &Connection,
    _hashes: &[String],
    _scope: &Scope,
) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn last_members(
    _connection: &Connection,
    _kind: EdgeKind,
    _names: &[String],
    _scope: &Scope,
) -> Result<BTreeMap<String, MemoryId>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn recorded(
    _connection: &Connection,
    _principal: &str,
    _key: &str,
) -> Result<Option<Recorded>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn meta(
    _connection: &Connection,
    _key: &str,
) -> Result<Option<String>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn ping(
    _connection: &Connection,
) -> Result<(), Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}
