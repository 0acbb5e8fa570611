//! Edges of the graph: a closed list of kinds, never built from input.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

use super::{Scope, UnknownName, memory::names};

names! {
    /// What an edge says of its two ends.
    EdgeKind {
        /// A memory to the one before it in its session.
        SameSession = "SAME_SESSION",
        /// A memory to the one before it in its task.
        SameTask = "SAME_TASK",
        /// The newer to the older that it replaces.
        Supersedes = "SUPERSEDES",
        /// Cause to effect.
        Causes = "CAUSES",
        /// Similar, calibrated 0.7..0.9, or said to belong together.
        Supplements = "SUPPLEMENTS",
        /// A conclusion or summary to what it came from.
        DerivedFrom = "DERIVED_FROM",
        /// Two that cannot both hold, waiting for a decision.
        Contradicts = "CONTRADICTS",
        /// A memory to the concept it is about (title, subject).
        About = "ABOUT",
        /// A memory to a concept that its text names.
        Mentions = "MENTIONS",
        /// A concept to a broader one.
        Broader = "BROADER",
        /// Two concepts that belong together.
        Related = "RELATED",
    }
}

impl EdgeKind {
    /// Whether it leads from a memory to a concept.
    pub fn to_concept(self) -> bool {
        matches!(self, Self::About | Self::Mentions)
    }

    /// Whether it joins two concepts.
    pub fn between_concepts(self) -> bool {
        matches!(self, Self::Broader | Self::Related)
    }
}

/// Which way edges are followed, seen from the node one stands on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Along the arrow.
    Out,
    /// Against it.
    In,
    /// Either way.
    #[default]
    Both,
}

impl Edge {
    /// The reason of an edge that was made for similarity alone, not because somebody said so.
    pub const SIMILAR: &str = "similar";

    /// The reason of an edge that stands in an ontology, or that links a memory to what an ontology names.
    pub const ONTOLOGY: &str = "ontology";

    /// Whether those who see its ends are told of it: somebody made it. Edges between neighbours in a session or task, to
    /// concepts, and for similarity alone go without saying.
    pub fn is_news(&self) -> bool {
        self.reason.as_deref() != Some(Self::SIMILAR)
            && matches!(
                self.kind,
                EdgeKind::Causes | EdgeKind::Supersedes | EdgeKind::Supplements | EdgeKind::Contradicts
            )
    }
}

/// One edge. Its key is `(from, kind, to)`: writing it again replaces weight and reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Id of the node it leaves (a memory, or a concept for concept edges).
    pub from: Uuid,
    /// Id of the node it reaches (a memory, or a concept).
    pub to: Uuid,
    /// What it says.
    pub kind: EdgeKind,
    /// Strength, 0..=1.
    pub weight: f32,
    /// Why it was made.
    pub reason: Option<String>,
    /// Who may see it: the narrower of its two ends' scopes.
    pub scope: Scope,
    /// Recorded then; an edge is not seen by a belief-time query before it.
    pub recorded_at: Timestamp,
}
