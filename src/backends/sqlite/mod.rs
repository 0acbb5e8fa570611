//! The embedded store: one SQLite file that is the graph, the keyword index, the outbox, the tokens and the journal.
//!
//! Blocking code lives in the files below and takes a `&Connection`; this file gives it the one async coat. One writer, a
//! few readers; each port method is one transaction, so a reader sees one moment. Statements are constants beside the
//! code that runs them; only values are bound.
//!
//! To add a port method: a function in `read`, `apply` or a file of its own, and a line in the port's file.

mod apply;
mod archive;
mod backup;
mod browse;
mod error;
mod frequency;
mod graph_store;
mod journal;
mod neighbourhood;
mod ontology;
mod read;
mod review;
mod rows;
mod schema;
mod token_store;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::{error::SqliteError, frequency::Frequencies};
use crate::ports::{MetaRow, PortError};

const READERS: usize = 4;

/// A file with everything in it. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Pool,
    readers: Pool,
    frequencies: Arc<Frequencies>,
}

impl SqliteStore {
    /// Opens the file, or creates it where there is none (its folder must exist). Checks that it is whole and brings an
    /// older format up to date.
    ///
    /// `Corrupt` for a damaged file, `Mismatch` for one of a newer program or of another program; neither is touched.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, PortError> {
        let path = path.into();
        blocking("open", move || {
            let writer = Pool::of(vec![schema::open_writer(&path)?]);
            let readers = (0..READERS).map(|_| schema::open_reader(&path)).collect::<Result<_, _>>()?;
            let frequencies = Arc::new(Frequencies::new());
            Ok(Self { path, writer, readers: Pool::of(readers), frequencies })
        })
        .await
    }

    /// Copies the file as it is at one moment to `target`, while reads and writes go on, and checks the copy. The copy is
    /// one file that [`Self::open`] opens. An existing file is not replaced.
    pub async fn backup_to(&self, target: impl Into<PathBuf>) -> Result<(), PortError> {
        let target = target.into();
        self.read("backup", move |source| backup::backup(source, &target)).await
    }

    /// Puts a copy of `backup`, checked and brought to this program's format, at `target`, which nobody may have open. With
    /// `keep`, a file that is there is kept under its name with `keep` added; without, it is an error. `note` is set in the
    /// copy. A restore that was cut short is told by the next [`Self::open`].
    pub async fn restore(
        backup: impl Into<PathBuf>,
        target: impl Into<PathBuf>,
        keep: Option<String>,
        note: MetaRow,
    ) -> Result<Option<PathBuf>, PortError> {
        let (backup, target) = (backup.into(), target.into());
        blocking("restore", move || backup::restore(&backup, &target, keep.as_deref(), &note)).await
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a reader, in one read transaction.
    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, PortError> {
        let lease = self.readers.lease().await;
        blocking(operation, move || {
            let transaction = lease.connection()?.unchecked_transaction()?;
            work(&transaction)
        })
        .await
    }

    /// Runs `work` on the writer. A caller that goes away does not stop it.
    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, PortError> {
        let mut lease = self.writer.lease().await;
        blocking(operation, move || work(lease.connection_mut()?)).await
    }
}

async fn blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, SqliteError> + Send + 'static,
) -> Result<T, PortError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(SqliteError::Worker))
        .map_err(|error| PortError::from((operation, error)))
}

/// Connections that wait without blocking a thread.
#[derive(Clone)]
struct Pool {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Pool {
    fn of(connections: Vec<Connection>) -> Self {
        Self { permits: Arc::new(Semaphore::new(connections.len())), idle: Arc::new(Mutex::new(connections)) }
    }

    async fn lease(&self) -> Lease {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lease { connection, idle: Arc::clone(&self.idle), _permit: permit }
    }
}

/// A connection on loan; it goes back when dropped, after a panic too. The permit is freed after that.
struct Lease {
    connection: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    fn connection(&self) -> Result<&Connection, SqliteError> {
        self.connection.as_ref().ok_or(SqliteError::Worker)
    }

    fn connection_mut(&mut self) -> Result<&mut Connection, SqliteError> {
        self.connection.as_mut().ok_or(SqliteError::Worker)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
