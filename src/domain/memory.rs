//! A memory and the closed lists its fields take their values from.
//!
//! To add a value to a list: a row in its `names!` call; stores and faces take the names from here.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{EventDetail, MemoryId, Scope};

/// A name that is not on its list; says what the list is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {given:?}, expected one of {expected}")]
pub struct UnknownName {
    given: String,
    expected: String,
}

impl UnknownName {
    pub(crate) fn new(given: &str, expected: &[&str]) -> Self {
        Self { given: given.chars().take(40).collect(), expected: expected.join(", ") }
    }
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The name used by every interface and store.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }

        impl FromStr for $name {
            type Err = UnknownName;
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text { $($text => Ok(Self::$variant),)+ _ => Err($crate::domain::UnknownName::new(text, Self::NAMES)) }
            }
        }
    };
}
pub(crate) use names;

names! {
    /// The layer a memory lives in.
    Kind {
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
}

names! {
    /// What a memory says.
    MemoryType {
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
}

names! {
    /// Where a memory's claim comes from; sets the confidence it starts with.
    Source {
        /// A person said so.
        UserExplicit = "user_explicit",
        /// The agent saw it.
        Observed = "observed",
        /// The agent concluded it.
        Inferred = "inferred",
        /// A document says so.
        Document = "document",
    }
}

impl Source {
    /// Confidence of a memory from this source when none is given, 0..=1 (design, records).
    pub fn confidence(self) -> f32 {
        match self {
            Self::UserExplicit => 1.0,
            Self::Observed => 0.8,
            Self::Inferred => 0.7,
            Self::Document => 0.5,
        }
    }
}

names! {
    /// Where a memory is in its life.
    Status {
        /// In force.
        Active = "active",
        /// Replaced by a newer memory.
        Superseded = "superseded",
        /// Kept, not recalled by default.
        Archived = "archived",
        /// Waiting for a person; never embedded, never recalled.
        Quarantined = "quarantined",
    }
}

impl Status {
    /// Whether a retirement leads to it.
    pub fn is_retired(self) -> bool {
        matches!(self, Self::Superseded | Self::Archived)
    }
}

names! {
    /// Whether a lesson was borne out.
    Verification {
        /// Not yet tested.
        Unverified = "unverified",
        /// Borne out.
        Verified = "verified",
        /// Found wrong and put right.
        Corrected = "corrected",
    }
}

names! {
    /// The language of a text, as far as routing between vector spaces needs it.
    Language {
        /// English.
        English = "en",
        /// Anything else, or not known.
        Other = "other",
    }
}

/// One memory. A node of the graph; its vectors live in the index under the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Its id, UUIDv7.
    pub id: MemoryId,
    /// The name an importing client gave it; unique within a scope.
    pub external_id: Option<String>,
    /// Layer.
    pub kind: Kind,
    /// What it says.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// The full text, byte for byte as given.
    pub content: String,
    /// What it is about.
    pub title: Option<String>,
    /// At most 150 characters.
    pub summary: String,
    /// When it applies.
    pub context: Option<String>,
    /// Labels given by the client.
    pub tags: Vec<String>,
    /// Who said it, where it is a turn of a dialogue.
    pub speaker: Option<String>,
    /// 0..=1.
    pub importance: f32,
    /// 0..=1.
    pub confidence: f32,
    /// Where the claim comes from.
    pub source: Source,
    /// Raw events or memories it came from.
    pub provenance: Vec<Uuid>,
    /// Session it belongs to, as named by the client.
    pub session_id: Option<String>,
    /// Task it belongs to, as named by the client.
    pub task_id: Option<String>,
    /// The principal that stored it.
    pub user_id: String,
    /// The agent that stored it, when an agent did.
    pub agent_id: Option<String>,
    /// Who may read it.
    pub scope: Scope,
    /// Where it is in its life.
    pub status: Status,
    /// True in the world from then (inclusive); `None` is always.
    pub valid_from: Option<Timestamp>,
    /// True in the world until then (exclusive).
    pub valid_to: Option<Timestamp>,
    /// This text of it is believed by us from then.
    pub recorded_at: Timestamp,
    /// Believed by us until then.
    pub retired_at: Option<Timestamp>,
    /// When what it tells happened.
    pub occurred_at: Timestamp,
    /// Not recalled from then on.
    pub expires_at: Option<Timestamp>,
    /// Times it was returned or stored again.
    pub access_count: u64,
    /// The last such time.
    pub last_accessed: Option<Timestamp>,
    /// Votes that it helped.
    pub useful: u32,
    /// Votes that it did not.
    pub not_useful: u32,
    /// Whether a lesson was borne out (reflective memories).
    pub verification: Option<Verification>,
    /// Starts at 1 and grows with each update.
    pub revision: u64,
    /// SHA-256 of title, content and context, hexadecimal; equal within a scope means the same memory.
    pub content_hash: String,
    /// What the keyword arm searches: our tokens, separated by spaces, in the order of the text.
    pub terms: String,
    /// Language of the content.
    pub language: Language,
    /// Names of the vector spaces it has a vector in.
    pub spaces: Vec<String>,
    /// What happened, in parts.
    pub event: Option<EventDetail>,
}

impl Memory {
    /// Longest summary, in characters.
    pub const SUMMARY_CHARS: usize = 150;
    /// Tag of the memories that sum up a session.
    pub const SESSION_SUMMARY: &str = "session-summary";

    /// Counts a vote in place of the same principal's `earlier` one, with the confidence that it leads to.
    pub fn count_vote(&mut self, earlier: Option<bool>, useful: bool, confidence: f32) {
        match earlier {
            Some(true) => self.useful = self.useful.saturating_sub(1),
            Some(false) => self.not_useful = self.not_useful.saturating_sub(1),
            None => {}
        }
        if useful {
            self.useful += 1;
        } else {
            self.not_useful += 1;
        }
        self.confidence = confidence;
    }

    /// What it says, with who said it.
    pub fn said(&self) -> String {
        match &self.speaker {
            Some(speaker) => format!("{speaker}: {}", self.content),
            None => self.content.clone(),
        }
    }

    /// The text that stands for it in a vector space: what it is about or who says it, then what it says.
    pub fn passage(&self) -> String {
        let said = self.said();
        match &self.title {
            Some(title) if !said.starts_with(title.as_str()) => format!("{title}: {said}"),
            _ => said,
        }
    }

    /// Whether it sums up a session and says nothing of its own.
    pub fn is_session_summary(&self) -> bool {
        self.tags.iter().any(|tag| tag == Self::SESSION_SUMMARY)
    }
}
