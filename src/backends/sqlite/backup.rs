//! A copy of the file for keeping, and its way back.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{archive::put_meta, error::SqliteError, schema};
use crate::ports::MetaRow;

/// Added to the name of the file that is about to take its place. It is there only while that goes on.
const RESTORING: &str = ".restoring";

/// Copies what `source` sees to `target`.
pub(super) fn backup(source: &Connection, target: &Path) -> Result<(), SqliteError> {
    if target.exists() {
        return Err(SqliteError::File("backup target", ErrorKind::AlreadyExists));
    }
    let partial = beside(target, ".partial");
    let copied = copy(source, &partial).and_then(|()| moved("backup target", &partial, target));
    if copied.is_err() {
        let _ = fs::remove_file(&partial);
    }
    copied
}

fn copy(source: &Connection, target: &Path) -> Result<(), SqliteError> {
    let mut copy = Connection::open(target)?;
    // All pages in one step: a step at a time starts again whenever another connection writes.
    if Backup::new(source, &mut copy)?.step(-1)? != StepResult::Done {
        return Err(SqliteError::File("backup copy", ErrorKind::ResourceBusy));
    }
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    schema::check(&copy, "integrity_check")?;
    copy.close().map_err(|(_, error)| SqliteError::Driver(error))?;
    File::open(target).and_then(|file| file.sync_all()).map_err(|error| SqliteError::File("backup copy", error.kind()))
}

/// See [`super::SqliteStore::restore`]; where the file that was there is now.
pub(super) fn restore(
    backup: &Path,
    target: &Path,
    keep: Option<&str>,
    note: &MetaRow,
) -> Result<Option<PathBuf>, SqliteError> {
    if target.exists() && keep.is_none() {
        return Err(SqliteError::File("restore target", ErrorKind::AlreadyExists));
    }
    let incoming = beside(target, ".incoming");
    remove(&incoming)?;
    if let Err(error) = prepare(backup, &incoming, note) {
        remove(&incoming)?;
        return Err(error);
    }
    // From here until the last line the file that would be opened is not to be trusted, and `refuse_unfinished` says so.
    moved("restored file", &incoming, &beside(target, RESTORING))?;
    let kept = match keep.filter(|_| target.exists()) {
        Some(keep) => Some(put_aside(target, keep)?),
        None => None,
    };
    moved("restored file", &beside(target, RESTORING), target)?;
    Ok(kept)
}

/// An error while a restore of this file is unfinished.
pub(super) fn refuse_unfinished(path: &Path) -> Result<(), SqliteError> {
    if beside(path, RESTORING).exists() { Err(SqliteError::HalfRestored) } else { Ok(()) }
}

/// A whole file of this program's format, with no log beside it.
fn prepare(backup: &Path, incoming: &Path, note: &MetaRow) -> Result<(), SqliteError> {
    if !backup.is_file() {
        return Err(SqliteError::File("backup", ErrorKind::NotFound));
    }
    let source = Connection::open_with_flags(backup, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::refuse_empty(&source)?;
    copy(&source, incoming)?;
    let mut restored = schema::open_writer(incoming)?;
    let transaction = restored.transaction()?;
    put_meta(&transaction, note)?;
    transaction.commit()?;
    restored.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    restored.close().map_err(|(_, error)| SqliteError::Driver(error))
}

/// The old log goes with the old file: beside the new one it would be taken for its own.
fn put_aside(target: &Path, keep: &str) -> Result<PathBuf, SqliteError> {
    let kept = beside(target, keep);
    fs::hard_link(target, &kept).map_err(|error| SqliteError::File("kept file", error.kind()))?;
    if beside(target, "-wal").exists() {
        moved("kept file", &beside(target, "-wal"), &beside(&kept, "-wal"))?;
    }
    remove(&beside(target, "-shm"))?;
    Ok(kept)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn remove(path: &Path) -> Result<(), SqliteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(SqliteError::File("old file", error.kind())),
        _ => Ok(()),
    }
}

/// Durable when it returns.
fn moved(what: &'static str, from: &Path, to: &Path) -> Result<(), SqliteError> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let renamed = || -> io::Result<()> {
        fs::rename(from, to)?;
        File::open(folder)?.sync_all()
    };
    renamed().map_err(|error| SqliteError::File(what, error.kind()))
}
