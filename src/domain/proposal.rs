//! A proposal: something that waits until a person says yes or no, and everything that was said of it.
//!
//! Moves between states are methods that take the proposal and give it back moved, or say that there is no such way. Each
//! leaves a line in [`Proposal::moves`]. Who may make a move is the review room's business, not decided here.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Caller, MemoryId, Op, PageChange, PageId, PageMeta, PrincipalKind, ProposalId, Record, RevisionId, Scope,
    UnknownName, memory::names,
};

names! {
    /// What is proposed.
    ProposalKind {
        /// A page of the wiki is created, edited, renamed, deleted or brought back.
        WikiEdit = "wiki_edit",
        /// A memory waits to be let in.
        MemoryQuarantine = "memory_quarantine",
        /// Two memories that cannot both hold.
        MemoryConflict = "memory_conflict",
        /// Several memories that say the same.
        MemoryMerge = "memory_merge",
        /// A vocabulary of an ontology is imported.
        OntologyChange = "ontology_change",
    }
}

names! {
    /// Where a proposal is.
    ProposalState {
        /// Waiting for a decision.
        Pending = "pending",
        /// Back with its author.
        ChangesRequested = "changes_requested",
        /// The page moved and both changed the same place; waits for a resolution.
        Conflicted = "conflicted",
        /// Taken; what it says is live.
        Approved = "approved",
        /// Turned down, with a reason.
        Rejected = "rejected",
        /// Taken back by its author.
        Withdrawn = "withdrawn",
        /// Another one took its place, or it is there already.
        Superseded = "superseded",
        /// Nobody decided in time.
        Expired = "expired",
        /// It was live and was taken back.
        Reverted = "reverted",
    }
}

impl ProposalState {
    /// Whether a decision is still to come.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::ChangesRequested | Self::Conflicted)
    }

    /// The states in which a decision is still to come.
    pub fn open() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|state| state.is_open()).collect()
    }
}

names! {
    /// What a reviewer should look at twice.
    RiskKind {
        /// No evidence is given.
        NoEvidence = "no_evidence",
        /// Evidence that is not there, or that readers of the page may not see.
        BrokenEvidence = "broken_evidence",
        /// Links to a page that is not there.
        BrokenLink = "broken_link",
        /// Cites a memory that is not there, or that readers of the page may not see.
        BrokenCitation = "broken_citation",
        /// Takes a citation away.
        RemovesCitation = "removes_citation",
        /// Takes away more than 30 % of the page or the vocabulary.
        LargeDeletion = "large_deletion",
        /// Text that a reader of the page does not see: zero-width characters, HTML comments, hidden elements.
        HiddenText = "hidden_text",
        /// Characters that change the order in which text is read.
        BidiText = "bidi_text",
        /// Words that mix scripts or look like others.
        Homoglyphs = "homoglyphs",
        /// Another page says nearly the same.
        DuplicatePage = "duplicate_page",
        /// The page or the ontologies have moved since it was written.
        StaleBase = "stale_base",
        /// The page is protected.
        ProtectedPage = "protected_page",
        /// The guard found something.
        GuardHit = "guard_hit",
        /// Takes terms of a vocabulary away.
        RemovesTerms = "removes_terms",
        /// Breaks a rule that memories must keep.
        BrokenRule = "broken_rule",
    }
}

/// A risk and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskFlag {
    /// What it is.
    pub kind: RiskKind,
    /// Where, in a few words.
    pub detail: String,
}

names! {
    /// Why a proposal was turned down.
    RejectReason {
        /// It is wrong.
        Incorrect = "incorrect",
        /// Nothing bears it out.
        Unsupported = "unsupported",
        /// It is there already.
        Duplicate = "duplicate",
        /// It does not belong there.
        OutOfScope = "out_of_scope",
        /// It is badly written.
        Style = "style",
        /// It must not be said.
        Policy = "policy",
        /// It is harmful or was planted.
        Harmful = "harmful",
        /// Something else; the note says what.
        Other = "other",
    }
}

/// The revision that an edit was written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The revision.
    pub revision: RevisionId,
    /// Its number.
    pub number: u64,
}

/// What a proposal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A page as it should be. Its text is kept beside the record.
    WikiEdit {
        /// The page; made with the proposal for a new one.
        page: PageId,
        /// Where the page lives or will live.
        page_scope: Scope,
        /// The revision it was written on; none for a new page.
        base: Option<Base>,
        /// What it does.
        change: PageChange,
        /// Slug, title, aliases, categories as they should be.
        meta: PageMeta,
    },
    /// A memory to let in, and the links that are made then.
    MemoryQuarantine {
        /// The memory, quarantined until then.
        memory: MemoryId,
        /// Memories it caused.
        causes: Vec<MemoryId>,
        /// Memories that caused it.
        caused_by: Vec<MemoryId>,
        /// Memories it replaces.
        supersedes: Vec<MemoryId>,
        /// The memory that it is a new text of; what it says goes there then, under the id that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updates: Option<Updated>,
    },
    /// Two memories, of which one must give way.
    MemoryConflict {
        /// The earlier one.
        older: MemoryId,
        /// The later one.
        newer: MemoryId,
    },
    /// Memories of which one survives.
    MemoryMerge {
        /// At least two.
        memories: Vec<MemoryId>,
    },
    /// A file of terms. Its text is kept beside the record.
    OntologyChange(OntologyImport),
}

/// A memory that somebody wants to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Updated {
    /// The memory.
    pub memory: MemoryId,
    /// The revision that the new text was written on.
    pub revision: u64,
}

/// A file that somebody wants to be imported, and what that would have changed when it was proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OntologyImport {
    /// The vocabulary that it is.
    pub vocabulary: String,
    /// Its name, without a folder.
    pub file: String,
    /// For a table: how it is read.
    pub mapping: Option<String>,
    /// Number of the version in force then.
    pub base: u64,
    /// Terms that would come in.
    pub new: u64,
    /// Terms that would become others.
    pub changed: u64,
    /// Terms that would go.
    pub removed: u64,
}

impl Subject {
    /// What kind of proposal it makes.
    pub fn kind(&self) -> ProposalKind {
        match self {
            Self::WikiEdit { .. } => ProposalKind::WikiEdit,
            Self::MemoryQuarantine { .. } => ProposalKind::MemoryQuarantine,
            Self::MemoryConflict { .. } => ProposalKind::MemoryConflict,
            Self::MemoryMerge { .. } => ProposalKind::MemoryMerge,
            Self::OntologyChange(_) => ProposalKind::OntologyChange,
        }
    }

    /// The memories it is about.
    pub fn memories(&self) -> Vec<MemoryId> {
        match self {
            Self::WikiEdit { .. } | Self::OntologyChange(_) => Vec::new(),
            Self::MemoryQuarantine { memory, updates, .. } => {
                std::iter::once(*memory).chain(updates.map(|updated| updated.memory)).collect()
            }
            Self::MemoryConflict { older, newer } => vec![*older, *newer],
            Self::MemoryMerge { memories } => memories.clone(),
        }
    }
}

/// A reviewer's hold on a proposal, for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who.
    pub by: String,
    /// Until then, exclusive.
    pub until: Timestamp,
}

/// A yes to exactly these bytes on exactly this head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Who.
    pub by: String,
    /// The groups of theirs that the page asks for.
    pub groups: Vec<String>,
    /// When.
    pub at: Timestamp,
    /// Hash of what was read.
    pub content_hash: String,
}

/// What somebody said of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// What.
    pub text: String,
    /// The line of the proposed text it is about, from 1.
    pub line: Option<u64>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Who decided last.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// For a rejection.
    pub reason: Option<RejectReason>,
    /// In the reviewer's words.
    pub note: Option<String>,
    /// Whether the reviewer changed the text before it went live.
    pub edited: bool,
    /// The revision it became.
    pub revision: Option<RevisionId>,
    /// The memory that was chosen or let in.
    pub memory: Option<MemoryId>,
    /// The version of the ontologies that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What it did to memories, for whoever takes it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<MemoryBefore>,
    /// Memories that the later one of a conflict no longer contradicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicted: Vec<MemoryId>,
}

impl Decision {
    /// A decision of which nothing is said yet.
    pub fn of(by: &str, at: Timestamp, note: Option<String>) -> Self {
        Self {
            by: by.to_owned(),
            at,
            reason: None,
            note,
            edited: false,
            revision: None,
            memory: None,
            version: None,
            before: Vec::new(),
            contradicted: Vec::new(),
        }
    }
}

/// A memory as a decision found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBefore {
    /// The memory.
    pub memory: MemoryId,
    /// Its revision.
    pub revision: u64,
    /// True in the world until then.
    pub valid_to: Option<Timestamp>,
}

/// One move from state to state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// From which state; none for the first.
    pub from: Option<ProposalState>,
    /// To which.
    pub to: ProposalState,
    /// Why.
    pub why: Option<String>,
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// Who, besides the right to review, it takes to see it: members of the group for things of a group, else no more.
    pub scope: Scope,
    /// Grows with each change; a change names the one it was made on.
    pub version: u64,
    /// What it is about.
    pub subject: Subject,
    /// Where it is.
    pub state: ProposalState,
    /// Who proposed it.
    pub author: String,
    /// What stands behind the author.
    pub author_kind: PrincipalKind,
    /// Who answers for the author, if it is an agent.
    pub owner: Option<String>,
    /// The agent run it belongs to.
    pub run: Option<String>,
    /// Why.
    pub rationale: Option<String>,
    /// Memories that bear it out.
    pub evidence: Vec<MemoryId>,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Hash of what it says.
    pub content_hash: String,
    /// What to look at twice.
    pub flags: Vec<RiskFlag>,
    /// Who holds it.
    pub claim: Option<Claim>,
    /// Yeses to what it says now.
    pub approvals: Vec<Approval>,
    /// What was said of it.
    pub comments: Vec<Comment>,
    /// How it ended.
    pub decision: Option<Decision>,
    /// Every move, oldest first.
    pub moves: Vec<Move>,
}

/// There is no way from this state to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is {from}, which cannot become {to}")]
pub struct InvalidTransition {
    /// Where it is.
    pub from: ProposalState,
    /// Where it should go.
    pub to: ProposalState,
}

/// Who moves a proposal, and when and why.
#[derive(Debug, Clone, Copy)]
pub struct Mover<'a> {
    /// Who.
    pub by: &'a str,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Option<&'a str>,
}

/// Who proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Its name.
    pub name: String,
    /// What stands behind it.
    pub kind: PrincipalKind,
    /// Who answers for it, if it is an agent.
    pub owner: Option<String>,
}

impl Author {
    /// A caller as an author.
    pub fn of(caller: &Caller) -> Self {
        Self { name: caller.principal.clone(), kind: caller.kind, owner: caller.owner.clone() }
    }
}

impl Proposal {
    /// A new one, pending, about something of `scope`, without reasons or risks so far.
    pub fn open(
        id: ProposalId,
        subject: Subject,
        scope: &Scope,
        author: Author,
        content_hash: String,
        at: Timestamp,
    ) -> Self {
        let first = Move { at, by: author.name.clone(), from: None, to: ProposalState::Pending, why: None };
        Self {
            id,
            // Private things wait for anybody with the right to review: that is what a review asks for.
            scope: match scope {
                Scope::Shared(_) => scope.clone(),
                Scope::Private(_) | Scope::Global => Scope::Global,
            },
            version: 1,
            subject,
            state: ProposalState::Pending,
            author: author.name,
            author_kind: author.kind,
            owner: author.owner,
            run: None,
            rationale: None,
            evidence: Vec::new(),
            created_at: at,
            updated_at: at,
            content_hash,
            flags: Vec::new(),
            claim: None,
            approvals: Vec::new(),
            comments: Vec::new(),
            decision: None,
            moves: vec![first],
        }
    }

    /// Who holds it at `now`; a claim that ran out holds nothing.
    pub fn held(&self, now: Timestamp) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| now < claim.until)
    }

    /// Held by `claim` from now on. The same reviewer renews; another one's claim must have run out.
    pub fn claimed(self, claim: Claim, now: Timestamp) -> Result<Self, InvalidTransition> {
        if !matches!(self.state, ProposalState::Pending | ProposalState::Conflicted)
            || self.held(now).is_some_and(|held| held.by != claim.by)
        {
            return Err(InvalidTransition { from: self.state, to: ProposalState::Pending });
        }
        Ok(Self { claim: Some(claim), ..self }.changed(now))
    }

    /// The operation that writes it in place of the version it was made from, 0 for a new one.
    pub fn put(self, expected_version: u64) -> Op {
        Op::PutRecord { record: Box::new(Record::Proposal(self)), text: None, expected_version }
    }

    /// Held by nobody.
    pub fn released(self, now: Timestamp) -> Self {
        Self { claim: None, ..self }.changed(now)
    }

    /// With a further comment.
    pub fn commented(mut self, comment: Comment) -> Self {
        let at = comment.at;
        self.comments.push(comment);
        self.changed(at)
    }

    /// With a further yes, in place of an earlier one of the same reviewer and of yeses to other bytes.
    pub fn with_approval(mut self, approval: Approval) -> Result<Self, InvalidTransition> {
        if self.state != ProposalState::Pending && self.state != ProposalState::Conflicted {
            return Err(InvalidTransition { from: self.state, to: ProposalState::Approved });
        }
        let at = approval.at;
        self.approvals.retain(|other| other.by != approval.by && other.content_hash == approval.content_hash);
        self.approvals.push(approval);
        Ok(Self { claim: None, ..self }.changed(at))
    }

    /// Says something else now: yeses and hold are gone, and it waits for a decision again.
    pub fn revised(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Conflicted, Pending};
        let new = Self { approvals: Vec::new(), claim: None, ..self };
        new.moved(&[Pending, ChangesRequested, Conflicted], Pending, mover)
    }

    /// Taken.
    pub fn approved(self, decision: Decision, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{Approved, Conflicted, Pending};
        let new = Self { decision: Some(decision), claim: None, ..self };
        new.moved(&[Pending, Conflicted], Approved, mover)
    }

    /// Turned down.
    pub fn rejected(self, decision: Decision, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Conflicted, Pending, Rejected};
        let new = Self { decision: Some(decision), claim: None, ..self };
        new.moved(&[Pending, ChangesRequested, Conflicted], Rejected, mover)
    }

    /// Back to its author.
    pub fn changes_requested(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Conflicted, Pending};
        Self { claim: None, approvals: Vec::new(), ..self }.moved(&[Pending, Conflicted], ChangesRequested, mover)
    }

    /// Found to clash with what the page says by now.
    pub fn conflicted(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        Self { approvals: Vec::new(), ..self }.moved(&[ProposalState::Pending], ProposalState::Conflicted, mover)
    }

    /// Taken back by its author.
    pub fn withdrawn(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Conflicted, Pending, Withdrawn};
        Self { claim: None, ..self }.moved(&[Pending, ChangesRequested, Conflicted], Withdrawn, mover)
    }

    /// Another one took its place, or the page says it already.
    pub fn superseded(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Conflicted, Pending, Superseded};
        Self { claim: None, ..self }.moved(&[Pending, ChangesRequested, Conflicted], Superseded, mover)
    }

    /// Nobody decided in time.
    pub fn expired(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Conflicted, Expired, Pending};
        Self { claim: None, ..self }.moved(&[Pending, ChangesRequested, Conflicted], Expired, mover)
    }

    /// What it made live was taken back.
    pub fn reverted(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        self.moved(&[ProposalState::Approved], ProposalState::Reverted, mover)
    }

    /// A rejection or a request for changes is taken back.
    pub fn reopened(self, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        use ProposalState::{ChangesRequested, Pending, Rejected};
        Self { decision: None, ..self }.moved(&[Rejected, ChangesRequested], Pending, mover)
    }

    fn moved(mut self, from: &[ProposalState], to: ProposalState, mover: Mover<'_>) -> Result<Self, InvalidTransition> {
        if !from.contains(&self.state) {
            return Err(InvalidTransition { from: self.state, to });
        }
        let (by, why) = (mover.by.to_owned(), mover.why.map(str::to_owned));
        self.moves.push(Move { at: mover.at, by, from: Some(self.state), to, why });
        Ok(Self { state: to, ..self }.changed(mover.at))
    }

    fn changed(self, at: Timestamp) -> Self {
        Self { version: self.version + 1, updated_at: at, ..self }
    }
}
