//! Limits and weights of the read path; `[read]` in `config.default.toml` explains each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::scoring::{ActivationWeights, FusionWeights, RankWeights};

/// How results are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Relevance with freshness, type, importance, confidence and use.
    Agent,
    /// Relevance alone.
    Relevance,
}

/// See `[read]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct ReadSettings {
    pub deadline_ms: u64,
    pub at_once: usize,
    pub candidates: usize,
    pub max_limit: usize,
    pub answer_tokens: usize,
    pub max_query_bytes: usize,
    pub max_nodes: usize,
    pub replaced_texts: usize,
    pub profile: Profile,
    pub expand: bool,
    pub weak_similarity: f32,
    pub weak_coverage: f32,
    pub fusion: FusionWeights,
    pub activation: ActivationWeights,
    pub rank: RankWeights,
}

impl ReadSettings {
    /// Until when an answer must be there, from its beginning.
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }

    /// The key that is wrong, and why.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in [
            ("at_once", self.at_once),
            ("candidates", self.candidates),
            ("max_limit", self.max_limit),
            ("answer_tokens", self.answer_tokens),
            ("max_query_bytes", self.max_query_bytes),
            ("max_nodes", self.max_nodes),
        ] {
            if value == 0 {
                return Err(format!("read.{key}: must be at least 1"));
            }
        }
        if self.deadline_ms == 0 {
            return Err("read.deadline_ms: must be at least 1".into());
        }
        Ok(())
    }
}
