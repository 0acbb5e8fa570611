//! recollect: a graph-backed knowledge memory for LLM agents.
//!
//! `ARCHITECTURE.md` has the map of the rooms and walks through store, recall and associate.

pub mod backends;
pub mod domain;
pub mod models;
pub mod ports;
pub mod text;
