//! Parses what clients send into stronger types, with errors that name the field. A leaf that every use case shares.

use std::str::FromStr;

use jiff::{Timestamp, civil, tz::TimeZone};

use crate::{
    domain::{Caller, MemoryId, Right, UnknownName},
    error::{Error, ErrorCode},
};

/// Refuses a caller that lacks `right`.
pub fn require(caller: &Caller, right: Right) -> Result<(), Error> {
    if caller.may(right) {
        return Ok(());
    }
    Err(Error::new(ErrorCode::Forbidden, format!("the token lacks the right {right}")))
}

/// A count or a number on its way out; one beyond `i64` is shown as the largest.
pub fn outgoing(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// A moment: RFC 3339 (`2026-11-30T10:00:00Z`), a local date-time or a date; without an offset it is UTC.
pub fn time(field: &str, text: &str) -> Result<Timestamp, Error> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp);
    }
    // `DateTime` also accepts a date alone. An offset that made the first parse fail must not be dropped silently here.
    let local: civil::DateTime = text.parse().map_err(|_| {
        Error::bad_input(field, "not a date or time").advise("write it as 2026-11-30 or 2026-11-30T10:00:00Z")
    })?;
    TimeZone::UTC.to_timestamp(local).map_err(|_| {
        let message = format!("is not between {} and {}", Timestamp::MIN, Timestamp::MAX);
        Error::bad_input(field, message).advise("leave it out where there is no end")
    })
}

/// [`time`] for an optional field.
pub fn optional_time(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, Error> {
    text.map(|text| time(field, text)).transpose()
}

/// An id of a memory.
pub fn memory_id(field: &str, text: &str) -> Result<MemoryId, Error> {
    text.trim().parse().map_err(|error| Error::bad_input(field, error))
}

/// Ids of memories, at most `max` of them.
pub fn memory_ids(field: &str, texts: &[String], max: usize) -> Result<Vec<MemoryId>, Error> {
    if texts.len() > max {
        return Err(Error::bad_input(field, format!("at most {max} ids")));
    }
    texts.iter().map(|text| memory_id(field, text)).collect()
}

/// A value of a closed list.
pub fn name<T: FromStr<Err = UnknownName>>(field: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|error| Error::bad_input(field, error))
}

/// [`name`] for an optional field.
pub fn optional_name<T: FromStr<Err = UnknownName>>(field: &str, text: Option<&str>) -> Result<Option<T>, Error> {
    text.map(|text| name(field, text)).transpose()
}

/// [`name`] for each of a short list.
pub fn names<T: FromStr<Err = UnknownName>>(field: &str, texts: &[String]) -> Result<Vec<T>, Error> {
    few(field, texts)?;
    texts.iter().map(|text| name(field, text)).collect()
}

/// A list of at most 64 short texts: each costs every record that is looked at.
pub fn few(field: &str, texts: &[String]) -> Result<(), Error> {
    const VALUES: usize = 64;
    const BYTES: usize = 512;
    if texts.len() > VALUES {
        return Err(Error::bad_input(field, format!("at most {VALUES} values")));
    }
    if texts.iter().any(|text| text.len() > BYTES) {
        return Err(Error::bad_input(field, format!("a value takes at most {BYTES} bytes")));
    }
    Ok(())
}

/// A share, 0..=1.
pub fn share(field: &str, value: f64) -> Result<f32, Error> {
    if (0.0..=1.0).contains(&value) {
        Ok(value as f32)
    } else {
        Err(Error::bad_input(field, "must be between 0 and 1"))
    }
}

/// A text that is not blank, at most `max_bytes` long and free of NUL.
pub fn text(field: &str, text: String, max_bytes: usize) -> Result<String, Error> {
    if text.trim().is_empty() {
        return Err(Error::bad_input(field, "must not be empty"));
    }
    if text.len() > max_bytes {
        let message = format!("{field}: {} bytes, at most {max_bytes} are taken", text.len());
        return Err(Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::PayloadTooLarge, message) });
    }
    if text.contains('\0') {
        return Err(Error::bad_input(field, "contains a NUL character"));
    }
    Ok(text)
}

/// [`text`] for an optional field; an empty one counts as absent.
pub fn optional_text(field: &str, given: Option<String>, max_bytes: usize) -> Result<Option<String>, Error> {
    given.filter(|given| !given.trim().is_empty()).map(|given| text(field, given, max_bytes)).transpose()
}

/// A count between 1 and `max`.
pub fn count(field: &str, value: i64, max: usize) -> Result<usize, Error> {
    usize::try_from(value)
        .ok()
        .filter(|value| (1..=max).contains(value))
        .ok_or_else(|| Error::bad_input(field, format!("must be between 1 and {max}")))
}

/// A JSON object of strict shape; the error names the field.
pub fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = read_json(&mut deserializer)?;
    deserializer.end().map_err(|error| Error::bad_input("input", error))?;
    Ok(read)
}

/// [`json`] from a value that is already JSON, or from a deserializer.
pub fn read_json<'de, T: serde::Deserialize<'de>, D>(deserializer: D) -> Result<T, Error>
where
    D: serde::Deserializer<'de>,
    D::Error: std::fmt::Display,
{
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.inner().to_string();
        // For a field that is unknown or missing the path ends at the object; the message has the name.
        let field = match inner.split('`').nth(1) {
            Some(name) if inner.starts_with("unknown field") || inner.starts_with("missing field") => name.to_owned(),
            _ if path == "." || path.is_empty() => "input".to_owned(),
            _ => path,
        };
        Error::bad_input(&field, inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_three_forms_and_nothing_else() {
        for (given, expected) in [
            ("2026-11-30T10:00:00Z", Some("2026-11-30T10:00:00Z")),
            ("2026-11-30T12:00:00+02:00", Some("2026-11-30T10:00:00Z")),
            ("2026-11-30T10:00:00", Some("2026-11-30T10:00:00Z")),
            ("2026-11-30", Some("2026-11-30T00:00:00Z")),
            ("2026-13-30", None),
            ("30.11.2026", None),
            ("yesterday", None),
            ("", None),
        ] {
            let got = time("since", given).ok().map(|time| time.to_string());
            assert_eq!(got.as_deref(), expected, "{given:?}");
        }
    }

    #[test]
    fn a_date_beyond_what_can_be_kept_says_so() {
        let error = time("valid_to", "9999-12-31").expect_err("beyond the last moment");
        assert!(error.message.contains("9999-12-30"), "{}", error.message);
        assert!(error.advice.is_some_and(|advice| advice.contains("leave it out")));
    }

    #[test]
    fn shares_and_counts_know_their_bounds() {
        for value in [f64::NAN, -0.1, 1.1, f64::INFINITY, 7.0] {
            assert!(share("importance", value).is_err(), "{value}");
        }
        for value in [0, -1, 101, 1_000_000_000] {
            assert!(count("limit", value, 100).is_err(), "{value}");
        }
        assert_eq!(count("limit", 100, 100).ok(), Some(100));
    }
}
