//! The data directory: what lies in it, and how it is created, loaded and kept small.
//!
//! `lock` is held by the one process that may use it. Each shard, which belongs to the engine, has a folder of its own
//! with a file beside it that says how much there must be and, from a stop to the next start, one with the checksums of
//! its files. `spaces.json` names the shard that serves; it is written last
//! and at once, so one being built is nothing until it is whole, and [`tidy`] removes what is not named.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{ErrorKind, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use qdrant_edge::{Condition, CountRequest, EdgeShard, Filter as EngineFilter, external::serde_json};
use serde::{Deserialize, Serialize};

use super::{error::EdgeError, mapping};
use crate::ports::SpaceSpec;

/// A shard's place in the directory.
#[derive(Debug, Clone)]
pub(super) struct Place {
    dir: PathBuf,
    name: String,
}

impl Place {
    fn shard(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    fn points(&self) -> PathBuf {
        self.dir.join(format!("{}.points.json", self.name))
    }

    fn seal(&self) -> PathBuf {
        self.dir.join(format!("{}.seal.json", self.name))
    }
}

/// `spaces.json`. Before there could be two shards it was the list alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Manifest {
    Named { shard: String, spaces: Vec<StoredSpace> },
    List(Vec<StoredSpace>),
}

/// One entry of the list.
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

/// Loads what is there, or creates it where nothing is.
pub(super) fn open(dir: &Path, spaces: &[SpaceSpec]) -> Result<(EdgeShard, Place), EdgeError> {
    let manifest = match fs::read(manifest(dir)) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| EdgeError::Unreadable(format!("the list of spaces: {error}")))?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if shards(dir).next().is_some() {
                return Err(EdgeError::Unreadable("the list of spaces is missing".to_owned()));
            }
            let (created, place) = create(dir, spaces)?;
            name(&place, spaces)?;
            return Ok((created, place));
        }
        Err(error) => return Err(EdgeError::Unreadable(format!("the list of spaces: {error}"))),
    };
    let (name, stored) = match manifest {
        Manifest::Named { shard, spaces } => (shard, spaces),
        Manifest::List(spaces) => ("shard".to_owned(), spaces),
    };
    compare(stored, spaces)?;
    let place = Place { dir: dir.to_owned(), name };
    let loaded = load(&place, spaces)?;
    tidy(dir, &[&place]);
    Ok((loaded, place))
}

/// Creates an empty shard that nothing names yet.
pub(super) fn create(dir: &Path, spaces: &[SpaceSpec]) -> Result<(EdgeShard, Place), EdgeError> {
    let number = shards(dir).filter_map(|name| Some(name.strip_prefix("shard-")?.parse::<u64>().ok()? + 1)).max();
    let name = match number {
        None if shards(dir).next().is_none() => "shard".to_owned(),
        number => format!("shard-{}", number.unwrap_or(1)),
    };
    let place = Place { dir: dir.to_owned(), name };
    remove_if_there(fs::remove_file(place.points()))?;
    remove_if_there(fs::remove_file(place.seal()))?;
    fs::create_dir_all(place.shard())?;
    let created = guarded(|| {
        let created = EdgeShard::new(&place.shard(), mapping::config(spaces))?;
        mapping::field_indexes().try_for_each(|index| created.update(index))?;
        created.flush();
        Ok(created)
    })?;
    Ok((created, place))
}

/// Makes `place` the one that is loaded from now on: at once, and durable when it returns.
pub(super) fn name(place: &Place, spaces: &[SpaceSpec]) -> Result<(), EdgeError> {
    let named = Manifest::Named { shard: place.name.clone(), spaces: stored(spaces) };
    let unfinished = place.dir.join("spaces.json.new");
    let mut file = File::create(&unfinished)?;
    file.write_all(&serde_json::to_vec(&named)?)?;
    file.sync_all()?;
    fs::rename(unfinished, manifest(&place.dir))?;
    Ok(File::open(&place.dir)?.sync_all()?)
}

/// Removes every shard but those in `keep`. What cannot be removed costs space and nothing else.
pub(super) fn tidy(dir: &Path, keep: &[&Place]) {
    for name in shards(dir).filter(|name| keep.iter().all(|kept| kept.name != *name)) {
        remove(&Place { dir: dir.to_owned(), name });
    }
}

/// Removes a shard that nobody has open.
pub(super) fn remove(place: &Place) {
    let removed = [fs::remove_dir_all(place.shard()), fs::remove_file(place.points()), fs::remove_file(place.seal())];
    let removed = removed.into_iter().try_for_each(remove_if_there);
    if let Err(error) = removed {
        tracing::warn!(%error, shard = place.name, "an old part of the vector index could not be removed");
    }
}

/// Names of the shards that are in the directory, whole or not.
fn shards(dir: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    entries.filter_map(|entry| entry.file_name().into_string().ok().filter(|name| name.starts_with("shard")))
}

/// Loads the shard, after cutting its log.
pub(super) fn load(place: &Place, spaces: &[SpaceSpec]) -> Result<EdgeShard, EdgeError> {
    // Without segments the engine would make an empty shard and say nothing.
    let segments = fs::read_dir(place.shard().join("segments"))
        .map(|entries| entries.flatten().any(|entry| entry.path().is_dir()))
        .map_err(|error| EdgeError::Unreadable(format!("segments: {error}")))?;
    if !segments {
        return Err(EdgeError::Unreadable("there are no segments".to_owned()));
    }
    break_seal(place)?;
    cut_log(place)?;
    let loaded = guarded(|| {
        let loaded = EdgeShard::load(&place.shard(), Some(mapping::config(spaces)))?;
        mapping::field_indexes().try_for_each(|index| loaded.update(index))?;
        let counts = counts(&loaded, spaces)?;
        Ok((loaded, counts))
    });
    let (loaded, there) = loaded.map_err(|error| EdgeError::Unreadable(error.to_string()))?;
    // The engine makes lost files anew, empty. Less than half is never the work of the few operations that a crash can
    // leave unflushed; and if it were, building anew would be right all the same.
    let noted = fs::read(place.points()).ok().and_then(|bytes| serde_json::from_slice::<Vec<usize>>(&bytes).ok());
    match noted.filter(|noted| noted.iter().zip(&there).any(|(noted, there)| *there < noted / 2 + noted % 2)) {
        None => Ok(loaded),
        Some(noted) => {
            close(loaded);
            Err(EdgeError::Unreadable(format!("of {noted:?} vectors {there:?} are left")))
        }
    }
}

/// Length and CRC-32C of each file of a shard, by its path in it.
type Sums = BTreeMap<String, (u64, u32)>;

/// Notes what the files of a shard hold that was closed, so that the next start sees whether anything happened to them:
/// the engine itself would not notice a flipped bit in a vector.
pub(super) fn seal(place: &Place) {
    let sealed = sums(&place.shard()).and_then(|sums| fs::write(place.seal(), serde_json::to_vec(&sums)?));
    if let Err(error) = sealed {
        // The next start looks less closely, as after a kill.
        tracing::warn!(%error, "the files of the vector index could not be noted");
    }
}

/// Compares the files with the seal, if the last process could leave one, and removes it: the files change from now on.
fn break_seal(place: &Place) -> Result<(), EdgeError> {
    let sealed: Sums = match fs::read(place.seal()) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| EdgeError::Unreadable(format!("the list of checksums: {error}")))?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let found = sums(&place.shard())?;
    match sealed.iter().find(|(path, sum)| found.get(*path) != Some(sum)) {
        Some((path, _)) => Err(EdgeError::Unreadable(format!("{path} is not what it was when it was closed"))),
        None => remove_if_there(fs::remove_file(place.seal())),
    }
}

/// Of every file but the log, which is never replayed.
fn sums(shard: &Path) -> std::io::Result<Sums> {
    let mut sums = Sums::new();
    let mut folders = vec![shard.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if path != shard.join("wal") {
                    folders.push(path);
                }
                continue;
            }
            let (mut file, mut bytes) = (File::open(&path)?, vec![0; 1 << 18]);
            let (mut length, mut sum) = (0, 0);
            loop {
                let read = file.read(&mut bytes)?;
                if read == 0 {
                    break;
                }
                sum = crc32c::crc32c_append(sum, &bytes[..read]);
                length += read as u64;
            }
            let name = path.strip_prefix(shard).unwrap_or(&path).to_string_lossy().into_owned();
            sums.insert(name, (length, sum));
        }
    }
    Ok(sums)
}

/// Notes how many vectors are durable in each space.
pub(super) fn note_points(place: &Place, shard: &EdgeShard, spaces: &[SpaceSpec]) -> Result<(), EdgeError> {
    let unfinished = place.points().with_extension("new");
    fs::write(&unfinished, serde_json::to_vec(&counts(shard, spaces)?)?)?;
    Ok(fs::rename(unfinished, place.points())?)
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
pub(super) fn log_bytes(place: &Place) -> u64 {
    closed_logs(place).iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum()
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
fn cut_log(place: &Place) -> Result<(), EdgeError> {
    let mut closed = closed_logs(place);
    closed.sort_unstable();
    closed.pop();
    closed.into_iter().try_for_each(|(_, path)| remove_if_there(fs::remove_file(path)))
}

fn closed_logs(place: &Place) -> Vec<(u64, PathBuf)> {
    let Ok(entries) = fs::read_dir(place.shard().join("wal")) else { return Vec::new() };
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
