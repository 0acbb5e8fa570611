//! Adapters for the ports that keep data or tell the time.
//!
//! Each adapter is a room of its own, knows ports and domain and nothing else, and passes the contract suite of its port
//! in `tests/it/contract`. Adapters of servers stand behind a `circuit`, which `guarded` puts around their ports. `open`
//! alone turns settings into an adapter. To add one: a room here, an arm in `open`, a line in that suite.

pub mod archive;
mod circuit;
pub mod clock;
mod conditions;
pub mod edge;
pub mod exact;
pub mod guarded;
pub mod neo4j;
mod open;
mod packed;
pub mod qdrant;
pub mod sqlite;

pub use circuit::CircuitSettings;
pub use clock::SystemClock;
pub use open::{
    Graph, Index, OpenError, OpenIndex, Remote, backup_graph, graph_file, open_graph, open_index, open_journal,
    remove_index, restore_graph,
};
