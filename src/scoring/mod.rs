//! Arithmetic of recall and association. Weights are arguments, memories are numbers and ids; knows no store, no clock and
//! no caller.
//!
//! To add a formula: a file here with its source, its weights in `config.default.toml`, its laws in its tests.

mod activation;
mod fusion;
mod rank;

pub use activation::{Activated, ActivationWeights, Step, Walk, activate, rarity};
pub use fusion::{FusionWeights, fuse, scaled};
pub use rank::{RankWeights, Signals, freshness, rank};
