//! Reads a file of any known format into statements, one by one. What it refuses, it refuses with line and column.
//!
//! The whole file is in memory, which its size limit bounds; statements are not collected here. Nothing is ever fetched.

mod format;
mod obo;
mod rdf;
mod table;
mod xml;

pub use format::Format;
pub use table::Mapping;

use super::{
    settings::OntologySettings,
    statement::{Place, Statement},
};

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ReadError {
    /// A lowercase fragment for the reader.
    pub what: String,
    /// Where, if it is about a place.
    pub place: Option<Place>,
}

impl ReadError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), place: None }
    }

    pub(super) fn at(what: impl Into<String>, line: u64, column: u64) -> Self {
        Self { what: what.into(), place: Some(Place { line, column }) }
    }

    /// At byte `offset` of `text`.
    pub(super) fn at_offset(what: impl Into<String>, text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let column = String::from_utf8_lossy(&before[start..]).chars().count() as u64 + 1;
        Self::at(what, line, column)
    }
}

/// A file to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// Its name, for the extension.
    pub name: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
    /// For a table: how it is read, in TOML.
    pub mapping: Option<&'a str>,
    /// What relative IRIs are relative to.
    pub base: Option<&'a str>,
}

/// Reads a file and hands each statement to `take`.
///
/// # Errors
/// The first fault ends the reading; what was handed over until then counts for nothing.
pub fn read(
    source: &Source<'_>,
    settings: &OntologySettings,
    take: &mut dyn FnMut(Statement) -> Result<(), ReadError>,
) -> Result<Format, ReadError> {
    let bytes = source.bytes;
    if bytes.len() > settings.max_file_bytes {
        let max = settings.max_file_bytes;
        return Err(ReadError::new(format!("is {} bytes, at most {max} are taken", bytes.len())));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let format = Format::of(source.name, bytes)?;
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(ReadError::at_offset("is not UTF-8", bytes, error.valid_up_to()));
    }
    let mut count = 0;
    let mut counted = |statement| {
        count += 1;
        if count > settings.max_statements {
            return Err(ReadError::new(format!("has more than {} statements", settings.max_statements)));
        }
        take(statement)
    };
    match format {
        Format::Obo => obo::read(bytes, &mut counted)?,
        Format::Csv | Format::Tsv => table::read(source, bytes, format, &mut counted)?,
        _ => rdf::read(source, bytes, format, settings, &mut counted)?,
    }
    Ok(format)
}
