//! What of the protocol is offered.

use std::borrow::Cow;

use rmcp::model::ProtocolVersion;
use serde::{Deserialize, Serialize};

/// See `[server.mcp]` in `config.default.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct McpSettings {
    pub max_protocol_version: Version,
}

/// A version of the protocol that can be the newest offered. Variants are in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Version {
    /// With `initialize`.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// Every request speaks for itself.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl McpSettings {
    /// The versions that a client may choose from, oldest first.
    pub(super) fn versions(self) -> Cow<'static, [ProtocolVersion]> {
        match self.max_protocol_version {
            Version::V2025_11_25 => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25).into(),
            Version::V2026_07_28 => ProtocolVersion::known_up_to(&ProtocolVersion::V_2026_07_28).into(),
        }
    }
}
