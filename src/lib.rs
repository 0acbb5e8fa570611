//! recollect: a graph-backed knowledge memory for LLM agents.
//!
//! `ARCHITECTURE.md` has the map of the rooms and walks through store, recall and associate.

pub mod auth;
pub mod backends;
pub mod cli;
pub mod config;
pub mod domain;
pub mod error;
pub mod eval;
pub mod graphql;
pub mod http;
pub mod input;
pub mod jobs;
pub mod mcp;
pub mod models;
pub mod ontology;
pub mod ports;
pub mod read;
pub mod review;
pub mod scoring;
pub mod service;
pub mod telemetry;
pub mod text;
pub mod webhooks;
pub mod wiki;
pub mod write;
