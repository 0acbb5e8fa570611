//! Who is asking, and what they may do.
//!
//! A `Caller` comes from `auth` (a token) or from the command line (the operator of the data folder). Rights are a closed
//! list: to add one, a variant and a row in [`Right::ALL`].

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Scope, UnknownName, Visibility};

/// What stands behind a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// A person.
    Human,
    /// A language-model agent; it can never hold [`Right::ReviewDecide`].
    Agent,
    /// Another program.
    Service,
}

impl PrincipalKind {
    /// The name used in tokens and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Service => "service",
        }
    }
}

impl FromStr for PrincipalKind {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        [Self::Human, Self::Agent, Self::Service]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| UnknownName::new(text, &["human", "agent", "service"]))
    }
}

/// One thing a principal may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Right {
    /// Read memories within its visibility.
    #[serde(rename = "memory:read")]
    MemoryRead,
    /// Store, update and link memories.
    #[serde(rename = "memory:write")]
    MemoryWrite,
    /// Forget memories.
    #[serde(rename = "memory:forget")]
    MemoryForget,
    /// Store into the global scope.
    #[serde(rename = "memory:global")]
    MemoryGlobal,
    /// Propose wiki edits.
    #[serde(rename = "wiki:propose")]
    WikiPropose,
    /// Read the review queue.
    #[serde(rename = "review:read")]
    ReviewRead,
    /// Decide in the review queue; never an agent.
    #[serde(rename = "review:decide")]
    ReviewDecide,
    /// Import ontologies.
    #[serde(rename = "ontology:import")]
    OntologyImport,
    /// Everything, tokens and jobs included.
    #[serde(rename = "admin")]
    Admin,
}

impl Right {
    /// Every right with the name it has in tokens.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::MemoryRead, "memory:read"),
        (Self::MemoryWrite, "memory:write"),
        (Self::MemoryForget, "memory:forget"),
        (Self::MemoryGlobal, "memory:global"),
        (Self::WikiPropose, "wiki:propose"),
        (Self::ReviewRead, "review:read"),
        (Self::ReviewDecide, "review:decide"),
        (Self::OntologyImport, "ontology:import"),
        (Self::Admin, "admin"),
    ];

    /// The name used in tokens.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(right, _)| *right == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Right {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|(_, name)| *name == text)
            .map(|(right, _)| right)
            .ok_or_else(|| UnknownName::new(text, &Self::ALL.map(|(_, name)| name)))
    }
}

/// An authenticated principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name; the owner of what it stores privately.
    pub principal: String,
    /// What stands behind it.
    pub kind: PrincipalKind,
    /// Groups whose shared memories it reads and writes.
    pub groups: BTreeSet<String>,
    /// What it may do.
    pub rights: BTreeSet<Right>,
    /// The person who answers for it, if it is an agent: that person does not decide on what it proposes.
    pub owner: Option<String>,
}

impl Caller {
    /// The person who runs the command line on the data folder: every right, no group.
    pub fn operator(principal: &str) -> Self {
        Self {
            principal: principal.to_owned(),
            kind: PrincipalKind::Human,
            groups: BTreeSet::new(),
            rights: Right::ALL.into_iter().map(|(right, _)| right).collect(),
            owner: None,
        }
    }

    /// Whether it holds `right`, itself or through [`Right::Admin`]. An agent never decides reviews, whatever it holds.
    pub fn may(&self, right: Right) -> bool {
        if right == Right::ReviewDecide && self.kind == PrincipalKind::Agent {
            return false;
        }
        self.rights.contains(&right) || self.rights.contains(&Right::Admin)
    }

    /// What it may read: its own, its groups' and the global records.
    pub fn visibility(&self) -> Visibility {
        let mut keys: BTreeSet<String> = self.groups.iter().map(|group| Scope::Shared(group.clone()).key()).collect();
        keys.insert(self.private_scope().key());
        keys.insert(Scope::Global.key());
        Visibility::of_keys(keys)
    }

    /// The scope of its private records.
    pub fn private_scope(&self) -> Scope {
        Scope::Private(self.principal.clone())
    }
}
