//! Adapters for the ports that keep data or tell the time.
//!
//! Each adapter is a room of its own, knows ports and domain and nothing else, and passes the contract suite of its port
//! in `tests/it/contract`. To add one: a room here, a line in that suite.

pub mod clock;
pub mod sqlite;
