//! Limits and rules of the review room; `[review]` in `config.default.toml` explains each.

use globset::{GlobBuilder, GlobMatcher};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// See `[review]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct ReviewSettings {
    pub claim_secs: u32,
    pub expire_days: u32,
    pub undo_secs: u32,
    pub max_page_bytes: usize,
    pub auto_approve: Vec<String>,
    pub protected: Vec<ProtectedPages>,
}

/// Pages that take more than one yes.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedPages {
    /// A glob over slugs; `**` crosses slashes.
    pub pages: String,
    /// How many must approve.
    #[serde(default = "one")]
    pub approvals: u32,
    /// Groups of which at least one approver must be a member.
    #[serde(default)]
    pub groups: Vec<String>,
}

fn one() -> u32 {
    1
}

/// What it takes to change a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needed {
    /// How many must approve.
    pub approvals: usize,
    /// Groups of which at least one approver must be a member; empty is anybody.
    pub groups: Vec<String>,
    /// Whether an entry of the settings says so.
    pub protected: bool,
}

impl ReviewSettings {
    /// The key that is wrong, and why.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in [("claim_secs", self.claim_secs), ("expire_days", self.expire_days)] {
            if value == 0 {
                return Err(format!("review.{key}: must be at least 1"));
            }
        }
        if self.max_page_bytes == 0 {
            return Err("review.max_page_bytes: must be at least 1".into());
        }
        for entry in &self.protected {
            glob(&entry.pages).map_err(|error| format!("review.protected: {error}"))?;
            if entry.approvals == 0 {
                return Err("review.protected: approvals must be at least 1".into());
            }
        }
        Ok(())
    }

    /// How long a claim holds.
    pub(super) fn claim(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.claim_secs))
    }

    /// How long a decision can be taken back.
    pub(super) fn undo(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.undo_secs))
    }

    /// How long a proposal waits at most.
    pub(super) fn expiry(&self) -> SignedDuration {
        SignedDuration::from_hours(24 * i64::from(self.expire_days))
    }

    /// What it takes to change pages of these slugs: the strictest of all entries that match one.
    pub(super) fn needed(&self, slugs: &[&str]) -> Needed {
        let mut needed = Needed { approvals: 1, groups: Vec::new(), protected: false };
        for entry in &self.protected {
            // Checked at start.
            let Ok(glob) = glob(&entry.pages) else { continue };
            if slugs.iter().any(|slug| glob.is_match(slug.to_lowercase())) {
                needed.protected = true;
                needed.approvals = needed.approvals.max(usize::try_from(entry.approvals).unwrap_or(usize::MAX));
                needed.groups.extend(entry.groups.iter().cloned());
            }
        }
        needed.groups.sort();
        needed.groups.dedup();
        needed
    }
}

fn glob(pages: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(&pages.to_lowercase()).literal_separator(true).build()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(protected: &[(&str, u32, &[&str])]) -> ReviewSettings {
        let protected = protected.iter().map(|(pages, approvals, groups)| ProtectedPages {
            pages: (*pages).to_owned(),
            approvals: *approvals,
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        });
        ReviewSettings {
            claim_secs: 1800,
            expire_days: 90,
            undo_secs: 600,
            max_page_bytes: 1 << 20,
            auto_approve: Vec::new(),
            protected: protected.collect(),
        }
    }

    #[test]
    fn strictest_entry_counts() {
        let settings = settings(&[("policy/**", 2, &["legal"]), ("policy/hr", 3, &["people"]), ("*", 1, &["all"])]);
        for (slug, approvals, groups) in [
            ("policy/travel/rail", 2, &["legal"][..]),
            ("Policy/HR", 3, &["legal", "people"]),
            ("start", 1, &["all"]),
            ("ops/start", 1, &[]),
        ] {
            let needed = settings.needed(&[slug]);
            assert_eq!(
                (needed.approvals, needed.groups.as_slice()),
                (approvals, &*groups.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>()),
                "{slug}"
            );
        }
        assert_eq!(settings.needed(&["ops/start", "policy/x"]).approvals, 2, "a rename needs what both slugs need");
    }

    #[test]
    fn bad_settings_name_their_key() {
        assert!(settings(&[("[", 1, &[])]).check().expect_err("no glob").starts_with("review.protected"));
        assert!(settings(&[("a", 0, &[])]).check().expect_err("nobody").contains("approvals"));
        let none = ReviewSettings { claim_secs: 0, ..settings(&[]) };
        assert!(none.check().expect_err("no time").starts_with("review.claim_secs"));
    }
}
