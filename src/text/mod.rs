//! Text as the rest of the service needs it: search terms, language, concepts, summaries, hashes.
//!
//! Pure functions over `&str`: nothing here knows stores, models or callers. Store and query go through the same
//! functions, so what they agree on is what is found. A change of [`terms`] or [`concept_key`] changes a stored format:
//! it needs a reindex. To add a script that writes without spaces: a row in [`script`]; a kind of mention: a finder in
//! [`mention`].

mod concept;
mod digest;
mod hash;
mod language;
mod lexicon;
mod mention;
mod normal;
mod script;
mod stop;
mod summary;
mod term;

pub use concept::{Labels, concept_key, subjects};
pub use digest::{Said, digest, joined};
pub use hash::content_hash;
pub use language::language;
pub use lexicon::{Found, Lexicon, Limits, Name};
pub use mention::{Mention, mentions, warm};
pub use summary::summary;
pub use term::{query_terms, terms};
