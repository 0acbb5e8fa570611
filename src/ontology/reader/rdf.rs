//! The RDF family, by oxrdfio.

use std::io::{self, Read};

use oxrdf::{NamedOrBlankNode, Quad, Term};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParser, RdfSyntaxError};

use super::{Format, ReadError, Source, xml};
use crate::ontology::{
    settings::OntologySettings,
    statement::{Object, Statement},
};

/// What relative IRIs are relative to, where the file does not say.
const BASE: &str = "file:///";

type Take<'a> = &'a mut dyn FnMut(Statement) -> Result<(), ReadError>;

pub(super) fn read(
    source: &Source<'_>,
    bytes: &[u8],
    format: Format,
    settings: &OntologySettings,
    take: Take<'_>,
) -> Result<(), ReadError> {
    let rdf = match format {
        Format::NTriples => RdfFormat::NTriples,
        Format::NQuads => RdfFormat::NQuads,
        Format::TriG => RdfFormat::TriG,
        Format::RdfXml => RdfFormat::RdfXml,
        Format::JsonLd => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        Format::Turtle | Format::Obo | Format::Csv | Format::Tsv => RdfFormat::Turtle,
    };
    let text = std::str::from_utf8(bytes).map_err(|_| ReadError::new("is not UTF-8"))?;
    match format {
        Format::RdfXml => xml::check(text, settings.max_file_bytes, settings.max_nesting)?,
        Format::JsonLd => brackets(text, settings.max_nesting)?,
        _ => {}
    }
    let parser = RdfParser::from_format(rdf).with_base_iri(source.base.unwrap_or(BASE));
    let parser = parser.map_err(|error| ReadError::new(format!("its base is no IRI: {error}")))?;
    for quad in parser.clone().for_slice(bytes) {
        match quad {
            Ok(quad) => take(statement(quad))?,
            Err(error) => return Err(refusal(&error, text, || place_in_xml(&parser, bytes))),
        }
    }
    Ok(())
}

fn statement(quad: Quad) -> Statement {
    let subject = match quad.subject {
        NamedOrBlankNode::NamedNode(node) => node.into_string(),
        NamedOrBlankNode::BlankNode(node) => node.to_string(),
    };
    let object = match quad.object {
        Term::NamedNode(node) => Object::Node(node.into_string()),
        Term::BlankNode(node) => Object::Node(node.to_string()),
        Term::Literal(literal) => {
            let (text, _, language) = literal.destruct();
            Object::Text { text, language: language.unwrap_or_default().to_ascii_lowercase() }
        }
    };
    Statement { subject, predicate: quad.predicate.into_string(), object }
}

/// The fault as a person reads it, with its place: the parser's, or the one found by reading again.
fn refusal(syntax: &RdfSyntaxError, text: &str, in_xml: impl FnOnce() -> Option<usize>) -> ReadError {
    let message = syntax.to_string();
    let remote = message.contains("LoadDocumentCallback");
    let what = if remote {
        "names a remote @context, which is never fetched; put it into the file".to_owned()
    } else {
        message
    };
    if let Some(range) = syntax.location() {
        return ReadError::at(what, range.start.line + 1, range.start.column + 1);
    }
    match in_xml() {
        Some(offset) => ReadError::at_offset(what, text.as_bytes(), offset),
        None => ReadError::at_offset(what, text.as_bytes(), text.find("\"@context\"").unwrap_or(0)),
    }
}

/// Where the XML parser gives up: it does not say, so it is given one byte at a time.
fn place_in_xml(parser: &RdfParser, bytes: &[u8]) -> Option<usize> {
    if !matches!(parser.format(), RdfFormat::RdfXml) {
        return None;
    }
    let mut bit_by_bit = BitByBit { bytes, at: 0 };
    for quad in parser.clone().for_reader(&mut bit_by_bit) {
        if quad.is_err() {
            break;
        }
    }
    // Back over the end of what was read last, so that the place is inside of it.
    Some(bit_by_bit.at.saturating_sub(1))
}

struct BitByBit<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Read for BitByBit<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (Some(byte), Some(place)) = (self.bytes.get(self.at), buffer.first_mut()) else { return Ok(0) };
        *place = *byte;
        self.at += 1;
        Ok(1)
    }
}

/// Refuses JSON that nests too deep.
fn brackets(text: &str, max: usize) -> Result<(), ReadError> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > max {
            return Err(ReadError::at_offset(format!("nests deeper than {max} levels"), text.as_bytes(), at));
        }
    }
    Ok(())
}
