//! Pages, revisions and proposals as stores keep them: a few indexed keys, one body, and a text beside it.
//!
//! A store knows no more of them than this, so each adapter is a handful of statements and all rules stay here. To add a
//! kind of record: a variant, its keys, and its line in [`Record::parse`].

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Page, PageMeta, Proposal, Revision, Scope, Subject, UnknownName, memory::names};

names! {
    /// Kinds of records.
    RecordKind {
        /// A page of the wiki.
        Page = "page",
        /// A revision of a page; written once.
        Revision = "revision",
        /// A proposal.
        Proposal = "proposal",
    }
}

/// A record of the wiki or of the review queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one at a time; a change has it in a box")]
pub enum Record {
    /// A page of the wiki.
    Page(Page),
    /// A revision of a page.
    Revision(Revision),
    /// A proposal.
    Proposal(Proposal),
}

/// What a store indexes of a record. What does not apply is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordKeys {
    /// Where it is: `live` or `deleted` for pages, the state of a proposal.
    pub state: &'static str,
    /// What it says it is: the kind of a proposal, the change of a revision.
    pub class: &'static str,
    /// What it belongs to: the page of a revision or of an edit, the memory that an update changes, the first memory of other
    /// proposals.
    pub of: Option<Uuid>,
    /// The number of a revision.
    pub number: u64,
    /// What lists go by: when a page or revision was approved, when a proposal was made.
    pub at: Timestamp,
    /// The slug's name, for lists of pages.
    pub slug: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// The agent run it belongs to.
    pub run: Option<String>,
    /// Who holds it, and until when.
    pub claim: Option<(String, Timestamp)>,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// Whether a risk was found.
    pub flagged: bool,
    /// Names under which it is found, each unique among the pages of its scope.
    pub names: Vec<String>,
    /// What it points to: `page:NAME` and `memory:ID`.
    pub refs: Vec<String>,
}

impl Record {
    /// Its id.
    pub fn id(&self) -> Uuid {
        match self {
            Self::Page(page) => page.id.0,
            Self::Revision(revision) => revision.id.0,
            Self::Proposal(proposal) => proposal.id.0,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> RecordKind {
        match self {
            Self::Page(_) => RecordKind::Page,
            Self::Revision(_) => RecordKind::Revision,
            Self::Proposal(_) => RecordKind::Proposal,
        }
    }

    /// Who may read it.
    pub fn scope(&self) -> &Scope {
        match self {
            Self::Page(page) => &page.scope,
            Self::Revision(revision) => &revision.scope,
            Self::Proposal(proposal) => &proposal.scope,
        }
    }

    /// What a write must name to replace it: the number of a page's head, the version of a proposal. A revision is written
    /// once.
    pub fn version(&self) -> u64 {
        match self {
            Self::Page(page) => page.number,
            Self::Revision(_) => 1,
            Self::Proposal(proposal) => proposal.version,
        }
    }

    /// The page, if it is one.
    pub fn page(self) -> Option<Page> {
        match self {
            Self::Page(page) => Some(page),
            Self::Revision(_) | Self::Proposal(_) => None,
        }
    }

    /// The revision, if it is one.
    pub fn revision(self) -> Option<Revision> {
        match self {
            Self::Revision(revision) => Some(revision),
            Self::Page(_) | Self::Proposal(_) => None,
        }
    }

    /// The proposal, if it is one.
    pub fn proposal(self) -> Option<Proposal> {
        match self {
            Self::Proposal(proposal) => Some(proposal),
            Self::Page(_) | Self::Revision(_) => None,
        }
    }

    /// What a store indexes.
    pub fn keys(&self) -> RecordKeys {
        match self {
            Self::Page(page) => RecordKeys {
                state: if page.meta.deleted { "deleted" } else { "live" },
                slug: Some(PageMeta::name_of(&page.meta.slug)),
                names: page.meta.names(),
                refs: page
                    .links
                    .iter()
                    .map(|name| format!("page:{name}"))
                    .chain(page.cites.iter().map(|id| format!("memory:{id}")))
                    .collect(),
                ..RecordKeys::at(page.updated_at)
            },
            Self::Revision(revision) => RecordKeys {
                class: revision.change.name(),
                of: Some(revision.page.0),
                number: revision.number,
                author: Some(revision.author.clone()),
                run: revision.run.clone(),
                ..RecordKeys::at(revision.at)
            },
            Self::Proposal(proposal) => RecordKeys {
                state: proposal.state.name(),
                class: proposal.subject.kind().name(),
                of: match &proposal.subject {
                    Subject::WikiEdit { page, .. } => Some(page.0),
                    Subject::MemoryQuarantine { updates: Some(updated), .. } => Some(updated.memory.0),
                    other => other.memories().first().map(|id| id.0),
                },
                author: Some(proposal.author.clone()),
                run: proposal.run.clone(),
                claim: proposal.claim.as_ref().map(|claim| (claim.by.clone(), claim.until)),
                decided_at: proposal.decision.as_ref().map(|decision| decision.at),
                flagged: !proposal.flags.is_empty(),
                refs: proposal.subject.memories().iter().map(|id| format!("memory:{id}")).collect(),
                ..RecordKeys::at(proposal.created_at)
            },
        }
    }

    /// What a store keeps: the record without its text, as JSON.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Page(page) => serde_json::to_string(page),
            Self::Revision(revision) => serde_json::to_string(revision),
            Self::Proposal(proposal) => serde_json::to_string(proposal),
        }
    }

    /// The record of a body.
    pub fn parse(kind: RecordKind, body: &str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            RecordKind::Page => Self::Page(serde_json::from_str(body)?),
            RecordKind::Revision => Self::Revision(serde_json::from_str(body)?),
            RecordKind::Proposal => Self::Proposal(serde_json::from_str(body)?),
        })
    }
}

impl RecordKeys {
    fn at(at: Timestamp) -> Self {
        Self {
            state: "",
            class: "",
            of: None,
            number: 0,
            at,
            slug: None,
            author: None,
            run: None,
            claim: None,
            decided_at: None,
            flagged: false,
            names: Vec::new(),
            refs: Vec::new(),
        }
    }
}
