//! Opening a file: checks, settings and migrations.
//!
//! To change the schema: a new file in `migrations`, one line in [`MIGRATIONS`]; landed ones are never edited.

use std::{fs, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};

use super::{backup, error::SqliteError};

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_start.sql"),
    include_str!("migrations/0002_history.sql"),
    include_str!("migrations/0003_event_memory.sql"),
    include_str!("migrations/0004_change_log.sql"),
    include_str!("migrations/0005_change_reason.sql"),
    include_str!("migrations/0006_types.sql"),
    include_str!("migrations/0007_wiki.sql"),
    include_str!("migrations/0008_ontology.sql"),
];

/// Marks the file as ours ("reco").
const APPLICATION_ID: i32 = 0x7265_636f;
const BUSY: Duration = Duration::from_secs(5);

/// Opens or creates the file, brings it to this program's format and checks that it is whole.
pub(super) fn open_writer(path: &Path) -> Result<Connection, SqliteError> {
    backup::refuse_unfinished(path)?;
    refuse_lost_main_file(path)?;
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    identify(&connection)?;
    check(&connection, "quick_check")?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
         PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;",
    )?;
    migrate(&mut connection)?;
    prepare(&connection)?;
    Ok(connection)
}

/// One more connection to a file that a writer has opened; it cannot write.
pub(super) fn open_reader(path: &Path) -> Result<Connection, SqliteError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch(
        "PRAGMA query_only = ON; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 268435456;",
    )?;
    prepare(&connection)?;
    Ok(connection)
}

/// `quick_check` or `integrity_check`: an error unless the file is whole.
pub(super) fn check(connection: &Connection, pragma: &'static str) -> Result<(), SqliteError> {
    let verdict: String = connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(damaged)?;
    if verdict == "ok" { Ok(()) } else { Err(SqliteError::Damaged(format!("{pragma} failed"))) }
}

fn prepare(connection: &Connection) -> Result<(), SqliteError> {
    connection.set_prepared_statement_cache_capacity(128);
    // Without this guarantee SQLite compiles a statement with a range again each time another value is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    rusqlite::vtab::array::load_module(connection)?;
    Ok(())
}

/// SQLite throws a write-ahead log away when the main file is empty; what the log holds would be lost without a word.
fn refuse_lost_main_file(path: &Path) -> Result<(), SqliteError> {
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if size(path) == 0 && size(Path::new(&log)) > 0 {
        return Err(SqliteError::Damaged("the main file is empty beside a write-ahead log".to_owned()));
    }
    Ok(())
}

/// An empty file opens as a new store; as a backup it is none.
pub(super) fn refuse_empty(connection: &Connection) -> Result<(), SqliteError> {
    identify(connection)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(damaged)?;
    if tables == 0 { Err(SqliteError::Damaged("it is empty".to_owned())) } else { Ok(()) }
}

fn identify(connection: &Connection) -> Result<(), SqliteError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(damaged);
    let (version, application) = (pragma("user_version")?, pragma("application_id")?);
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(damaged);
    if version == 0 && count("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(());
    }
    if application != i64::from(APPLICATION_ID) {
        return Err(SqliteError::Foreign);
    }
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if version > known {
        return Err(SqliteError::Newer { found: version, known });
    }
    if count("SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'memory', 'change')")? != 3 {
        return Err(SqliteError::Damaged("tables are missing".to_owned()));
    }
    Ok(())
}

/// All in one transaction, so that two processes that start together migrate once and a crash leaves the old format.
fn migrate(connection: &mut Connection) -> Result<(), SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(())
}

fn damaged(error: rusqlite::Error) -> SqliteError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(NotADatabase) => SqliteError::Damaged("not a database".to_owned()),
        Some(DatabaseCorrupt) => SqliteError::Damaged("malformed".to_owned()),
        _ => SqliteError::Driver(error),
    }
}
