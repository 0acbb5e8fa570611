//! Adapters for the ports that keep data or tell the time.
//!
//! Each adapter is a room of its own, knows ports and domain and nothing else, and passes the contract suite of its port
//! in `tests/it/contract`. `open` alone turns settings into an adapter. To add one: a room here, an arm in `open`, a line
//! in that suite.

pub mod archive;
pub mod clock;
pub mod edge;
pub mod exact;
mod open;
pub mod sqlite;

pub use clock::SystemClock;
pub use open::{
    Graph, Index, OpenError, OpenIndex, backup_graph, graph_file, open_graph, open_index, restore_graph,
};
