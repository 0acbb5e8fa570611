//! Calls to the server: each with a deadline that holds for all of it, and a second try where one may help.
//!
//! Readers share a pool. Writers of this process queue for one connection; those of other processes meet at the `Store`
//! node. A transaction whose end is not known still holds that node on the server, so its connection is closed, never
//! handed on: the server then rolls it back.

use std::{sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use neo4rs::{ConfigBuilder, Error as Driver, Graph, Query, Row, Txn};
use serde::de::DeserializeOwned;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use super::{error::Neo4jError, settings::Neo4jSettings};

/// Rows asked for at once. Larger answers come in several.
const FETCH: usize = 1000;
/// Tries of one call. Deadlocks and elections are over by then, or the deadline is.
const TRIES: usize = 8;

pub(super) struct Connection {
    settings: Neo4jSettings,
    readers: Graph,
    writer: Arc<Mutex<Option<Graph>>>,
}

impl Connection {
    pub(super) fn new(settings: &Neo4jSettings) -> Result<Self, Neo4jError> {
        let readers = pool(settings, settings.connections)?;
        Ok(Self { settings: settings.clone(), readers, writer: Arc::default() })
    }

    pub(super) fn settings(&self) -> &Neo4jSettings {
        &self.settings
    }

    /// The rows that a reading statement gives.
    pub(super) async fn read<T: DeserializeOwned>(&self, query: Query) -> Result<Vec<T>, Neo4jError> {
        self.in_time(async |deadline: Instant| {
            let left = deadline.saturating_duration_since(Instant::now());
            // The server stops working on it when nobody waits any longer.
            let query = query.clone().extra("tx_timeout", millis(left));
            let mut stream = self.readers.execute_read(query).await?;
            let mut rows = Vec::new();
            while let Some(row) = stream.next().await? {
                rows.push(parse(&row)?);
            }
            Ok(rows)
        })
        .await
    }

    /// Runs `work` in one transaction, again from its start if that may help, and commits it. Nothing of it is written
    /// unless this returns `Ok`, or an error that leaves it open (a lost connection, a deadline).
    pub(super) async fn write<T>(
        &self,
        work: impl AsyncFn(&mut Transaction) -> Result<T, Neo4jError>,
    ) -> Result<T, Neo4jError> {
        self.in_time(async |_| {
            let mut writer = self.writer.lock().await;
            // Put back only by an end that the server confirmed.
            let graph = match writer.take() {
                Some(graph) => graph,
                None => pool(&self.settings, 1)?,
            };
            let mut transaction = Transaction(graph.start_txn().await?);
            match work(&mut transaction).await {
                Ok(done) => {
                    transaction.0.commit().await?;
                    *writer = Some(graph);
                    Ok(done)
                }
                Err(error) => {
                    if transaction.0.rollback().await.is_ok() {
                        *writer = Some(graph);
                    }
                    Err(error)
                }
            }
        })
        .await
    }

    /// Runs a statement in a transaction of its own: the schema, which takes no other.
    pub(super) async fn run(&self, query: Query) -> Result<(), Neo4jError> {
        self.in_time(async |_| Ok(self.readers.run(query.clone()).await?)).await
    }

    async fn in_time<T>(&self, call: impl AsyncFn(Instant) -> Result<T, Neo4jError>) -> Result<T, Neo4jError> {
        let deadline = Instant::now() + self.settings.timeout;
        let mut waits = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(10))
            .with_max_delay(Duration::from_secs(1))
            .with_max_times(TRIES)
            .with_jitter()
            .build();
        loop {
            let error = match timeout_at(deadline, call(deadline)).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) => self.explain(error),
                Err(_) => return Err(Neo4jError::Late(self.settings.timeout.as_millis())),
            };
            match waits.next().filter(|_| error.is_transient()) {
                Some(wait) if Instant::now() + wait < deadline => tokio::time::sleep(wait).await,
                _ => return Err(error),
            }
        }
    }

    fn explain(&self, error: Neo4jError) -> Neo4jError {
        match error {
            Neo4jError::Driver(Driver::AuthenticationError(_)) => Neo4jError::Credentials(self.settings.user.clone()),
            Neo4jError::Driver(Driver::ConnectionTimedOut) => Neo4jError::Late(self.settings.timeout.as_millis()),
            error => error,
        }
    }
}

/// A transaction under way.
pub(super) struct Transaction(Txn);

impl Transaction {
    /// The rows that a statement gives.
    pub(super) async fn rows<T: DeserializeOwned>(&mut self, query: Query) -> Result<Vec<T>, Neo4jError> {
        let mut stream = self.0.execute(query).await?;
        let mut rows = Vec::new();
        while let Some(row) = stream.next(self.0.handle()).await? {
            rows.push(parse(&row)?);
        }
        Ok(rows)
    }

    /// A statement that gives nothing.
    pub(super) async fn run(&mut self, query: Query) -> Result<(), Neo4jError> {
        Ok(self.0.run(query).await?)
    }
}

fn parse<T: DeserializeOwned>(row: &Row) -> Result<T, Neo4jError> {
    Ok(row.to().map_err(Driver::DeserializationError)?)
}

fn pool(settings: &Neo4jSettings, connections: usize) -> Result<Graph, Neo4jError> {
    let mut config = ConfigBuilder::default()
        .uri(&settings.url)
        .user(&settings.user)
        .password(&settings.password)
        .max_connections(connections)
        .fetch_size(FETCH)
        .connection_timeout(settings.timeout);
    if !settings.database.is_empty() {
        config = config.db(settings.database.as_str());
    }
    Ok(Graph::connect(config.build()?)?)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1)
}
