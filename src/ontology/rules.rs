//! What memories of a kind must have: tags, a concept of some branch. Pure.
//!
//! To add a condition: a field of [`Rule`], a line in `broken_by`, a sentence in `config.default.toml`.

use serde::{Deserialize, Serialize};

use super::lexicon::{ConceptLink, Vocabulary};
use crate::domain::{Kind, Memory, MemoryType};

/// What is done about a memory that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is stored, and the answer says what is missing.
    Warn,
    /// It waits in the review queue, with what is missing as its risk.
    Review,
    /// It is not stored.
    Refuse,
}

/// One rule of `[[ontology.rules]]`; see `config.default.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Rule {
    pub name: String,
    #[serde(default)]
    pub types: Vec<MemoryType>,
    #[serde(default)]
    pub kinds: Vec<Kind>,
    #[serde(default)]
    pub required_tags: Vec<String>,
    #[serde(default)]
    pub allowed_tags: Vec<String>,
    #[serde(default)]
    pub concept: String,
    pub action: Action,
}

impl Rule {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("ontology.rules: a rule needs a name".into());
        }
        if self.required_tags.is_empty() && self.allowed_tags.is_empty() && self.concept.is_empty() {
            let name = &self.name;
            return Err(format!("ontology.rules: {name:?} asks nothing; give required_tags, allowed_tags or concept"));
        }
        Ok(())
    }

    /// What the memory lacks.
    fn broken_by(&self, memory: &Memory, links: &[ConceptLink], vocabulary: &Vocabulary) -> Option<String> {
        let concerned = (self.types.is_empty() || self.types.contains(&memory.memory_type))
            && (self.kinds.is_empty() || self.kinds.contains(&memory.kind));
        if !concerned {
            return None;
        }
        if let Some(tag) = self.required_tags.iter().find(|tag| !memory.tags.contains(tag)) {
            return Some(format!("the tag {tag:?} is missing"));
        }
        if !self.allowed_tags.is_empty()
            && let Some(tag) = memory.tags.iter().find(|tag| !self.allowed_tags.contains(tag))
        {
            return Some(format!("the tag {tag:?} is none of {}", self.allowed_tags.join(", ")));
        }
        let named = || links.iter().any(|link| vocabulary.is_below(link.concept, &self.concept));
        (!self.concept.is_empty() && !named()).then(|| format!("nothing of <{}> is named", self.concept))
    }
}

/// A rule that a memory breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule and what is missing, for the one who stores.
    pub what: String,
    /// What is done about it.
    pub action: Action,
}

/// All rules in force.
#[derive(Debug, Clone, Default)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// The first rule that refuses the memory, or else all that it breaks, as one with the stricter action.
    pub fn broken_by(&self, memory: &Memory, links: &[ConceptLink], vocabulary: &Vocabulary) -> Option<Violation> {
        let (mut broken, mut action) = (Vec::new(), Action::Warn);
        for rule in &self.0 {
            let Some(what) = rule.broken_by(memory, links, vocabulary) else { continue };
            let what = format!("rule {}: {what}", rule.name);
            if rule.action == Action::Refuse {
                return Some(Violation { what, action: Action::Refuse });
            }
            action = action.max(rule.action);
            broken.push(what);
        }
        (!broken.is_empty()).then(|| Violation { what: broken.join("; "), action })
    }
}
