//! The data directory: what lies in it, and how it is created, loaded and kept small.
//!
//! `lock` is held by the one process that may use it; `spaces.json` is written last, so a directory without it was not
//! finished; `points.json` says how much there must be; `shard/` belongs to the engine.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{ErrorKind, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use qdrant_edge::{Condition, CountRequest, EdgeShard, Filter as EngineFilter, external::serde_json};
use serde::{Deserialize, Serialize};

use super::{error::EdgeError, mapping};
use crate::ports::SpaceSpec;

/// One entry of `spaces.json`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct StoredSpace {
    name: String,
    dimension: usize,
}

/// Takes the directory for this process, for as long as the file lives.
pub(super) fn lock(dir: &Path) -> Result<File, EdgeError> {
    fs::create_dir_all(dir)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(dir.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EdgeError::InUse),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Loads what is there, or creates it where nothing is. The flag says that it was created.
pub(super) fn open(dir: &Path, spaces: &[SpaceSpec]) -> Result<(EdgeShard, bool), EdgeError> {
    match fs::read(manifest(dir)) {
        Ok(bytes) => {
            let stored: Vec<StoredSpace> = serde_json::from_slice(&bytes)
                .map_err(|error| EdgeError::Unreadable(format!("the list of spaces: {error}")))?;
            compare(stored, spaces)?;
            Ok((load(dir, spaces)?, false))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if shard(dir).exists() {
                return Err(EdgeError::Unreadable("the list of spaces is missing".to_owned()));
            }
            Ok((create(dir, spaces)?, true))
        }
        Err(error) => Err(EdgeError::Unreadable(format!("the list of spaces: {error}"))),
    }
}

/// Creates an empty shard over whatever is there.
pub(super) fn create(dir: &Path, spaces: &[SpaceSpec]) -> Result<EdgeShard, EdgeError> {
    remove_if_there(fs::remove_file(manifest(dir)))?;
    remove_if_there(fs::remove_file(points(dir)))?;
    remove_if_there(fs::remove_dir_all(shard(dir)))?;
    fs::create_dir_all(shard(dir))?;
    let created = guarded(|| {
        let created = EdgeShard::new(&shard(dir), mapping::config(spaces))?;
        mapping::field_indexes().try_for_each(|index| created.update(index))?;
        created.flush();
        Ok(created)
    })?;
    let unfinished = dir.join("spaces.json.new");
    let mut file = File::create(&unfinished)?;
    file.write_all(&serde_json::to_vec(&stored(spaces))?)?;
    file.sync_all()?;
    fs::rename(unfinished, manifest(dir))?;
    File::open(dir)?.sync_all()?;
    Ok(created)
}

/// Loads the shard, after cutting its log.
pub(super) fn load(dir: &Path, spaces: &[SpaceSpec]) -> Result<EdgeShard, EdgeError> {
    // Without segments the engine would make an empty shard and say nothing.
    let segments = fs::read_dir(shard(dir).join("segments"))
        .map(|entries| entries.flatten().any(|entry| entry.path().is_dir()))
        .map_err(|error| EdgeError::Unreadable(format!("segments: {error}")))?;
    if !segments {
        return Err(EdgeError::Unreadable("there are no segments".to_owned()));
    }
    cut_log(dir)?;
    let loaded = guarded(|| {
        let loaded = EdgeShard::load(&shard(dir), Some(mapping::config(spaces)))?;
        mapping::field_indexes().try_for_each(|index| loaded.update(index))?;
        let counts = counts(&loaded, spaces)?;
        Ok((loaded, counts))
    });
    let (loaded, there) = loaded.map_err(|error| EdgeError::Unreadable(error.to_string()))?;
    // The engine makes lost files anew, empty. Less than half is never the work of the few operations that a crash can
    // leave unflushed; and if it were, building anew would be right all the same.
    let noted = fs::read(points(dir)).ok().and_then(|bytes| serde_json::from_slice::<Vec<usize>>(&bytes).ok());
    match noted.filter(|noted| noted.iter().zip(&there).any(|(noted, there)| *there < noted / 2 + noted % 2)) {
        None => Ok(loaded),
        Some(noted) => {
            close(loaded);
            Err(EdgeError::Unreadable(format!("of {noted:?} vectors {there:?} are left")))
        }
    }
}

/// Notes how many vectors are durable in each space.
pub(super) fn note_points(dir: &Path, shard: &EdgeShard, spaces: &[SpaceSpec]) -> Result<(), EdgeError> {
    let unfinished = dir.join("points.json.new");
    fs::write(&unfinished, serde_json::to_vec(&counts(shard, spaces)?)?)?;
    Ok(fs::rename(unfinished, points(dir))?)
}

/// Vectors in each space, in the order of their names.
fn counts(shard: &EdgeShard, spaces: &[SpaceSpec]) -> Result<Vec<usize>, EdgeError> {
    let counts = stored(spaces).into_iter().map(|space| {
        let filter = Some(EngineFilter::new_must(Condition::HasVector(space.name.into())));
        shard.count(CountRequest { filter, exact: true })
    });
    Ok(counts.collect::<Result<_, _>>()?)
}

/// Bytes of closed log files.
pub(super) fn log_bytes(dir: &Path) -> u64 {
    closed_logs(dir).iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum()
}

/// Runs engine code, of which some panics instead of failing.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, EdgeError>) -> Result<T, EdgeError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(EdgeError::panicked(panic)))
}

/// Drops the shard; the engine flushes on drop, and panics where it cannot.
pub(super) fn close(shard: EdgeShard) {
    if let Err(error) = guarded(|| {
        drop(shard);
        Ok(())
    }) {
        tracing::warn!(error = %error, "the vector index could not be flushed when it was closed");
    }
}

/// Removes closed files of the engine's log. It never replays them (our outbox does), and never removes them either.
///
/// The last one stays: operation numbers go on from its end, and the engine skips operations whose number it has seen.
fn cut_log(dir: &Path) -> Result<(), EdgeError> {
    let mut closed = closed_logs(dir);
    closed.sort_unstable();
    closed.pop();
    closed.into_iter().try_for_each(|(_, path)| remove_if_there(fs::remove_file(path)))
}

fn closed_logs(dir: &Path) -> Vec<(u64, PathBuf)> {
    let Ok(entries) = fs::read_dir(shard(dir).join("wal")) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let start = entry.file_name().to_str()?.strip_prefix("closed-")?.parse().ok()?;
            Some((start, entry.path()))
        })
        .collect()
}

fn compare(mut stored: Vec<StoredSpace>, spaces: &[SpaceSpec]) -> Result<(), EdgeError> {
    stored.sort_unstable();
    let wanted = self::stored(spaces);
    if stored == wanted {
        return Ok(());
    }
    let name = |spaces: &[StoredSpace]| {
        let names: Vec<_> = spaces.iter().map(|space| format!("{} ({})", space.name, space.dimension)).collect();
        names.join(", ")
    };
    Err(EdgeError::Spaces { stored: name(&stored), wanted: name(&wanted) })
}

fn stored(spaces: &[SpaceSpec]) -> Vec<StoredSpace> {
    let mut stored: Vec<_> =
        spaces.iter().map(|space| StoredSpace { name: space.name.clone(), dimension: space.dimension }).collect();
    stored.sort_unstable();
    stored
}

fn remove_if_there(result: std::io::Result<()>) -> Result<(), EdgeError> {
    match result {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn manifest(dir: &Path) -> PathBuf {
    dir.join("spaces.json")
}

fn points(dir: &Path) -> PathBuf {
    dir.join("points.json")
}

fn shard(dir: &Path) -> PathBuf {
    dir.join("shard")
}
