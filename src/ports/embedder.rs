//! Text to vectors.

use async_trait::async_trait;

use super::PortError;
use crate::domain::Language;

/// Maps raw cosines of one model to a scale on which strangers are 0 and paraphrases are 1, so that a threshold means the
/// same for each model. Measured once per model and kept beside its id.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Median cosine of unrelated passages.
    pub passage_strangers: f32,
    /// Median cosine of paraphrased passages.
    pub passage_paraphrases: f32,
    /// Median cosine of a query and an unrelated passage.
    pub query_strangers: f32,
    /// Median cosine of a query and a passage that answers it.
    pub query_answers: f32,
}

impl Calibration {
    /// Cosine of two passages on the calibrated scale, 0..=1.
    pub fn passages(&self, cosine: f32) -> f32 {
        Self::scale(cosine, self.passage_strangers, self.passage_paraphrases)
    }

    /// Cosine of a query and a passage on the calibrated scale, 0..=1.
    pub fn query(&self, cosine: f32) -> f32 {
        Self::scale(cosine, self.query_strangers, self.query_answers)
    }

    fn scale(cosine: f32, low: f32, high: f32) -> f32 {
        ((cosine - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// What identifies a model: the same text gives the same vector exactly when two cards are equal in id and hash.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCard {
    /// Name of the space, for example `multilingual-e5-small`.
    pub id: String,
    /// SHA-256 of the weights, hexadecimal; for models without weights, of their definition.
    pub hash: String,
    /// Length of each vector.
    pub dimension: usize,
    /// `Some` if only memories in this language get a vector of this model.
    pub language: Option<Language>,
    /// See [`Calibration`].
    pub calibration: Calibration,
}

impl ModelCard {
    /// Name of the space of window vectors beside this one.
    pub fn window_space(&self) -> String {
        format!("{}.window", self.id)
    }
}

/// A model that turns text into unit vectors. Prefixes, pooling, truncation and batching are the adapter's.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// What it is.
    fn card(&self) -> &ModelCard;
    /// One unit vector for each text, in order. An empty slice gives an empty answer; text beyond the model's window is cut.
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError>;
    /// The unit vector of a query.
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError>;
}
