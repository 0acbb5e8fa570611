//! Identifiers: newtypes over UUIDs, so that the id of one record cannot be taken for another's.
//!
//! New ids are made by the `Clock` port, never here. To add one: a line in the macro call at the bottom.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is not a UUID in its hyphenated or simple form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("id is not a UUID")]
pub struct InvalidId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Uuid::try_parse(text).map(Self).map_err(|_| InvalidId)
            }
        }
    )+};
}

ids! {
    /// A memory; also its point id in the vector index. UUIDv7, so ids sort by the time of recording.
    MemoryId,
    /// A raw event.
    EventId,
    /// A concept; UUIDv5 of its key, so that two instances name the same concept alike.
    ConceptId,
    /// A change set; applying the same one twice changes nothing.
    ChangeId,
    /// A page of the wiki.
    PageId,
    /// A revision of a page.
    RevisionId,
    /// A proposal in the review queue.
    ProposalId,
}
