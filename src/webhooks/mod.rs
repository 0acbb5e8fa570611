//! Tells others what happens in the review queue, by Standard Webhooks: signed, tried again, and never to an address that
//! must not be called.
//!
//! Each endpoint reads the change log by a position of its own, which the graph store keeps: nothing is lost by a stop, and an
//! event that was on its way then comes once more, under the same id. Of several instances the one with the lease tells. Events
//! say what became of which proposal and nothing of what it says; whoever wants that asks with a token. To tell of more: a field
//! in [`message`].

mod lease;
mod reach;
mod send;

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use backon::{ExponentialBuilder, Retryable};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{WebhookEndpoint, Webhooks as Settings},
    domain::Visibility,
    ports::{Browse, Clock, GraphStore, PortError, PortErrorKind, ProposalChange, ReviewStore},
    telemetry,
};
use lease::Lease;
use send::{Failure, Message, Sender};

/// Changes that are read at once.
const CHANGES: usize = 100;
/// Wait after the graph store did not answer.
const AGAIN: Duration = Duration::from_secs(5);

/// Settings that cannot be used; the message names the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {what}")]
pub struct WrongSettings {
    key: String,
    what: String,
}

/// Where changes come from, and where positions are kept.
#[derive(Clone)]
pub struct Sources {
    /// Positions.
    pub graph: Arc<dyn GraphStore>,
    /// The end of the change log.
    pub browse: Arc<dyn Browse>,
    /// The change log of proposals.
    pub reviews: Arc<dyn ReviewStore>,
    /// Time of a try.
    pub clock: Arc<dyn Clock>,
}

/// Endpoints that are ready to be told.
pub struct Webhooks {
    sources: Sources,
    endpoints: Vec<Endpoint>,
    every: Duration,
    waits: ExponentialBuilder,
    /// Tells this instance from others on the same store.
    instance: String,
}

struct Endpoint {
    name: String,
    events: Vec<String>,
    sender: Sender,
}

/// Why an endpoint is told no more.
enum Ended {
    Stopped,
    /// It answered that it is gone.
    Gone,
}

impl Webhooks {
    /// The endpoints of the settings. None of them is called before [`Self::run`].
    pub fn new(sources: Sources, settings: &Settings) -> Result<Self, WrongSettings> {
        let wrong = |key: &str, what: String| WrongSettings { key: format!("webhooks.{key}"), what };
        for (key, value) in [
            ("timeout_ms", settings.timeout_ms),
            ("retry_first_ms", settings.retry_first_ms),
            ("retry_longest_ms", settings.retry_longest_ms),
            ("poll_ms", settings.poll_ms),
        ] {
            if value == 0 {
                return Err(wrong(key, "must be at least 1".to_owned()));
            }
        }
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for given in &settings.endpoints {
            let at = |what: String| wrong("endpoints", format!("{:?}: {what}", given.name));
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if given.name.is_empty() || !given.name.bytes().all(plain) {
                return Err(at("a name is of letters, digits, - and _".to_owned()));
            }
            if endpoints.iter().any(|endpoint| endpoint.name == given.name) {
                return Err(at("another endpoint has this name".to_owned()));
            }
            endpoints.push(Endpoint::new(given, settings).map_err(|error| at(error.to_string()))?);
        }
        let waits = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(settings.retry_first_ms))
            .with_max_delay(Duration::from_millis(settings.retry_longest_ms))
            .with_max_times(settings.tries.saturating_sub(1))
            .with_jitter();
        let (every, instance) = (Duration::from_millis(settings.poll_ms), sources.clock.next_id().to_string());
        Ok(Self { sources, endpoints, every, waits, instance })
    }

    /// Notes where endpoints that are new begin: with what comes after this.
    pub async fn begin(&self) -> Result<(), PortError> {
        for endpoint in &self.endpoints {
            self.position(endpoint).await?;
        }
        Ok(())
    }

    /// Tells all endpoints until stopped; `changed` wakes when this process may have changed something.
    pub async fn run(&self, changed: watch::Receiver<()>, stop: CancellationToken) {
        let told = self.endpoints.iter().map(|endpoint| self.tell(endpoint, changed.clone(), &stop));
        futures::future::join_all(told).await;
    }

    async fn tell(&self, endpoint: &Endpoint, mut changed: watch::Receiver<()>, stop: &CancellationToken) {
        loop {
            // Marked as seen before the read: what is written after that wakes the next wait.
            changed.mark_unchanged();
            let wait = match self.advance(endpoint, stop).await {
                Ok(None) => self.every,
                Ok(Some(Ended::Stopped)) => return,
                Ok(Some(Ended::Gone)) => {
                    tracing::warn!(endpoint = endpoint.name, "the webhook is gone (410); it is told no more");
                    return;
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "webhooks wait for the graph store");
                    AGAIN
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                // Both ends of the wait lead to the same look.
                _ = tokio::time::timeout(wait, changed.changed()) => {}
            }
        }
    }

    /// Tells of all changes after the position, unless another instance does.
    async fn advance(&self, endpoint: &Endpoint, stop: &CancellationToken) -> Result<Option<Ended>, PortError> {
        while !self.news(endpoint).await?.is_empty() {
            let Some(mut lease) = Lease::take(&self.sources, endpoint.lease(), &self.instance).await? else {
                return Ok(None);
            };
            let told = lease.during(self.tell_news(endpoint, stop)).await?;
            lease.release().await?;
            match told {
                Some(None) => {}
                Some(ended) => return Ok(ended),
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The next changes that the endpoint was not told of.
    async fn news(&self, endpoint: &Endpoint) -> Result<Vec<ProposalChange>, PortError> {
        let everything = Visibility::system("webhooks tell of the whole queue, and of no text");
        let after = self.position(endpoint).await?;
        self.sources.reviews.proposal_changes(after, CHANGES, None, &everything).await
    }

    /// Tells of them, as they are now that nobody else does.
    async fn tell_news(&self, endpoint: &Endpoint, stop: &CancellationToken) -> Result<Option<Ended>, PortError> {
        let changes = self.news(endpoint).await?;
        for (at, change) in changes.iter().enumerate() {
            let message = message(change);
            if endpoint.wants(change)
                && let Some(ended) = self.deliver(endpoint, &message, stop).await
            {
                return Ok(Some(ended));
            }
            // A change is of one transaction; after its last row it is told.
            if changes.get(at + 1).is_none_or(|next| next.seq != change.seq) {
                self.sources.graph.set_meta(&endpoint.key(), &change.seq.to_string()).await?;
            }
        }
        Ok(None)
    }

    /// Where a stop left off; a new endpoint is told of what is new.
    async fn position(&self, endpoint: &Endpoint) -> Result<u64, PortError> {
        loop {
            if let Some(known) = self.sources.graph.meta(&endpoint.key()).await? {
                let corrupt = |_| PortError::new(PortErrorKind::Corrupt, "webhooks", "position", "not a number");
                return known.parse().map_err(corrupt);
            }
            let now = self.sources.browse.last_change().await?;
            // Of several instances that begin at once, one says where.
            if self.sources.graph.swap_meta(&endpoint.key(), None, &now.to_string()).await? {
                return Ok(now);
            }
        }
    }

    /// Delivers a message, with further tries; what is given up is not delivered.
    async fn deliver(&self, endpoint: &Endpoint, message: &Message, stop: &CancellationToken) -> Option<Ended> {
        let Endpoint { name, sender, .. } = endpoint;
        let clock = &self.sources.clock;
        let send = || async { sender.send(message, clock.now()).await };
        let retried = send
            .retry(self.waits)
            .when(|failure| !matches!(failure, Failure::Answered(StatusCode::GONE)))
            .notify(|failure, wait| {
                telemetry::count_delivery(name, "failed");
                let error = failure as &dyn std::error::Error;
                tracing::warn!(endpoint = name, error, "a webhook was not delivered; the next try is in {wait:?}");
            });
        let told = tokio::select! {
            told = retried => told,
            () = stop.cancelled() => return Some(Ended::Stopped),
        };
        match told {
            Ok(()) => {
                telemetry::count_delivery(name, "delivered");
                None
            }
            Err(Failure::Answered(StatusCode::GONE)) => {
                telemetry::count_delivery(name, "given_up");
                Some(Ended::Gone)
            }
            Err(failure) => {
                telemetry::count_delivery(name, "given_up");
                let (id, error) = (&message.id, &failure as &dyn std::error::Error);
                tracing::error!(endpoint = name, error, "the webhook {id} is given up");
                None
            }
        }
    }
}

impl Endpoint {
    fn new(given: &WebhookEndpoint, settings: &Settings) -> Result<Self, send::Unusable> {
        let secrets = given.secrets.iter().filter_map(|secret| secret.reveal());
        let timeout = Duration::from_millis(settings.timeout_ms);
        let sender = Sender::new(&given.url, secrets, settings.allow_private, timeout)?;
        Ok(Self { name: given.name.clone(), events: given.events.clone(), sender })
    }

    /// Under which its position is kept.
    fn key(&self) -> String {
        format!("webhooks.{}", self.name)
    }

    /// Under which the lease to tell it is kept.
    fn lease(&self) -> String {
        format!("webhooks.{}.lease", self.name)
    }

    fn wants(&self, change: &ProposalChange) -> bool {
        self.events.is_empty() || self.events.contains(&event(change))
    }
}

/// What happened, by the use case that did it.
fn event(change: &ProposalChange) -> String {
    format!("review.{}", change.use_case)
}

/// What is sent of a change.
fn message(change: &ProposalChange) -> Message {
    let body = json!({"type": event(change), "timestamp": change.at.to_string(), "data": {
        "proposal_id": change.proposal.to_string(), "kind": change.kind.name(), "state": change.state.name(),
        "actor": change.actor}});
    Message { id: format!("msg_{}_{}", change.seq, change.proposal), body: body.to_string() }
}
