//! A page of the wiki and its revisions.
//!
//! A page is what its head revision says; every revision is kept, and only approved text becomes one. The text itself is
//! stored beside the records, since most readers of a list do not want it.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{MemoryId, PageId, PrincipalKind, ProposalId, RevisionId, Scope, UnknownName, memory::names};

names! {
    /// What a revision did to its page.
    PageChange {
        /// It is the first.
        Create = "create",
        /// It changed text, title, aliases or categories.
        Edit = "edit",
        /// It changed the slug; the old one leads here.
        Rename = "rename",
        /// It took the page away.
        Delete = "delete",
        /// It brought a deleted page back.
        Restore = "restore",
        /// It took an earlier revision back.
        Revert = "revert",
    }
}

/// Everything of a page but its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMeta {
    /// Its address, for example `ops/on-call`.
    pub slug: String,
    /// Its heading.
    pub title: String,
    /// Further slugs that lead to it, former ones among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Labels of the concepts it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// How the file it was imported from began, up to its text; an export writes it as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front: Option<String>,
    /// Whether it is gone; it can be brought back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

impl PageMeta {
    /// The form in which two spellings of a slug are the same page.
    pub fn name_of(slug: &str) -> String {
        slug.to_lowercase()
    }

    /// The names under which the page is found: slug and aliases, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in std::iter::once(&self.slug).chain(&self.aliases).map(|slug| Self::name_of(slug)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// A part of a page as recall knows it: a memory under one heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The memory.
    pub memory: MemoryId,
    /// Where it stands: the headings above it and its number below them.
    pub place: String,
    /// Its content hash; the same part of a later revision stays the same memory.
    pub hash: String,
}

/// A page as its head revision has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Its id, the same through every rename.
    pub id: PageId,
    /// Who may read it.
    pub scope: Scope,
    /// Slug, title, aliases, categories.
    pub meta: PageMeta,
    /// The revision readers see.
    pub head: RevisionId,
    /// The number of that revision; the first is 1.
    pub number: u64,
    /// Hash of what that revision says.
    pub content_hash: String,
    /// When it was first approved.
    pub created_at: Timestamp,
    /// When its head was approved.
    pub updated_at: Timestamp,
    /// Names of pages it links to, there or not.
    pub links: Vec<String>,
    /// Memories it cites.
    pub cites: Vec<MemoryId>,
    /// Its parts in recall.
    pub passages: Vec<Passage>,
}

/// Lines of a revision that came with one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameRun(
    /// Number of the revision they came with.
    pub u64,
    /// How many lines.
    pub u64,
);

/// One approved state of a page. Never changed once written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Its id.
    pub id: RevisionId,
    /// The page.
    pub page: PageId,
    /// Who may read it: the page's scope.
    pub scope: Scope,
    /// Its number, from 1.
    pub number: u64,
    /// The one before it.
    pub parent: Option<RevisionId>,
    /// What it did.
    pub change: PageChange,
    /// Slug, title, aliases, categories from then on.
    pub meta: PageMeta,
    /// When it was approved.
    pub at: Timestamp,
    /// Who wrote it.
    pub author: String,
    /// What stands behind the author.
    pub author_kind: PrincipalKind,
    /// Who approved it.
    pub approvers: Vec<String>,
    /// The approver who changed the text before it went live; the author's own is kept in the proposal.
    pub editor: Option<String>,
    /// The proposal it came from.
    pub proposal: Option<ProposalId>,
    /// The agent run it belongs to.
    pub run: Option<String>,
    /// Why, in the author's words.
    pub rationale: Option<String>,
    /// Memories that the author gave as evidence.
    pub evidence: Vec<MemoryId>,
    /// The revision it takes back.
    pub reverts: Option<RevisionId>,
    /// Hash of slug, title, aliases, categories and text.
    pub content_hash: String,
    /// Bytes of its text.
    pub size: u64,
    /// Which revision each of its lines came with, from the first line on. Kept with each revision, so that blame reads
    /// one record however long the history is.
    pub blame: Vec<BlameRun>,
}
