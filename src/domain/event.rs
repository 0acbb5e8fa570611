//! Raw events: the append-only layer below the memories, and the parts of a remembered event.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

use super::{EventId, MemoryId, Scope, UnknownName, memory::names};

names! {
    /// What an agent reports.
    EventKind {
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
}

names! {
    /// What a person thought of it.
    Feedback {
        /// It was right.
        Positive = "positive",
        /// It was not.
        Negative = "negative",
    }
}

/// One raw event, kept as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its id, UUIDv7.
    pub id: EventId,
    /// What is reported.
    pub kind: EventKind,
    /// When it happened.
    pub at: Timestamp,
    /// When we were told.
    pub recorded_at: Timestamp,
    /// Session it belongs to.
    pub session_id: Option<String>,
    /// Task it belongs to.
    pub task_id: Option<String>,
    /// The principal that reported it.
    pub user_id: String,
    /// Who may read it.
    pub scope: Scope,
    /// Text of the message, the input or the output.
    pub text: String,
    /// Tool concerned.
    pub tool: Option<String>,
    /// Status the tool or task gave.
    pub status: Option<String>,
    /// What a person thought of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Memories that it made, or that said the same already. When one is forgotten, the event goes with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MemoryId>,
}

/// The parts of a remembered event (who did what to what, with which result).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDetail {
    /// When, as the client wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Did what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// To what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// With which result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Under which circumstances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}
