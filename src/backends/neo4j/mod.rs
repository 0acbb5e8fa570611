//! The graph in a Neo4j server: memories and concepts are nodes, what they have to do with each other are relationships.
//!
//! Each statement is a file in `cypher/`, embedded in `statements` and nowhere else; only values are bound. `connection`
//! gives every call its deadline and its second try. Writers of all processes take turns at one node, so that a batch is
//! planned (`plan`) on what it will be written over.
//!
//! To add a port method: a statement in `cypher/` with its line in `statements`, a function in the file of its room below,
//! a line in `graph_store`, `browse`,
//! `review` or `ontology`.

mod apply;
mod archive;
mod ask;
mod browse;
mod connection;
mod error;
mod graph_store;
mod keyword;
mod lookup;
mod neighbourhood;
mod nodelay;
mod ontology;
mod plan;
mod read;
mod resources;
mod review;
mod rows;
mod schema;
mod settings;
mod statements;
mod token_store;
mod versions;

pub use settings::Neo4jSettings;

use std::sync::{Arc, Mutex};

use self::{connection::Connection, versions::Preparation};
use crate::ports::PortError;

/// A graph on a Neo4j server. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Neo4jStore {
    connection: Arc<Connection>,
    /// The version of the ontologies that was begun here.
    preparing: Arc<Mutex<Option<Preparation>>>,
}

impl Neo4jStore {
    /// Connects to `url` (see [`Neo4jSettings::SCHEMES`]), and brings the schema up to date.
    ///
    /// `Mismatch` for wrong credentials, for a server that is too old and for data of a newer program; nothing is written
    /// then. `Unavailable` if nobody answers at the address.
    pub async fn open(url: &str, settings: &Neo4jSettings) -> Result<Self, PortError> {
        graph_store::named("open", async {
            let connection = Connection::new(url, settings)?;
            schema::open(&connection).await?;
            Ok(Self { connection: Arc::new(connection), preparing: Arc::default() })
        })
        .await
    }
}
