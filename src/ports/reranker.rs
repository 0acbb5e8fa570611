//! A second, dearer opinion on the best candidates.

use async_trait::async_trait;

use super::PortError;

/// A model that scores a text against a query.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// One score for each text, in order; larger is better, the scale is the model's own.
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, PortError>;
}
