//! The connections to the server, each call under a deadline.
//!
//! The client of Qdrant makes a failed call once more, on a new connection; a try may take half of the deadline, so the
//! second one is inside it too, even where the first hangs.

use std::time::Duration;

use qdrant_client::{Qdrant, QdrantError};

use super::{QdrantSettings, error::Fault};

/// Searches have connections of their own, so that none waits behind a batch of points.
pub(super) struct Client {
    reading: Qdrant,
    writing: Qdrant,
    read_within: Duration,
    write_within: Duration,
}

impl Client {
    /// Connects at the first call, not before.
    pub(super) fn new(url: &str, settings: &QdrantSettings) -> Result<Self, Fault> {
        // The client would quote a key that no header can hold.
        if settings.api_key.as_ref().is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Fault::Settings("config key vectors.qdrant.api_key: holds a character that a key cannot have"));
        }
        let pool = |within: Duration| {
            let mut config = Qdrant::from_url(url).skip_compatibility_check();
            config.set_timeout(within / 2);
            // Hands are shaken over several round trips.
            config.set_connect_timeout(within);
            config.api_key(settings.api_key.clone()).build()
        };
        Ok(Self {
            reading: pool(settings.timeout)?,
            writing: pool(settings.write_timeout)?,
            read_within: settings.timeout,
            write_within: settings.write_timeout,
        })
    }

    /// A call that answers a question.
    pub(super) async fn read<'a, T, F: Future<Output = Result<T, QdrantError>>>(
        &'a self,
        call: impl FnOnce(&'a Qdrant) -> F,
    ) -> Result<T, Fault> {
        within(self.read_within, call(&self.reading)).await
    }

    /// A call that changes something.
    pub(super) async fn write<'a, T, F: Future<Output = Result<T, QdrantError>>>(
        &'a self,
        call: impl FnOnce(&'a Qdrant) -> F,
    ) -> Result<T, Fault> {
        within(self.write_within, call(&self.writing)).await
    }
}

async fn within<T>(deadline: Duration, call: impl Future<Output = Result<T, QdrantError>>) -> Result<T, Fault> {
    match tokio::time::timeout(deadline, call).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Fault::Late(deadline)),
    }
}
