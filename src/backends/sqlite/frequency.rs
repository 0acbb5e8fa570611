//! Which terms of a long question are worth asking for.
//!
//! A pasted conversation has a hundred terms, and most of its time goes to the common ones: each memory that has one must
//! be scored, though by BM25 it gains little from it. How common a term is, is remembered for a while; a stale number
//! changes which terms are asked for, never how an answer is scored.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use lru::LruCache;
use rusqlite::Connection;

use super::{error::SqliteError, read::quoted};

/// A question of up to so many terms is asked whole.
const ASKED_WHOLE: usize = 16;
/// A longer one is asked with its rarest terms, at least [`ASKED_WHOLE`] and more while together they are in at most so
/// many memories, each counted as often as it is met.
const MET: i64 = 8000;
/// Terms remembered; a common one costs most to count and is met most often.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(20_000).expect("not zero");
/// A number is counted anew when the store has grown by this factor since.
const STALE_AFTER: f64 = 1.2;

/// See the module.
pub(super) struct Frequencies(Mutex<LruCache<String, Counted>>);

#[derive(Clone, Copy)]
struct Counted {
    memories: i64,
    /// Memories in the store at that time.
    of: i64,
}

impl Frequencies {
    pub fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }

    /// Those of `terms`, all distinct, that are asked for, in their order.
    pub fn telling(&self, connection: &Connection, terms: Vec<String>) -> Result<Vec<String>, SqliteError> {
        if terms.len() <= ASKED_WHOLE {
            return Ok(terms);
        }
        let total: i64 = connection
            .prepare_cached("SELECT total(memories) FROM scope")?
            .query_row([], |row| row.get::<_, f64>(0))? as i64;
        let mut by_rarity = Vec::with_capacity(terms.len());
        for (place, term) in terms.iter().enumerate() {
            by_rarity.push((self.memories_with(connection, term, total)?, place));
        }
        by_rarity.sort_unstable();
        let mut met = 0;
        let mut kept: Vec<usize> = by_rarity
            .into_iter()
            .enumerate()
            .take_while(|(rank, (memories, _))| {
                met += memories;
                *rank < ASKED_WHOLE || met <= MET
            })
            .map(|(_, (_, place))| place)
            .collect();
        kept.sort_unstable();
        Ok(kept.into_iter().map(|place| terms[place].clone()).collect())
    }

    fn memories_with(&self, connection: &Connection, term: &str, total: i64) -> Result<i64, SqliteError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(term).copied();
        if let Some(known) = known.filter(|known| total as f64 <= known.of as f64 * STALE_AFTER) {
            return Ok(known.memories);
        }
        let memories = connection
            .prepare_cached("SELECT count(*) FROM memory_terms WHERE memory_terms MATCH ?1")?
            .query_row([format!("terms : {}", quoted(term))], |row| row.get(0))?;
        let counted = Counted { memories, of: total };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(term.to_owned(), counted);
        Ok(memories)
    }
}
