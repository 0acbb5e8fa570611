//! The order of recalled memories from their signals (design, read path).

use serde::{Deserialize, Serialize};

use crate::domain::{Kind, MemoryType};

/// Weights of the agent profile; `[read.rank]` in `config.default.toml` explains each.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct RankWeights {
    pub relevance: f32,
    pub freshness: f32,
    pub type_priority: f32,
    pub importance: f32,
    pub confidence: f32,
    pub access: f32,
    pub half_life_days_episodic: f32,
    pub half_life_days_semantic: f32,
}

/// What is known of a candidate, each 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signals {
    /// Fused relevance, relative to the best.
    pub relevance: f32,
    /// See [`freshness`].
    pub freshness: f32,
    /// Priority of its type.
    pub type_priority: f32,
    /// Given or default importance.
    pub importance: f32,
    /// Confidence.
    pub confidence: f32,
    /// Use.
    pub access: f32,
}

impl Signals {
    /// The priority of a type.
    pub fn priority_of(memory_type: MemoryType) -> f32 {
        match memory_type {
            MemoryType::Correction | MemoryType::Constraint => 1.0,
            MemoryType::Fact | MemoryType::Procedure => 0.9,
            MemoryType::Preference => 0.7,
            MemoryType::Pattern | MemoryType::Insight | MemoryType::Event => 0.6,
        }
    }

    /// Access factor: min(1, 0.5 + 0.1 n).
    pub fn access_of(count: u64) -> f32 {
        (0.5 + 0.1 * count.min(10) as f32).min(1.0)
    }
}

/// Exponential decay with the half-life of the layer: 1 at age 0, 0.5 after one half-life. Ages below 0 count as 0.
pub fn freshness(kind: Kind, age_days: f32, weights: &RankWeights) -> f32 {
    let half_life = match kind {
        Kind::Working | Kind::Episodic => weights.half_life_days_episodic,
        Kind::Semantic | Kind::Reflective | Kind::Warning => weights.half_life_days_semantic,
    };
    0.5_f32.powf(age_days.max(0.0) / half_life)
}

/// The weighted mean of the signals, 0..=1.
pub fn rank(signals: &Signals, weights: &RankWeights) -> f32 {
    let parts = [
        (signals.relevance, weights.relevance),
        (signals.freshness, weights.freshness),
        (signals.type_priority, weights.type_priority),
        (signals.importance, weights.importance),
        (signals.confidence, weights.confidence),
        (signals.access, weights.access),
    ];
    let total: f32 = parts.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return signals.relevance;
    }
    (parts.iter().map(|(signal, weight)| signal * weight).sum::<f32>() / total).clamp(0.0, 1.0)
}

#[cfg(test)]
mod laws {
    use proptest::prelude::*;

    use super::*;

    fn weights() -> RankWeights {
        RankWeights {
            relevance: 0.7,
            freshness: 0.1,
            type_priority: 0.05,
            importance: 0.05,
            confidence: 0.05,
            access: 0.05,
            half_life_days_episodic: 30.0,
            half_life_days_semantic: 90.0,
        }
    }

    proptest! {
        #[test]
        fn a_score_stays_within_bounds(parts in prop::array::uniform6(0.0_f32..=1.0)) {
            let [relevance, freshness, type_priority, importance, confidence, access] = parts;
            let signals = Signals { relevance, freshness, type_priority, importance, confidence, access };
            prop_assert!((0.0..=1.0).contains(&rank(&signals, &weights())));
        }

        #[test]
        fn an_older_memory_never_ranks_higher_for_its_age_alone(age in 0.0_f32..5000.0, more in 0.0_f32..5000.0) {
            let young = freshness(Kind::Episodic, age, &weights());
            let old = freshness(Kind::Episodic, age + more, &weights());
            prop_assert!(old <= young);
        }
    }

    #[test]
    fn freshness_halves_after_the_half_life_of_the_layer() {
        assert!((freshness(Kind::Episodic, 30.0, &weights()) - 0.5).abs() < 1e-6);
        assert!((freshness(Kind::Semantic, 90.0, &weights()) - 0.5).abs() < 1e-6);
        assert_eq!(freshness(Kind::Semantic, -5.0, &weights()), 1.0);
    }
}
