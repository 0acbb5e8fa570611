//! Who may read what.
//!
//! Every record has a [`Scope`]; every reading port method takes a [`Visibility`]. Only a `Caller` yields one, or
//! [`Visibility::system`] with a reason.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

/// Where a record lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "scope", content = "name")]
pub enum Scope {
    /// Seen by one principal.
    Private(String),
    /// Seen by the members of one group.
    Shared(String),
    /// Seen by everyone.
    Global,
}

impl Scope {
    /// The key that stores and indexes filter by: `private:USER`, `group:NAME` or `global`.
    pub fn key(&self) -> String {
        match self {
            Self::Private(user) => format!("private:{user}"),
            Self::Shared(group) => format!("group:{group}"),
            Self::Global => "global".to_owned(),
        }
    }

    /// The name the interfaces use: `private`, `shared` or `global`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Private(_) => "private",
            Self::Shared(_) => "shared",
            Self::Global => "global",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}

/// The set of scope keys a reader may see. Stores put it inside each query, at each hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visibility(Seen);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Everything { reason: &'static str },
    Keys(BTreeSet<String>),
}

impl Visibility {
    /// Everything, for work of the service itself (re-indexing, migrating, the doctor). The reason is for the reader of
    /// the calling code and for the log.
    pub fn system(reason: &'static str) -> Self {
        Self(Seen::Everything { reason })
    }

    /// Exactly one scope: what lives in `scope` and nothing else.
    pub fn only(scope: &Scope) -> Self {
        Self(Seen::Keys(BTreeSet::from([scope.key()])))
    }

    pub(super) fn of_keys(keys: BTreeSet<String>) -> Self {
        Self(Seen::Keys(keys))
    }

    /// The keys to filter by; `None` means no filter (system work).
    pub fn keys(&self) -> Option<&BTreeSet<String>> {
        match &self.0 {
            Seen::Everything { .. } => None,
            Seen::Keys(keys) => Some(keys),
        }
    }

    /// Whether a record under this scope key may be seen.
    pub fn sees(&self, key: &str) -> bool {
        self.keys().is_none_or(|keys| keys.contains(key))
    }
}
