//! A lease on an endpoint, so that of several instances on one store one tells it.
//!
//! It is a setting in the graph store, changed only by whoever knows what it says: until when, and whose. An instance that
//! dies lets it run out, and the next one goes on where the position stands.

use std::{pin::pin, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::Sources;
use crate::ports::PortError;

/// How long a lease holds. Clocks of instances may differ by less.
const HELD: SignedDuration = SignedDuration::from_secs(60);
/// How often it is renewed while its holder works.
const RENEWED: Duration = Duration::from_secs(15);

/// See the module.
pub(super) struct Lease<'a> {
    sources: &'a Sources,
    key: String,
    holder: &'a str,
    said: String,
}

impl<'a> Lease<'a> {
    /// The lease under `key`; `None` if another instance holds it.
    pub async fn take(sources: &'a Sources, key: String, holder: &'a str) -> Result<Option<Self>, PortError> {
        let known = sources.graph.meta(&key).await?;
        let now = sources.clock.now();
        let held = known.as_deref().and_then(parse).is_some_and(|(until, by)| now < until && by != holder);
        if held {
            return Ok(None);
        }
        let said = written(now, HELD, holder);
        let taken = sources.graph.swap_meta(&key, known.as_deref(), &said).await?;
        Ok(taken.then_some(Self { sources, key, holder, said }))
    }

    /// Works, and holds on meanwhile; `None` if the lease was lost before the end.
    pub async fn during<T>(
        &mut self,
        work: impl Future<Output = Result<T, PortError>>,
    ) -> Result<Option<T>, PortError> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done.map(Some),
                () = tokio::time::sleep(RENEWED) => {
                    if !self.says(HELD).await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Lets it go at once.
    pub async fn release(mut self) -> Result<(), PortError> {
        self.says(SignedDuration::ZERO).await.map(drop)
    }

    /// Whether it is still this one's, which holds for `long` from now on.
    async fn says(&mut self, long: SignedDuration) -> Result<bool, PortError> {
        let said = written(self.sources.clock.now(), long, self.holder);
        let mine = self.sources.graph.swap_meta(&self.key, Some(&self.said), &said).await?;
        self.said = said;
        Ok(mine)
    }
}

fn written(now: Timestamp, long: SignedDuration, holder: &str) -> String {
    format!("{} {holder}", now.saturating_add(long).unwrap_or(now))
}

fn parse(said: &str) -> Option<(Timestamp, &str)> {
    let (until, holder) = said.split_once(' ')?;
    Some((until.parse().ok()?, holder))
}
