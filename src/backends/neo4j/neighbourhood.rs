//! The part of the graph around some memories, in one round trip.

use super::{connection::Connection, error::Neo4jError};
use crate::{
    domain::Visibility,
    ports::{Neighbourhood, NeighbourhoodQuery},
};

pub(super) async fn neighbourhood(
    _connection: &Connection,
    _query: &NeighbourhoodQuery,
    _visibility: &Visibility,
) -> Result<Neighbourhood, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}
