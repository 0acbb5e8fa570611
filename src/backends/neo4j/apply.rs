//! Writing change sets, the outbox, settings.

use super::{connection::Connection, error::Neo4jError};
use crate::{
    domain::ChangeSet,
    ports::{Applied, OutboxRow},
};

pub(super) async fn apply(
    _connection: &Connection,
    _changes: &[ChangeSet],
) -> Result<Vec<Applied>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn outbox(
    _connection: &Connection,
    _after: u64,
    _limit: usize,
) -> Result<Vec<OutboxRow>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn outbox_done(
    _connection: &Connection,
    _seq: u64,
) -> Result<(), Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn set_meta(
    _connection: &Connection,
    _key: &str,
    _value: &str,
) -> Result<(), Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn half_links(
    _connection: &Connection,
    _repair: bool,
) -> Result<usize, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}
