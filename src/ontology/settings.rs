//! Limits and switches of ontologies; `[ontology]` in `config.default.toml` explains each.

use serde::{Deserialize, Serialize};

use super::Rule;

/// See `[ontology]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct OntologySettings {
    pub max_file_bytes: usize,
    pub max_statements: usize,
    pub max_nesting: usize,
    pub max_removed_share: f64,
    pub min_label_chars: usize,
    pub stop_labels: Vec<String>,
    pub max_links: usize,
    pub rules: Vec<Rule>,
}

impl OntologySettings {
    /// The key that is wrong, and why.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in [
            ("max_file_bytes", self.max_file_bytes),
            ("max_statements", self.max_statements),
            ("max_nesting", self.max_nesting),
            ("min_label_chars", self.min_label_chars),
            ("max_links", self.max_links),
        ] {
            if value == 0 {
                return Err(format!("ontology.{key}: must be at least 1"));
            }
        }
        if !(0.0..=1.0).contains(&self.max_removed_share) {
            return Err("ontology.max_removed_share: must be between 0 and 1".into());
        }
        self.rules.iter().try_for_each(Rule::check)
    }
}
