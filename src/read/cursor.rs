//! Where the next page of an answer begins.
//!
//! Opaque to clients: base64 of a small JSON object with a version. It holds the moment of the first page, so that
//! freshness and expiry do not shift what is on which page, and a hash of the question, so that it continues no other.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{error::Error, text};

const VERSION: u8 = 1;
/// Answers of all pages together at most.
const MAX_OFFSET: usize = 10_000;
/// Longest cursor that is looked at.
const MAX_CHARS: usize = 512;

/// A place in the answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cursor {
    #[serde(rename = "v")]
    version: u8,
    /// Items before this page.
    #[serde(rename = "o")]
    pub offset: usize,
    /// When the first page was asked for, microseconds since 1970.
    #[serde(rename = "t")]
    at: i64,
    #[serde(rename = "q")]
    question: String,
}

impl Cursor {
    /// The place that `given` names in the answer to `question`, or its beginning.
    pub fn of(given: Option<&str>, question: &impl Serialize, now: Timestamp) -> Result<Self, Error> {
        let question = serde_json::to_string(question).expect("a request of strings and numbers is JSON");
        let question = text::content_hash(None, &question, None)[..16].to_owned();
        let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) else {
            return Ok(Self { version: VERSION, offset: 0, at: now.as_microsecond(), question });
        };
        let cursor = Self::parse(given).filter(|cursor| cursor.version == VERSION && cursor.offset <= MAX_OFFSET);
        let advice = "give the cursor of the last answer with the same question, or none to begin again";
        match cursor {
            None => Err(Error::bad_input("cursor", "not a cursor of ours").advise(advice)),
            Some(cursor) if cursor.question != question => {
                Err(Error::bad_input("cursor", "belongs to another question").advise(advice))
            }
            Some(cursor) => Ok(cursor),
        }
    }

    fn parse(given: &str) -> Option<Self> {
        let bytes = (given.len() <= MAX_CHARS).then(|| URL_SAFE_NO_PAD.decode(given).ok()).flatten()?;
        let cursor: Self = serde_json::from_slice(&bytes).ok()?;
        Timestamp::from_microsecond(cursor.at).is_ok().then_some(cursor)
    }

    /// The moment of the first page.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.at).unwrap_or_default()
    }

    /// The page after the next `items`.
    pub fn after(&self, items: usize) -> String {
        let next = Self { offset: self.offset + items, ..self.clone() };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&next).expect("numbers and a string are JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_continues_its_own_question_and_nothing_else() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().expect("a moment");
        let first = Cursor::of(None, &"one", now).expect("the beginning");
        let next = first.after(5);
        let later = now + jiff::SignedDuration::from_hours(1);
        let second = Cursor::of(Some(&next), &"one", later).expect("ours");
        assert_eq!((second.offset, second.now()), (5, now));
        let bad = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let hash = &first.question;
        for given in [
            "x".to_owned(),
            "!".to_owned(),
            "x".repeat(100_000),
            bad("{}"),
            bad(&format!(r#"{{"v":2,"o":5,"t":0,"q":"{hash}"}}"#)),
            bad(&format!(r#"{{"v":1,"o":-1,"t":0,"q":"{hash}"}}"#)),
            bad(&format!(r#"{{"v":1,"o":99999999,"t":0,"q":"{hash}"}}"#)),
            bad(&format!(r#"{{"v":1,"o":5,"t":9223372036854775807,"q":"{hash}"}}"#)),
            bad(&format!(r#"{{"v":1,"o":5,"t":0,"q":"{hash}","more":1}}"#)),
        ] {
            let error = Cursor::of(Some(&given), &"one", now).expect_err("not ours");
            assert_eq!(error.field.as_deref(), Some("cursor"), "{given}");
        }
        assert!(Cursor::of(Some(&next), &"another", now).is_err());
    }
}
