//! Query vectors kept in memory: agents ask the same things again.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use lru::LruCache;

use crate::ports::{Embedder, ModelCard, PortError};

/// Keeps the latest query vectors of another embedder. Passages go through.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    vectors: Mutex<LruCache<String, Vec<f32>>>,
    hits: AtomicU64,
}

impl CachedEmbedder {
    /// Keeps up to `capacity` vectors of `inner`.
    pub fn new(inner: Arc<dyn Embedder>, capacity: NonZeroUsize) -> Self {
        Self { inner, vectors: Mutex::new(LruCache::new(capacity)), hits: AtomicU64::new(0) }
    }

    /// Queries answered from memory so far.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Embedder for CachedEmbedder {
    fn card(&self) -> &ModelCard {
        self.inner.card()
    }

    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        self.inner.embed_passages(texts).await
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        let kept = self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
        if let Some(vector) = kept {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(vector);
        }
        let vector = self.inner.embed_query(text).await?;
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).put(text.to_owned(), vector.clone());
        Ok(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::HashingEmbedder;

    #[tokio::test]
    async fn a_query_asked_again_is_answered_from_memory() {
        let inner = Arc::new(HashingEmbedder::new("h", None));
        let cached = CachedEmbedder::new(inner.clone(), NonZeroUsize::new(2).unwrap());
        for query in ["a", "b", "a", "c", "a", "b"] {
            assert_eq!(cached.embed_query(query).await.unwrap(), inner.embed_query(query).await.unwrap());
        }
        // `b` had left when `c` came.
        assert_eq!(cached.hits(), 2);
    }
}
