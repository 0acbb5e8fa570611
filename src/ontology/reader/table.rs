//! Tables, by csv, as the SKOS that their columns stand for.

use serde::Deserialize;

use super::{Format, ReadError, Source};
use crate::ontology::{statement::Statement, words::*};

/// Which column says what.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Put before an id that is no IRI.
    base: String,
    /// `concept` or `class`.
    #[serde(default = "concept")]
    kind: String,
    /// What stands between several values of one cell.
    #[serde(default = "bar")]
    separator: String,
    /// Column with the id of a row.
    id: String,
    /// Columns with names.
    labels: Vec<LabelColumn>,
    /// Columns with definitions.
    #[serde(default)]
    definitions: Vec<LabelColumn>,
    /// Column with notations.
    notation: Option<String>,
    /// Columns with ids or IRIs of others.
    broader: Option<String>,
    related: Option<String>,
    exact_match: Option<String>,
    replaced_by: Option<String>,
    /// Column that is `true`, `yes` or `1` for what is not to be used any longer.
    deprecated: Option<String>,
}

/// A column with texts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelColumn {
    column: String,
    /// BCP 47 tag.
    #[serde(default)]
    language: String,
    /// `preferred`, `alternative` or `hidden`.
    #[serde(default = "preferred")]
    role: String,
}

fn preferred() -> String {
    "preferred".to_owned()
}

fn concept() -> String {
    "concept".to_owned()
}

fn bar() -> String {
    "|".to_owned()
}

impl Default for Mapping {
    fn default() -> Self {
        let column = |column: &str, role: &str| LabelColumn {
            column: column.to_owned(),
            language: String::new(),
            role: role.to_owned(),
        };
        let some = |column: &str| Some(column.to_owned());
        Self {
            base: "urn:recollect:table:".to_owned(),
            kind: concept(),
            separator: bar(),
            id: "id".to_owned(),
            labels: vec![column("label", "preferred"), column("alternative", "alternative")],
            definitions: vec![column("definition", "preferred")],
            notation: some("notation"),
            broader: some("broader"),
            related: some("related"),
            exact_match: some("exact_match"),
            replaced_by: some("replaced_by"),
            deprecated: some("deprecated"),
        }
    }
}

/// A column that is there, and the property it gives.
struct Column {
    place: usize,
    property: &'static str,
    language: String,
    is_link: bool,
}

pub(super) fn read(
    source: &Source<'_>,
    bytes: &[u8],
    format: Format,
    take: &mut dyn FnMut(Statement) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mapping = match source.mapping {
        None => Mapping::default(),
        Some(text) => toml::from_str(text)
            .map_err(|error| ReadError::new(format!("the mapping is wrong: {}", error.message())))?,
    };
    let kind = match mapping.kind.as_str() {
        "concept" => SKOS_CONCEPT,
        "class" => OWL_CLASS,
        other => return Err(ReadError::new(format!("the mapping is wrong: kind {other:?} is not concept or class"))),
    };
    let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
    let mut table = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
    let header = table.headers().map_err(|error| refusal(&error))?.clone();
    // A column of the default mapping may be missing, one that a mapping names may not.
    let strict = source.mapping.is_some();
    let place = |name: &str, needed: bool| match header.iter().position(|column| column.trim() == name) {
        Some(place) => Ok(Some(place)),
        None if needed => Err(ReadError::at(format!("has no column {name:?}"), 1, 1)),
        None => Ok(None),
    };
    let id = place(&mapping.id, true)?.unwrap_or_default();
    let columns = columns(&mapping, |name| place(name, strict))?;
    if !columns.iter().any(|column| [SKOS_PREF, SKOS_ALT, SKOS_HIDDEN].contains(&column.property)) {
        return Err(ReadError::at("has no column with labels; name them in a mapping", 1, 1));
    }
    for row in table.records() {
        let row = row.map_err(|error| refusal(&error))?;
        let line = row.position().map_or(0, csv::Position::line);
        let text = row.get(id).unwrap_or_default().trim();
        if text.is_empty() {
            return Err(ReadError::at(format!("the column {:?} is empty", mapping.id), line, id as u64 + 1));
        }
        let iri = iri(&mapping, text).map_err(|what| ReadError::at(what, line, id as u64 + 1))?;
        take(Statement::node(&iri, RDF_TYPE, kind))?;
        for column in &columns {
            let cell = row.get(column.place).unwrap_or_default();
            for value in values(&mapping, column, cell) {
                take(if column.is_link {
                    let other = iri_of_link(&mapping, value, line, column)?;
                    Statement::node(&iri, column.property, other)
                } else {
                    Statement::text(&iri, column.property, value, &column.language)
                })?;
            }
        }
    }
    Ok(())
}

fn iri_of_link(mapping: &Mapping, value: &str, line: u64, column: &Column) -> Result<String, ReadError> {
    iri(mapping, value).map_err(|what| ReadError::at(what, line, column.place as u64 + 1))
}

/// The values of a cell; a definition is one, whatever stands in it.
fn values<'t>(mapping: &'t Mapping, column: &Column, cell: &'t str) -> impl Iterator<Item = &'t str> {
    let whole = column.property == SKOS_DEFINITION || mapping.separator.is_empty();
    let separator = if whole { "\u{0}" } else { mapping.separator.as_str() };
    cell.split(separator).map(str::trim).filter(|value| !value.is_empty())
}

fn columns(
    mapping: &Mapping,
    place: impl Fn(&str) -> Result<Option<usize>, ReadError>,
) -> Result<Vec<Column>, ReadError> {
    let mut columns = Vec::new();
    for label in &mapping.labels {
        let property = match label.role.as_str() {
            "preferred" => SKOS_PREF,
            "alternative" => SKOS_ALT,
            "hidden" => SKOS_HIDDEN,
            other => {
                let what = format!("the mapping is wrong: role {other:?} is not preferred, alternative or hidden");
                return Err(ReadError::new(what));
            }
        };
        let language = language(&label.language)?;
        columns.extend(place(&label.column)?.map(|place| Column { place, property, language, is_link: false }));
    }
    for text in &mapping.definitions {
        let language = language(&text.language)?;
        let column = place(&text.column)?;
        columns.extend(column.map(|place| Column { place, property: SKOS_DEFINITION, language, is_link: false }));
    }
    for (name, property, is_link) in [
        (&mapping.notation, SKOS_NOTATION, false),
        (&mapping.broader, SKOS_BROADER, true),
        (&mapping.related, SKOS_RELATED, true),
        (&mapping.exact_match, SKOS_EXACT, true),
        (&mapping.replaced_by, DC_REPLACED_BY, true),
        (&mapping.deprecated, OWL_DEPRECATED, false),
    ] {
        if let Some(place) = name.as_deref().map(&place).transpose()?.flatten() {
            columns.push(Column { place, property, language: String::new(), is_link });
        }
    }
    Ok(columns)
}

/// A tag in lower case; none is fine.
fn language(tag: &str) -> Result<String, ReadError> {
    let known = tag.is_empty() || oxrdf::Literal::new_language_tagged_literal("", tag).is_ok();
    let wrong = || ReadError::new(format!("the mapping is wrong: language {tag:?} is no BCP 47 tag"));
    known.then(|| tag.to_ascii_lowercase()).ok_or_else(wrong)
}

/// The IRI of an id: itself, if it is one, or the mapping's base before it.
fn iri(mapping: &Mapping, id: &str) -> Result<String, String> {
    if id.contains("://") || id.starts_with("urn:") {
        let iri = oxrdf::NamedNode::new(id).map_err(|error| format!("{id:?} is no IRI: {error}"))?;
        return Ok(iri.into_string());
    }
    let encoded = percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC).to_string();
    // What reads well and means nothing in an IRI stays.
    Ok(format!("{}{}", mapping.base, encoded.replace("%2D", "-").replace("%5F", "_").replace("%2E", ".")))
}

fn refusal(error: &csv::Error) -> ReadError {
    let line = error.position().map_or(1, csv::Position::line);
    ReadError::at(error.to_string(), line, 1)
}
