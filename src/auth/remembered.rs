//! Tokens while their store is away: whoever was known a short while ago is known still, so that writes can go to the
//! journal and readers hear which part is missing. As long as the store answers, its answer counts.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use lru::LruCache;
use tokio::time::{Instant, timeout};

use crate::ports::{PortError, PortErrorKind, StoredToken, TokenStore};

/// How long a token is taken for valid after the store last said so. A token revoked through another process just before
/// an outage opens this one for as long.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// Longest wait for the store where the answer is remembered.
const PATIENCE: Duration = Duration::from_secs(1);
const MAX_TOKENS: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

/// A token store that may be away.
pub struct Remembered {
    store: Arc<dyn TokenStore>,
    lasting: Duration,
    seen: Mutex<LruCache<String, (StoredToken, Instant)>>,
}

impl Remembered {
    /// Over `store`.
    pub fn new(store: Arc<dyn TokenStore>) -> Self {
        Self { store, lasting: REMEMBERED, seen: Mutex::new(LruCache::new(MAX_TOKENS)) }
    }

    fn seen(&self) -> MutexGuard<'_, LruCache<String, (StoredToken, Instant)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl TokenStore for Remembered {
    async fn add_token(&self, token: &StoredToken) -> Result<(), PortError> {
        self.store.add_token(token).await
    }

    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<StoredToken>, PortError> {
        let known =
            self.seen().get(secret_hash).filter(|(_, at)| at.elapsed() < self.lasting).map(|(it, _)| it.clone());
        let asked = self.store.token_by_hash(secret_hash);
        let answer = match &known {
            None => asked.await,
            Some(_) => timeout(PATIENCE, asked)
                .await
                .map_err(|late| PortError::new(PortErrorKind::Timeout, "token store", "token_by_hash", late))
                .flatten(),
        };
        match answer {
            Ok(Some(token)) => {
                self.seen().put(secret_hash.to_owned(), (token.clone(), Instant::now()));
                Ok(Some(token))
            }
            Ok(None) => {
                self.seen().pop(secret_hash);
                Ok(None)
            }
            Err(error) if matches!(error.kind, PortErrorKind::Unavailable | PortErrorKind::Timeout) => {
                known.map(Some).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn tokens(&self) -> Result<Vec<StoredToken>, PortError> {
        self.store.tokens().await
    }

    async fn revoke_token(&self, id: &str) -> Result<bool, PortError> {
        let revoked = self.store.revoke_token(id).await?;
        let hashes: Vec<String> =
            self.seen().iter().filter(|(_, (token, _))| token.id == id).map(|(hash, _)| hash.clone()).collect();
        for hash in hashes {
            self.seen().pop(&hash);
        }
        Ok(revoked)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use jiff::Timestamp;

    use super::*;
    use crate::domain::Caller;

    /// One token, and a switch that takes the store away.
    #[derive(Default)]
    struct Fake {
        away: AtomicBool,
        revoked: AtomicBool,
    }

    fn token() -> StoredToken {
        let caller = Caller::operator("ann");
        StoredToken { id: "1".into(), secret_hash: "h".into(), caller, created_at: Timestamp::UNIX_EPOCH }
    }

    #[async_trait]
    impl TokenStore for Fake {
        async fn add_token(&self, _: &StoredToken) -> Result<(), PortError> {
            Ok(())
        }
        async fn token_by_hash(&self, hash: &str) -> Result<Option<StoredToken>, PortError> {
            if self.away.load(Ordering::SeqCst) {
                return Err(PortError::new(PortErrorKind::Unavailable, "fake", "token_by_hash", "away"));
            }
            Ok((hash == "h" && !self.revoked.load(Ordering::SeqCst)).then(token))
        }
        async fn tokens(&self) -> Result<Vec<StoredToken>, PortError> {
            Ok(Vec::new())
        }
        async fn revoke_token(&self, _: &str) -> Result<bool, PortError> {
            self.revoked.store(true, Ordering::SeqCst);
            Ok(true)
        }
    }

    #[tokio::test]
    async fn a_token_is_remembered_for_a_while_and_only_while_its_store_is_away() {
        let store = Arc::new(Fake::default());
        let mut remembered = Remembered::new(store.clone());
        store.away.store(true, Ordering::SeqCst);
        assert!(remembered.token_by_hash("h").await.is_err(), "it was never seen");
        store.away.store(false, Ordering::SeqCst);
        assert!(remembered.token_by_hash("h").await.expect("an answer").is_some());
        store.away.store(true, Ordering::SeqCst);
        assert!(remembered.token_by_hash("h").await.expect("an answer").is_some());
        assert!(remembered.token_by_hash("other").await.is_err());
        remembered.lasting = Duration::ZERO;
        assert!(remembered.token_by_hash("h").await.is_err(), "that was too long ago");
        remembered.lasting = REMEMBERED;
        store.away.store(false, Ordering::SeqCst);
        assert!(remembered.token_by_hash("h").await.expect("an answer").is_some());
        remembered.revoke_token("1").await.expect("revoked");
        store.away.store(true, Ordering::SeqCst);
        assert!(remembered.token_by_hash("h").await.is_err(), "a revoked one is not");
    }
}
