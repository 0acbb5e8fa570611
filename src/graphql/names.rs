//! The closed lists of the schema. Each has the values of a list of the domain, in capitals; a test compares them.

use async_graphql::{Enum, Scalar, ScalarType};
use serde::{Deserialize, Serialize};

macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident as $shown:literal { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Enum, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[graphql(name = $shown)]
        pub(super) enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        #[cfg(test)]
        impl $name {
            const NAMES: &'static [&'static str] = &[$($text),+];
        }
    )+};
}

enums! {
    /// The layer a memory lives in.
    Kind as "MemoryKind" {
        /// Bound to a session, short-lived.
        Working = "working",
        /// What happened.
        Episodic = "episodic",
        /// What is known.
        Semantic = "semantic",
        /// What was learnt from doing.
        Reflective = "reflective",
        /// What went wrong and must not again.
        Warning = "warning",
    }

    /// What a memory says.
    MemoryType as "MemoryType" {
        /// A statement about the world.
        Fact = "fact",
        /// What somebody likes or wants.
        Preference = "preference",
        /// A regularity.
        Pattern = "pattern",
        /// A statement that replaces an earlier one.
        Correction = "correction",
        /// A rule to keep.
        Constraint = "constraint",
        /// How something is done.
        Procedure = "procedure",
        /// Something that happened.
        Event = "event",
        /// A conclusion.
        Insight = "insight",
    }

    /// Where a memory's claim comes from; sets the confidence it starts with.
    Source as "MemorySource" {
        /// A person said so.
        UserExplicit = "user_explicit",
        /// The agent saw it.
        Observed = "observed",
        /// The agent concluded it.
        Inferred = "inferred",
        /// A document says so.
        Document = "document",
    }

    /// Where a memory is in its life.
    Status as "MemoryStatus" {
        /// In force.
        Active = "active",
        /// Replaced by a newer memory.
        Superseded = "superseded",
        /// Kept, not recalled by default.
        Archived = "archived",
        /// Waiting for a person; never recalled.
        Quarantined = "quarantined",
    }

    /// Whether a lesson was borne out.
    Verification as "Verification" {
        /// Not yet tested.
        Unverified = "unverified",
        /// Borne out.
        Verified = "verified",
        /// Found wrong and put right.
        Corrected = "corrected",
    }

    /// Who may read a memory.
    Scope as "Scope" {
        /// Its principal alone.
        Private = "private",
        /// The members of one group.
        Shared = "shared",
        /// Everyone.
        Global = "global",
    }

    /// What an edge says of its two ends.
    EdgeKind as "EdgeKind" {
        /// A memory to the one before it in its session.
        SameSession = "SAME_SESSION",
        /// A memory to the one before it in its task.
        SameTask = "SAME_TASK",
        /// The newer to the older that it replaces.
        Supersedes = "SUPERSEDES",
        /// Cause to effect.
        Causes = "CAUSES",
        /// Similar, or said to belong together.
        Supplements = "SUPPLEMENTS",
        /// A conclusion or summary to what it came from.
        DerivedFrom = "DERIVED_FROM",
        /// Two that cannot both hold.
        Contradicts = "CONTRADICTS",
        /// A memory to the concept it is about.
        About = "ABOUT",
        /// A memory to a concept that its text names.
        Mentions = "MENTIONS",
        /// A concept to a broader one.
        Broader = "BROADER",
        /// Two concepts that belong together.
        Related = "RELATED",
    }

    /// An edge that can be made by hand.
    LinkKind as "LinkKind" {
        /// Cause to effect.
        Causes = "CAUSES",
        /// The newer to the older that it replaces; the older is retired.
        Supersedes = "SUPERSEDES",
        /// Two that belong together.
        Supplements = "SUPPLEMENTS",
    }

    /// Which way edges are followed.
    Direction as "Direction" {
        /// Along the arrow.
        Out = "out",
        /// Against it.
        In = "in",
        /// Either way.
        Both = "both",
    }

    /// Which arms of the search answer.
    Mode as "RecallMode" {
        /// Meaning and words, fused.
        Hybrid = "hybrid",
        /// Meaning alone.
        Semantic = "semantic",
        /// Words alone.
        Keyword = "keyword",
        /// The latest.
        Recent = "recent",
        /// Hybrid, and what is reached from the best through the graph.
        Associative = "associative",
    }

    /// How a recall is given.
    Format as "RecallFormat" {
        /// As records.
        Items = "items",
        /// As records, and as a block of text for a prompt.
        Prompt = "prompt",
    }

    /// How to forget.
    Forgetting as "ForgetStrategy" {
        /// Removed from every copy.
        Delete = "delete",
        /// Importance and confidence are halved.
        Decay = "decay",
        /// Kept, no longer recalled.
        Archive = "archive",
    }

    /// How far a stored memory is.
    StoreState as "StoreState" {
        /// Durable, found by keyword and by meaning.
        Indexed = "indexed",
        /// Durable, found by keyword; the vector index has still to take it.
        PendingIndex = "pending_index",
        /// Durable in the journal; written when the store is back.
        Queued = "queued",
    }

    /// What a mutation did.
    Outcome as "Outcome" {
        /// A new memory.
        Stored = "stored",
        /// The same was known; its counter went up.
        Refreshed = "refreshed",
        /// A new memory that adds to near neighbours.
        Supplemented = "supplemented",
        /// A new memory that replaces older ones.
        Superseded = "superseded",
        /// Waiting for a person.
        Quarantined = "quarantined",
        /// Not taken; the reason says why.
        Refused = "refused",
        /// Below the importance threshold; the reason says so.
        Dropped = "dropped",
        /// Accepted and durable, written when the store is back.
        Queued = "queued",
        /// Fields were changed.
        Updated = "updated",
        /// Memories were forgotten.
        Forgotten = "forgotten",
        /// An edge was made.
        Linked = "linked",
        /// A record was made.
        Created = "created",
        /// A vote was noted.
        Voted = "voted",
        /// An event was kept.
        Observed = "observed",
        /// A token opens nothing any longer.
        Revoked = "revoked",
        /// A job ran to its end.
        Done = "done",
        /// It waits for a person now.
        Proposed = "proposed",
        /// It says something else now, and waits again.
        Revised = "revised",
        /// Its author took it back.
        Withdrawn = "withdrawn",
        /// The caller holds it.
        Claimed = "claimed",
        /// There was none to claim.
        Empty = "empty",
        /// Nobody holds it.
        Released = "released",
        /// It is live.
        Approved = "approved",
        /// The yes is noted; more must approve.
        ApprovalNoted = "approval_noted",
        /// It is turned down.
        Rejected = "rejected",
        /// It is back with its author.
        ChangesRequested = "changes_requested",
        /// A comment is kept.
        Commented = "commented",
        /// The clash is resolved; it waits for a decision again.
        Resolved = "resolved",
        /// The decision is taken back; it waits again.
        Reopened = "reopened",
        /// What was live is taken back.
        Reverted = "reverted",
        /// Nothing was done; code and message say why.
        Failed = "failed",
    }

    /// What a change did to a memory.
    Effect as "MemoryEffect" {
        /// It was stored.
        Created = "created",
        /// Fields of it changed.
        Updated = "updated",
        /// It was replaced by a newer one.
        Superseded = "superseded",
        /// It was put aside.
        Archived = "archived",
        /// It was stored again or returned; its counter went up.
        Refreshed = "refreshed",
        /// An edge to or from it was made.
        Linked = "linked",
        /// Somebody said whether it helped.
        Voted = "voted",
        /// It was removed.
        Forgotten = "forgotten",
    }

    /// What a raw event reports.
    EventKind as "EventKind" {
        /// Work on a task began.
        TaskStarted = "task_started",
        /// A tool was called.
        ToolCall = "tool_call",
        /// A tool answered.
        ToolResult = "tool_result",
        /// The task ended well.
        TaskSucceeded = "task_succeeded",
        /// The task failed.
        TaskFailed = "task_failed",
        /// A person wrote something.
        UserMessage = "user_message",
        /// A person put something right.
        UserCorrection = "user_correction",
        /// The session is over.
        SessionEnded = "session_ended",
    }

    /// What a person thought of something.
    Feedback as "Feedback" {
        /// It was right.
        Positive = "positive",
        /// It was not.
        Negative = "negative",
    }

    /// Where a concept comes from.
    ConceptOrigin as "ConceptOrigin" {
        /// Found in the text of memories.
        Text = "text",
        /// Imported from an ontology.
        Ontology = "ontology",
    }

    /// What stands behind a principal.
    PrincipalKind as "PrincipalKind" {
        /// A person.
        Human = "human",
        /// A language-model agent; it never decides reviews.
        Agent = "agent",
        /// Another program.
        Service = "service",
    }

    /// One thing a principal may do.
    Right as "Right" {
        /// Read memories within its visibility.
        MemoryRead = "memory:read",
        /// Store, update and link memories.
        MemoryWrite = "memory:write",
        /// Forget memories.
        MemoryForget = "memory:forget",
        /// Store into the global scope.
        MemoryGlobal = "memory:global",
        /// Propose wiki edits.
        WikiPropose = "wiki:propose",
        /// Read the review queue.
        ReviewRead = "review:read",
        /// Decide in the review queue; never an agent.
        ReviewDecide = "review:decide",
        /// Import ontologies.
        OntologyImport = "ontology:import",
        /// Everything, tokens and jobs included.
        Admin = "admin",
    }

    /// What is proposed.
    ProposalKind as "ProposalKind" {
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

    /// Where a proposal is.
    ProposalState as "ProposalState" {
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
        /// Another one took its place, or the page says it already.
        Superseded = "superseded",
        /// Nobody decided in time.
        Expired = "expired",
        /// It was live and was taken back.
        Reverted = "reverted",
    }

    /// What a reviewer should look at twice.
    RiskKind as "RiskKind" {
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

    /// Why a proposal was turned down.
    RejectReason as "RejectReason" {
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

    /// What a revision did to its page.
    PageChange as "PageChange" {
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

    /// What an edit is to do.
    PageAction as "PageAction" {
        /// Change a page, or create one that is not there.
        Edit = "edit",
        /// Give it another slug.
        Rename = "rename",
        /// Take it away.
        Delete = "delete",
        /// Bring a deleted one back.
        Restore = "restore",
    }

    /// What became of a line.
    DiffOp as "DiffOp" {
        /// It is in both texts.
        Equal = "equal",
        /// It went.
        Delete = "delete",
        /// It came.
        Insert = "insert",
    }

    /// A decision on many proposals.
    BulkDecision as "BulkDecision" {
        /// Yes.
        Approve = "approve",
        /// No.
        Reject = "reject",
    }

    /// A question between memories that a person decides.
    MemoryQuestion as "MemoryQuestion" {
        /// Two memories that cannot both hold, the earlier first.
        MemoryConflict = "memory_conflict",
        /// Several memories that say the same.
        MemoryMerge = "memory_merge",
    }

    /// A job that can be run by hand.
    Job as "Job" {
        /// Compares the graph store and the vector index.
        Doctor = "doctor",
        /// Builds the vector index anew; the old one serves until the new one is whole.
        Reindex = "reindex",
        /// Ends proposals that nobody decided in time.
        ExpireProposals = "expire_proposals",
    }

    /// What went wrong, the same through every interface.
    Code as "ErrorCode" {
        /// No valid token.
        Unauthenticated = "UNAUTHENTICATED",
        /// A valid token without the right.
        Forbidden = "FORBIDDEN",
        /// The input is wrong; the message names the field.
        BadUserInput = "BAD_USER_INPUT",
        /// Unknown, or not the caller's to see.
        NotFound = "NOT_FOUND",
        /// Another write came first.
        Conflict = "CONFLICT",
        /// An edit was made on an older revision.
        StaleBase = "STALE_BASE",
        /// Too many requests.
        RateLimited = "RATE_LIMITED",
        /// The input is too large.
        PayloadTooLarge = "PAYLOAD_TOO_LARGE",
        /// The key was used for another request.
        IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED",
        /// Only a part could be answered.
        Degraded = "DEGRADED",
        /// The deadline passed.
        Timeout = "TIMEOUT",
        /// A store cannot be reached.
        Unavailable = "UNAVAILABLE",
        /// A fault of the service.
        Internal = "INTERNAL",
    }
}

/// A moment, as the façade gives and takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DateTime(pub String);

/// A moment as RFC 3339, for example `2026-11-30T10:00:00Z`. As an input also a date or a local date-time, which is then UTC.
#[Scalar(name = "DateTime")]
impl ScalarType for DateTime {
    fn parse(value: async_graphql::Value) -> async_graphql::InputValueResult<Self> {
        match value {
            async_graphql::Value::String(text) => Ok(Self(text)),
            other => Err(async_graphql::InputValueError::expected_type(other)),
        }
    }

    fn to_value(&self) -> async_graphql::Value {
        async_graphql::Value::String(self.0.clone())
    }
}

impl From<jiff::Timestamp> for DateTime {
    fn from(moment: jiff::Timestamp) -> Self {
        Self(moment.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain, error, read};

    #[test]
    fn the_lists_are_those_of_the_domain() {
        let rights = domain::Right::ALL.map(|(_, name)| name);
        let codes = error::ErrorCode::TABLE.map(|(_, name, _)| name);
        for (shown, meant) in [
            (Kind::NAMES, domain::Kind::NAMES),
            (MemoryType::NAMES, domain::MemoryType::NAMES),
            (Source::NAMES, domain::Source::NAMES),
            (Status::NAMES, domain::Status::NAMES),
            (Verification::NAMES, domain::Verification::NAMES),
            (EdgeKind::NAMES, domain::EdgeKind::NAMES),
            (Mode::NAMES, read::Mode::NAMES),
            (Forgetting::NAMES, domain::Forgetting::NAMES),
            (Effect::NAMES, domain::Effect::NAMES),
            (EventKind::NAMES, domain::EventKind::NAMES),
            (Feedback::NAMES, domain::Feedback::NAMES),
            (ConceptOrigin::NAMES, domain::ConceptOrigin::NAMES),
            (ProposalKind::NAMES, domain::ProposalKind::NAMES),
            (ProposalState::NAMES, domain::ProposalState::NAMES),
            (RiskKind::NAMES, domain::RiskKind::NAMES),
            (RejectReason::NAMES, domain::RejectReason::NAMES),
            (PageChange::NAMES, domain::PageChange::NAMES),
            (Right::NAMES, &rights),
            (Code::NAMES, &codes),
        ] {
            assert_eq!(shown, meant);
        }
        assert!(Outcome::NAMES.starts_with(domain::Outcome::NAMES));
        fn all_read<T: serde::de::DeserializeOwned>(names: &[&str]) -> bool {
            names.iter().all(|name| serde_json::from_value::<T>((*name).into()).is_ok())
        }
        assert!(all_read::<domain::PrincipalKind>(PrincipalKind::NAMES));
        assert!(all_read::<domain::Direction>(Direction::NAMES));
        assert!(all_read::<crate::write::StoreState>(StoreState::NAMES));
        // The domain has values with parts where these have names.
        assert_eq!(Scope::NAMES, ["private", "shared", "global"]);
        assert_eq!(Format::NAMES, ["items", "prompt"]);
        assert_eq!(Job::NAMES, ["doctor", "reindex", "expire_proposals"]);
        assert_eq!(DiffOp::NAMES, ["equal", "delete", "insert"]);
        assert_eq!(PageAction::NAMES, ["edit", "rename", "delete", "restore"]);
        assert_eq!(BulkDecision::NAMES, ["approve", "reject"]);
        assert!(MemoryQuestion::NAMES.iter().all(|name| ProposalKind::NAMES.contains(name)));
        assert!(LinkKind::NAMES.iter().all(|name| EdgeKind::NAMES.contains(name)));
    }
}
