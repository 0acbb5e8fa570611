//! Carries everything from an archive or a store into an empty store, and proves that it is there.
//!
//! A note in the target says how far it is, written in the same transaction as the rows: a move that was cut short goes on
//! where it was, and until it is done nothing else opens the target. Nothing is embedded: vectors are rows too.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{doctor::must_have_point, reindex};
use crate::{
    domain::{AsOf, IndexOp, Memory, MemoryId, NamedVector, Payload, Point, Visibility, cosine},
    ports::{
        Archive, ArchiveSource, GraphStore, MetaRow, Part, PortError, PortErrorKind, Row, RowPage, VectorIndex,
        VectorsRow,
    },
};

/// Rows carried together.
const PAGE: usize = 1000;
/// Key of the note in the target's settings.
const NOTE: &str = "moving";
/// Two vectors are the same from this cosine on: an index may scale what it keeps.
const SAME: f32 = 0.99999;

/// What keeps a move from being done.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The target holds something else.
    #[error("the target is not empty: it has {rows} {part}; name one that is")]
    NotEmpty {
        /// Of what.
        part: Part,
        /// How many.
        rows: u64,
    },
    /// The target holds a part of something else.
    #[error(
        "the target holds an unfinished move of something else, or its source has changed since; finish that one, or name an \
         empty target"
    )]
    AnotherMove,
    /// The source was written to.
    #[error("the source changed meanwhile; stop what writes to it, and run this again")]
    Changed,
    /// What arrived is not what was sent.
    #[error(
        "{part} differ after the move: {from} rows left the source, {to} arrived; empty the target and run this again"
    )]
    Differs {
        /// Of what.
        part: Part,
        /// Rows of the source.
        from: u64,
        /// Rows of the target.
        to: u64,
    },
    /// A store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// How many rows of each part were carried or read.
pub type Moved = Vec<(Part, u64)>;

/// A graph store with its vector index, as one source or target.
pub struct Whole<'a> {
    /// The memories.
    pub store: &'a dyn GraphStore,
    /// The same, row by row.
    pub archive: &'a dyn Archive,
    /// Their vectors; `None` leaves them out.
    pub index: Option<&'a dyn VectorIndex>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    source: String,
    /// What comes next; `None` when all was carried.
    next: Option<(Part, Option<String>)>,
    /// Whether it was also compared.
    done: bool,
}

#[async_trait]
impl ArchiveSource for Whole<'_> {
    async fn identity(&self) -> Result<String, PortError> {
        self.archive.identity().await
    }

    async fn count(&self, part: Part) -> Result<u64, PortError> {
        match (part, self.index) {
            (Part::Vectors, Some(index)) => Ok(index.count().await? as u64),
            _ => self.archive.count(part).await,
        }
    }

    async fn rows(&self, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, PortError> {
        match (part, self.index) {
            (Part::Vectors, Some(index)) => self.vectors(index, from, limit).await,
            _ => {
                let mut page = self.archive.rows(part, from, limit).await?;
                page.rows.retain(|row| !matches!(row, Row::Meta(meta) if is_of_the_store(&meta.key)));
                Ok(page)
            }
        }
    }
}

/// Whether a setting tells of the state of one store and its index rather than of the data.
fn is_of_the_store(key: &str) -> bool {
    [NOTE, reindex::MARK].contains(&key)
}

impl Whole<'_> {
    async fn vectors(&self, index: &dyn VectorIndex, from: Option<&str>, limit: usize) -> Result<RowPage, PortError> {
        let RowPage { rows, next } = self.archive.rows(Part::Memories, from, limit).await?;
        let memories: Vec<Memory> = rows
            .into_iter()
            .filter_map(|row| match row {
                Row::Memory(row) => Some(row.memory),
                _ => None,
            })
            .collect();
        let mut found = vectors_of(index, &memories).await?;
        let mut rows = Vec::with_capacity(memories.len());
        for memory in &memories {
            let vectors = found.remove(&memory.id).unwrap_or_default();
            if must_have_point(memory) && vectors.len() != memory.spaces.len() {
                let what = format!("the vectors of memory {} are missing; run `recollect doctor --repair`", memory.id);
                return Err(PortError::new(PortErrorKind::Mismatch, "vectors", "vectors", what));
            }
            if !vectors.is_empty() {
                rows.push(Row::Vectors(VectorsRow { memory: memory.id, vectors }));
            }
        }
        Ok(RowPage { rows, next })
    }

    /// Writes rows of one part and the note.
    async fn add(&self, rows: Vec<Row>, note: &str) -> Result<(), PortError> {
        let note = MetaRow { key: NOTE.to_owned(), value: note.to_owned() };
        if !matches!(rows.first(), Some(Row::Vectors(_))) {
            return self.archive.add_rows(&rows, &note).await;
        }
        let Some(index) = self.index else {
            return Err(PortError::new(PortErrorKind::Mismatch, "vectors", "add", "there is no index for vectors"));
        };
        let vectors: Vec<VectorsRow> = rows
            .into_iter()
            .filter_map(|row| match row {
                Row::Vectors(row) => Some(row),
                _ => None,
            })
            .collect();
        let ids: Vec<MemoryId> = vectors.iter().map(|row| row.memory).collect();
        let memories = self.store.memories(&ids, AsOf::default(), &Visibility::system("move vectors")).await?;
        let payloads: HashMap<MemoryId, Payload> =
            memories.iter().map(|memory| (memory.id, Payload::of(memory))).collect();
        let ops: Vec<IndexOp> = vectors
            .into_iter()
            .filter_map(|VectorsRow { memory, vectors }| {
                let payload = payloads.get(&memory)?.clone();
                Some(IndexOp::Upsert(Point { id: memory, vectors, payload }))
            })
            .collect();
        index.apply(&ops).await?;
        // The note must not outlive what it tells of.
        index.flush().await?;
        self.archive.add_rows(&[], &note).await
    }
}

/// The vectors of memories in the spaces they name, in the order they name them.
async fn vectors_of(
    index: &dyn VectorIndex,
    memories: &[Memory],
) -> Result<HashMap<MemoryId, Vec<NamedVector>>, PortError> {
    let everything = Visibility::system("move vectors");
    let spaces: BTreeSet<&String> = memories.iter().flat_map(|memory| &memory.spaces).collect();
    let mut by_space = HashMap::new();
    for space in spaces {
        let ids: Vec<MemoryId> =
            memories.iter().filter(|memory| memory.spaces.contains(space)).map(|memory| memory.id).collect();
        by_space.insert(space, index.vectors(space, &ids, &everything).await?);
    }
    let vectors = memories.iter().map(|memory| {
        let own = memory.spaces.iter().filter_map(|space| {
            let vector = by_space.get_mut(space)?.remove(&memory.id)?;
            Some(NamedVector { space: space.clone(), vector })
        });
        (memory.id, own.collect())
    });
    Ok(vectors.collect())
}

/// Whether a move into this store began and did not end: what is there is not to be served.
pub async fn move_was_interrupted(store: &dyn GraphStore) -> Result<bool, PortError> {
    let Some(note) = store.meta(NOTE).await? else { return Ok(false) };
    Ok(!serde_json::from_str::<Note>(&note).is_ok_and(|note| note.done))
}

/// Reads every row of `parts`, in order; `take` gets them part by part. `Changed` if the source was written to meanwhile.
pub async fn read_all<E: From<MoveError>>(
    from: &dyn ArchiveSource,
    parts: &[Part],
    mut take: impl AsyncFnMut(Part, Vec<Row>) -> Result<(), E>,
) -> Result<Moved, E> {
    let identity = from.identity().await.map_err(MoveError::from)?;
    let mut moved = Moved::new();
    for &part in parts {
        let (mut rows, mut place) = (0, None);
        loop {
            let page = from.rows(part, place.as_deref(), PAGE).await.map_err(MoveError::from)?;
            rows += page.rows.len() as u64;
            take(part, page.rows).await?;
            place = page.next;
            if place.is_none() {
                break;
            }
        }
        moved.push((part, rows));
    }
    if from.identity().await.map_err(MoveError::from)? != identity {
        return Err(MoveError::Changed.into());
    }
    Ok(moved)
}

/// Carries `parts` of `from` into `to`, goes on where an earlier try stopped, and then compares both sides; one
/// that is done already is only compared. `progress` is told
/// rows done and in all; each row is carried and compared.
pub async fn carry(
    from: &dyn ArchiveSource,
    to: &Whole<'_>,
    parts: &[Part],
    mut progress: impl FnMut(u64, u64),
) -> Result<Moved, MoveError> {
    let identity = from.identity().await?;
    let mut sizes = Vec::new();
    for &part in parts {
        sizes.push(from.count(part).await?);
    }
    let total = 2 * sizes.iter().sum::<u64>();
    let begun = begin(&identity, to).await?;
    let mut done = 0;
    for (at, (&part, &size)) in parts.iter().zip(&sizes).enumerate() {
        let (carried, mut place) = match &begun {
            None => (false, None),
            Some(Note { next: None, .. }) => (true, None),
            Some(Note { next: Some((next, place)), .. }) => (part < *next, place.clone().filter(|_| part == *next)),
        };
        let end = done + size;
        if carried {
            done = end;
            continue;
        }
        loop {
            let RowPage { rows, next } = from.rows(part, place.as_deref(), PAGE).await?;
            done = (done + rows.len() as u64).min(end);
            let follows = match &next {
                Some(_) => Some((part, next.clone())),
                None => parts.get(at + 1).map(|later| (*later, None)),
            };
            to.add(rows, &text(&Note { source: identity.clone(), next: follows, done: false })?).await?;
            progress(done, total);
            place = next;
            if place.is_none() {
                break;
            }
        }
        done = end;
    }
    let moved = match compare(from, to, parts, |rows| progress((done + rows).min(total), total)).await {
        // The same move was done before, and the target has been written to since.
        Err(MoveError::Differs { part, to: rows, .. }) if begun.is_some_and(|note| note.done) => {
            return Err(MoveError::NotEmpty { part, rows });
        }
        moved => moved?,
    };
    if from.identity().await? != identity {
        return Err(MoveError::Changed);
    }
    to.add(Vec::new(), &text(&Note { source: identity, next: None, done: true })?).await?;
    Ok(moved)
}

fn text(note: &Note) -> Result<String, PortError> {
    serde_json::to_string(note).map_err(|error| PortError::new(PortErrorKind::Internal, "moving", "note", error))
}

/// Where an earlier try stopped; `None` for a target that is empty.
async fn begin(identity: &str, to: &Whole<'_>) -> Result<Option<Note>, MoveError> {
    if let Some(earlier) = to.store.meta(NOTE).await? {
        let mut note: Note = serde_json::from_str(&earlier).map_err(|_| MoveError::AnotherMove)?;
        if note.source == identity {
            // An index that lost what it had is filled anew.
            if let (Some((Part::Vectors, from)), Some(index)) = (&mut note.next, to.index)
                && index.count().await? == 0
            {
                *from = None;
            }
            return Ok(Some(note));
        }
        if !note.done {
            return Err(MoveError::AnotherMove);
        }
    }
    for &part in Part::ALL.iter().filter(|part| **part != Part::Meta) {
        let rows = to.count(part).await?;
        if rows > 0 {
            return Err(MoveError::NotEmpty { part, rows });
        }
    }
    Ok(None)
}

/// Number and sum of rows, whatever their order: the SHA-256 of each, added up.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    words: [u64; 4],
}

impl Sum {
    fn add(&mut self, row: &Row) -> Result<(), PortError> {
        let json = serde_json::to_vec(row)
            .map_err(|error| PortError::new(PortErrorKind::Internal, "moving", "compare", error))?;
        self.rows += 1;
        let hash: [u8; 32] = Sha256::digest(&json).into();
        for (word, bytes) in self.words.iter_mut().zip(hash.as_chunks::<8>().0) {
            *word = word.wrapping_add(u64::from_le_bytes(*bytes));
        }
        Ok(())
    }
}

/// Reads both sides and compares them; an error names the first part that differs.
async fn compare(
    from: &dyn ArchiveSource,
    to: &Whole<'_>,
    parts: &[Part],
    mut progress: impl FnMut(u64),
) -> Result<Moved, MoveError> {
    let (mut moved, mut done) = (Moved::new(), 0);
    for &part in parts {
        let mut sent = Sum::default();
        let (mut place, mut lost) = (None, 0);
        loop {
            let page = from.rows(part, place.as_deref(), PAGE).await?;
            for row in &page.rows {
                sent.add(row)?;
            }
            if let (Part::Vectors, Some(index)) = (part, to.index) {
                lost += unlike(index, &page.rows).await?;
            }
            done += page.rows.len() as u64;
            progress(done);
            place = page.next;
            if place.is_none() {
                break;
            }
        }
        let arrived = match part {
            // Compared one by one above: an index may round.
            Part::Vectors if lost > 0 => Sum { rows: sent.rows - lost, words: sent.words },
            Part::Vectors => Sum { rows: to.count(part).await?, words: sent.words },
            _ => sum(to, part).await?,
        };
        if arrived != sent {
            return Err(MoveError::Differs { part, from: sent.rows, to: arrived.rows });
        }
        moved.push((part, sent.rows));
    }
    Ok(moved)
}

async fn sum(of: &Whole<'_>, part: Part) -> Result<Sum, PortError> {
    let (mut sum, mut place) = (Sum::default(), None);
    loop {
        let page = of.rows(part, place.as_deref(), PAGE).await?;
        for row in &page.rows {
            sum.add(row)?;
        }
        place = page.next;
        if place.is_none() {
            return Ok(sum);
        }
    }
}

/// How many of these memories have other vectors in the index.
async fn unlike(index: &dyn VectorIndex, rows: &[Row]) -> Result<u64, PortError> {
    let everything = Visibility::system("compare vectors after a move");
    let sent: Vec<&VectorsRow> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Vectors(row) => Some(row),
            _ => None,
        })
        .collect();
    let spaces: BTreeSet<&String> =
        sent.iter().flat_map(|row| row.vectors.iter().map(|vector| &vector.space)).collect();
    let ids: Vec<MemoryId> = sent.iter().map(|row| row.memory).collect();
    let mut there = HashMap::new();
    for space in spaces {
        there.insert(space, index.vectors(space, &ids, &everything).await?);
    }
    let same = |memory: MemoryId, sent: &NamedVector| {
        let arrived = there.get(&sent.space).and_then(|space| space.get(&memory));
        arrived.is_some_and(|arrived| arrived.len() == sent.vector.len() && cosine(arrived, &sent.vector) >= SAME)
    };
    let unlike = sent.iter().filter(|row| !row.vectors.iter().all(|vector| same(row.memory, vector)));
    Ok(unlike.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_tells_rows_apart_and_not_their_order() {
        let row = |key: &str| Row::Meta(MetaRow { key: key.to_owned(), value: String::new() });
        let sum = |keys: &[&str]| {
            let mut sum = Sum::default();
            keys.iter().for_each(|key| sum.add(&row(key)).unwrap());
            sum
        };
        assert_eq!(sum(&["a", "b"]), sum(&["b", "a"]));
        assert_ne!(sum(&["a", "a"]), sum(&["b", "b"]));
        assert_ne!(sum(&["a"]), sum(&["a", "a"]));
    }
}
