//! Fusion of the arms by a scaled sum.
//!
//! Each arm is scaled so that its best hit is 1 and its last candidate 0; the sum of the scaled scores, weighted, ranks.
//! Measured better here than reciprocal rank fusion, which throws the distances away.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{domain::MemoryId, ports::Scored};

/// Weights of the arms; `[read.fusion]` in `config.default.toml` explains each.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct FusionWeights {
    pub keyword: f32,
    pub concept: f32,
    pub cross_language: f32,
}

/// Each hit on a scale where the best is 1 and the hit at rank `depth` is 0. A shorter list ends at `floor`, or at its own
/// worst hit when there is none. Hits that are all alike count 1.
pub fn scaled(hits: &[Scored], depth: usize, floor: Option<f32>) -> HashMap<MemoryId, f32> {
    let high = hits.iter().map(|hit| hit.score).fold(f32::NEG_INFINITY, f32::max);
    let worst = hits.iter().map(|hit| hit.score).fold(f32::INFINITY, f32::min);
    let low = if hits.len() < depth { floor.map_or(worst, |floor| floor.min(worst)) } else { worst };
    let range = high - low;
    hits.iter().map(|hit| (hit.id, if range > 0.0 { (hit.score - low) / range } else { 1.0 })).collect()
}

/// The weighted sum of scaled arms. Ids that an arm lacks count 0 there.
pub fn fuse(arms: &[(&HashMap<MemoryId, f32>, f32)]) -> HashMap<MemoryId, f32> {
    let mut fused = HashMap::new();
    for (arm, weight) in arms {
        for (id, score) in *arm {
            *fused.entry(*id).or_insert(0.0) += weight * score;
        }
    }
    fused
}

#[cfg(test)]
mod laws {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn hits(scores: &[f32]) -> Vec<Scored> {
        (0u128..).zip(scores).map(|(n, score)| Scored { id: MemoryId(Uuid::from_u128(n)), score: *score }).collect()
    }

    proptest! {
        #[test]
        fn scaling_keeps_the_order_and_the_bounds(scores in prop::collection::vec(-5.0_f32..50.0, 1..40)) {
            let hits = hits(&scores);
            let scaled = scaled(&hits, 200, Some(-5.0));
            for (a, b) in hits.iter().zip(hits.iter().skip(1)) {
                prop_assert!((0.0..=1.0).contains(&scaled[&a.id]));
                if a.score > b.score {
                    prop_assert!(scaled[&a.id] >= scaled[&b.id]);
                }
            }
        }

        #[test]
        fn fusion_ignores_the_order_of_its_input(scores in prop::collection::vec(0.0_f32..1.0, 1..40)) {
            let forward = hits(&scores);
            let mut backward = forward.clone();
            backward.reverse();
            let (one, other) = (scaled(&forward, 200, None), scaled(&backward, 200, None));
            prop_assert_eq!(fuse(&[(&one, 1.0), (&other, 0.25)]), fuse(&[(&other, 1.0), (&one, 0.25)]));
        }
    }
}
