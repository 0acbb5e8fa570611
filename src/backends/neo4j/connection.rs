//! Calls to the server: each with a deadline that holds for all of it, and a second try where one may help.
//!
//! Readers share a pool. Writers of this process queue for one connection; those of other processes meet at the `Store`
//! node. A transaction whose end is not known still holds that node on the server, so its connection is closed, never
//! handed on: the server then rolls it back.

use std::{future::Future, marker::PhantomData, time::Duration};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use neo4rs::{ConfigBuilder, Error as Driver, Graph, Query, Row, Txn};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use super::{error::Neo4jError, nodelay::Connections, settings::Neo4jSettings};

/// Rows asked for at once. Larger answers come in several.
const FETCH: usize = 1000;
/// Tries of one call. Deadlocks and elections are over by then, or the deadline is.
const TRIES: usize = 8;
/// Of Bolt, where an address names none.
const DEFAULT_PORT: u16 = 7687;

pub(super) struct Connection {
    url: String,
    settings: Neo4jSettings,
    readers: Graph,
    /// Taken while a transaction is under way, put back by an end of it that the server confirmed.
    writer: Mutex<Option<Graph>>,
    connections: Connections,
}

async fn read<T: DeserializeOwned>(graph: Graph, timeout: Duration, query: Query) -> Result<Vec<T>, Neo4jError> {
    let mut tries = Tries::within(timeout);
    loop {
        // The server stops working on it when nobody waits any longer.
        let query = query.clone().extra("tx_timeout", millis(tries.left()));
        match tries.in_time(read_once(&graph, query)).await {
            Ok(rows) => return Ok(rows),
            Err(error) => tries.again(error).await?,
        }
    }
}

async fn read_once<T: DeserializeOwned>(graph: &Graph, query: Query) -> Result<Vec<T>, Neo4jError> {
    let mut stream = graph.execute_read(query).await?;
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await? {
        rows.push(parse(&row)?);
    }
    Ok(rows)
}

/// What is done within one transaction. It may be done several times, each time from the start.
pub(super) trait Work: Sync {
    /// What it gives.
    type Done: Send;

    /// Does it.
    fn within(&self, transaction: &mut Transaction) -> impl Future<Output = Result<Self::Done, Neo4jError>> + Send;
}

impl Connection {
    pub(super) fn new(url: &str, settings: &Neo4jSettings) -> Result<Self, Neo4jError> {
        check(url)?;
        let readers = pool(url, settings, settings.connections)?;
        let connections = Connections::to(port(url));
        Ok(Self { url: url.to_owned(), settings: settings.clone(), readers, writer: Mutex::default(), connections })
    }

    /// The same server, with at least this much time for a call.
    pub(super) fn patient(&self, timeout: Duration) -> Result<Self, Neo4jError> {
        let timeout = timeout.max(self.settings.timeout);
        Self::new(&self.url, &Neo4jSettings { timeout, ..self.settings.clone() })
    }

    /// The rows that a reading statement gives. A caller that goes away does not stop it: cut off while the server makes its
    /// plan, the same statement would be late the next time too.
    pub(super) async fn read<T: DeserializeOwned + Send + 'static>(&self, query: Query) -> Result<Vec<T>, Neo4jError> {
        self.connections.send_at_once();
        let reading = tokio::spawn(read(self.readers.clone(), self.settings.timeout, query));
        reading.await.unwrap_or(Err(Neo4jError::Worker)).map_err(|error| self.explain(error))
    }

    /// Does `work` in one transaction, again from its start if that may help, and commits it. Nothing of it is written
    /// unless this returns `Ok`, or an error that leaves it open (a lost connection, a deadline).
    pub(super) async fn write<W: Work>(&self, work: &W) -> Result<W::Done, Neo4jError> {
        let mut tries = Tries::within(self.settings.timeout);
        loop {
            // Boxed: what drives a connection is large, and callers lie deep.
            match tries.in_time(Box::pin(self.write_once(work))).await {
                Ok(done) => return Ok(done),
                Err(error) => tries.again(self.explain(error)).await?,
            }
        }
    }

    async fn write_once<W: Work>(&self, work: &W) -> Result<W::Done, Neo4jError> {
        let mut writer = self.writer.lock().await;
        let graph = match writer.take() {
            Some(graph) => graph,
            None => pool(&self.url, &self.settings, 1)?,
        };
        let mut transaction = Transaction(graph.start_txn().await?);
        self.connections.send_at_once();
        match work.within(&mut transaction).await {
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
    }

    /// The rows that one writing statement gives.
    pub(super) async fn write_one<T: DeserializeOwned + Send>(&self, query: Query) -> Result<Vec<T>, Neo4jError> {
        self.write(&One { query, rows: PhantomData }).await
    }

    /// Runs a statement in a transaction of its own: the schema, which takes no other.
    pub(super) async fn run(&self, query: Query) -> Result<(), Neo4jError> {
        let mut tries = Tries::within(self.settings.timeout);
        loop {
            match tries.in_time(async { Ok(self.readers.run(query.clone()).await?) }).await {
                Ok(()) => return Ok(()),
                Err(error) => tries.again(self.explain(error)).await?,
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

/// The row of a statement that gives none.
#[derive(Deserialize)]
pub(super) struct Nothing {}

/// One statement as a transaction.
struct One<T> {
    query: Query,
    rows: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + Send> Work for One<T> {
    type Done = Vec<T>;

    async fn within(&self, transaction: &mut Transaction) -> Result<Vec<T>, Neo4jError> {
        transaction.rows(self.query.clone()).await
    }
}

/// The deadline of a call, and the waits between its tries.
struct Tries {
    timeout: Duration,
    deadline: Instant,
    waits: ExponentialBackoff,
}

impl Tries {
    fn within(timeout: Duration) -> Self {
        let waits = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(10))
            .with_max_delay(Duration::from_secs(1))
            .with_max_times(TRIES)
            .with_jitter()
            .build();
        Self { timeout, deadline: Instant::now() + timeout, waits }
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    async fn in_time<T>(&self, call: impl Future<Output = Result<T, Neo4jError>>) -> Result<T, Neo4jError> {
        let late = |_| Neo4jError::Late(self.timeout.as_millis());
        timeout_at(self.deadline, call).await.map_err(late)?
    }

    /// Waits a little before the next try, or gives the error back if none may help or none is left.
    async fn again(&mut self, error: Neo4jError) -> Result<(), Neo4jError> {
        match self.waits.next().filter(|wait| error.is_transient() && *wait < self.left()) {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            None => Err(error),
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

/// A scheme of ours and a host. A password in an address would be shown with it.
fn check(url: &str) -> Result<(), Neo4jError> {
    let (scheme, rest) = url.split_once("://").ok_or(Neo4jError::Address)?;
    let host = !rest.is_empty() && !rest.starts_with([':', '/', '?']) && !rest.contains('@');
    if host && Neo4jSettings::SCHEMES.contains(&scheme) { Ok(()) } else { Err(Neo4jError::Address) }
}

/// The port of a checked address.
fn port(url: &str) -> u16 {
    let authority = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(DEFAULT_PORT)
}

fn pool(url: &str, settings: &Neo4jSettings, connections: usize) -> Result<Graph, Neo4jError> {
    let mut config = ConfigBuilder::default()
        .uri(url)
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
