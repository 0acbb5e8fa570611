//! Limits and thresholds of the write path; `[write]` in `config.default.toml` explains each.

use serde::{Deserialize, Serialize};

/// See `[write]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct WriteSettings {
    pub max_content_bytes: usize,
    pub min_importance: f32,
    pub default_importance: f32,
    pub supplements_from: f32,
    pub supplements_to: f32,
    pub supplements_max: usize,
    pub window: bool,
    pub backlinks_max: usize,
    pub feedback_prior: f32,
    pub quarantine: Vec<String>,
}

impl WriteSettings {
    /// The key that is wrong, and why.
    pub fn check(&self) -> Result<(), String> {
        let share = |value: f32| (0.0..=1.0).contains(&value);
        if !share(self.min_importance) {
            return Err("write.min_importance: must be between 0 and 1".into());
        }
        if !share(self.default_importance) {
            return Err("write.default_importance: must be between 0 and 1".into());
        }
        if !share(self.supplements_from) || !share(self.supplements_to) || self.supplements_from > self.supplements_to {
            return Err("write.supplements_from: must be a share, not above write.supplements_to".into());
        }
        if !(self.feedback_prior >= 1.0 && self.feedback_prior.is_finite()) {
            return Err("write.feedback_prior: must be at least 1".into());
        }
        if self.quarantine.iter().any(|word| word.trim().is_empty()) {
            return Err("write.quarantine: a word must not be empty".into());
        }
        Ok(())
    }
}
