//! OBO by fastobo, as the OWL that the format stands for.
//!
//! To read one more clause: an arm in `term`, `typedef` or `instance`.

use std::{collections::HashMap, io::Cursor};

use fastobo::{
    ast::{
        Frame, HeaderClause, Ident, InstanceClause, Line, PropertyValue, Synonym, SynonymScope, TermClause,
        TypedefClause, Xref,
    },
    error::{CardinalityError, Error, SyntaxError},
    parser::{Parser, SequentialParser},
    semantics::OboFrame,
    syntax::pest::error::LineColLocation,
};

use super::ReadError;
use crate::ontology::{statement::Statement, words::*};

const PURL: &str = "http://purl.obolibrary.org/obo/";

type Take<'a> = &'a mut dyn FnMut(Statement) -> Result<(), ReadError>;

pub(super) fn read(bytes: &[u8], take: Take<'_>) -> Result<(), ReadError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ReadError::new("is not UTF-8"))?;
    let lines: Vec<&str> = text.lines().collect();
    // fastobo panics on it.
    if let Some(at) = lines.iter().position(|line| line.trim_end().ends_with('\\')) {
        return Err(ReadError::at("ends with a backslash", at as u64 + 1, lines[at].trim_end().chars().count() as u64));
    }
    let mut starts = (0..).zip(&lines).filter(|(_, line)| line.trim_start().starts_with('[')).map(|(at, _)| at);
    let mut reader = Reader { names: Names::default(), blanks: 0, take };
    for frame in SequentialParser::new(Cursor::new(bytes)) {
        match frame {
            Err(error) => return Err(refusal(error)),
            Ok(Frame::Header(header)) => {
                header.cardinality_check().map_err(|error| misplaced(&error, &lines, 0))?;
                whole_axioms(header.as_ref(), &lines)?;
                one_space_each(header.as_ref(), &lines)?;
                reader.header(header.as_ref())?;
            }
            Ok(entity) => {
                let start = starts.next().unwrap_or(0);
                // Relations of real files do have two names; terms may not.
                if let Frame::Term(frame) = &entity {
                    frame.cardinality_check().map_err(|error| misplaced(&error, &lines, start))?;
                }
                reader.entity(&entity)?;
            }
        }
    }
    Ok(())
}

fn refusal(error: Error) -> ReadError {
    if let Error::SyntaxError { error: SyntaxError::ParserError { error } } = &error {
        let (LineColLocation::Pos((line, column)) | LineColLocation::Span((line, column), _)) = error.line_col;
        return ReadError::at(error.variant.message().into_owned(), line as u64, column as u64);
    }
    ReadError::at(error.to_string(), 1, 1)
}

/// A clause that a frame has too often or too rarely: the last line with it, or the head of the frame.
fn misplaced(error: &CardinalityError, lines: &[&str], start: usize) -> ReadError {
    let (CardinalityError::MissingClause { name }
    | CardinalityError::DuplicateClauses { name }
    | CardinalityError::SingleClause { name }) = error;
    let tag = format!("{name}:");
    let frame = (start..).zip(&lines[start..]);
    let frame = frame.take_while(|(at, line)| *at == start || !line.trim_start().starts_with('['));
    let line = frame.filter(|(_, line)| line.trim_start().starts_with(&tag)).map(|(at, _)| at).last().unwrap_or(start);
    ReadError::at(error.to_string(), line as u64 + 1, 1)
}

/// Axioms in functional syntax are not read, but they must be whole.
fn whole_axioms(clauses: &[HeaderClause], lines: &[&str]) -> Result<(), ReadError> {
    for clause in clauses {
        let HeaderClause::OwlAxioms(axioms) = clause else { continue };
        let (mut open, mut quoted) = (0_i64, false);
        for c in axioms.as_str().chars() {
            match c {
                '"' => quoted = !quoted,
                '(' if !quoted => open += 1,
                ')' if !quoted => open -= 1,
                _ => {}
            }
            if open < 0 {
                break;
            }
        }
        if open != 0 {
            let line = lines.iter().position(|line| line.trim_start().starts_with("owl-axioms:")).unwrap_or(0);
            return Err(ReadError::at("owl-axioms has brackets that do not match", line as u64 + 1, 1));
        }
    }
    Ok(())
}

/// A prefix stands for one place, and a place has one prefix.
fn one_space_each(clauses: &[HeaderClause], lines: &[&str]) -> Result<(), ReadError> {
    let mut spaces: Vec<(&str, &str)> = Vec::new();
    for clause in clauses {
        let HeaderClause::Idspace(prefix, url, _) = clause else { continue };
        let space = (prefix.as_str(), url.as_str());
        let clash = spaces.iter().any(|known| *known != space && (known.0 == space.0 || known.1 == space.1));
        if clash {
            let says = |line: &&str| line.trim_start().starts_with("idspace:") && line.contains(space.1);
            let line = lines.iter().position(says).unwrap_or(0);
            let what = format!("idspace {} is in conflict with another", space.0);
            return Err(ReadError::at(what, line as u64 + 1, 1));
        }
        spaces.push(space);
    }
    Ok(())
}

/// How short ids become IRIs.
#[derive(Default)]
struct Names {
    spaces: HashMap<String, String>,
    /// Where ids without a prefix live.
    own: String,
}

impl Names {
    fn iri(&self, id: &Ident) -> String {
        match id {
            Ident::Url(url) => url.as_str().to_owned(),
            Ident::Prefixed(id) => match self.spaces.get(id.prefix()) {
                Some(space) => format!("{space}{}", encoded(id.local())),
                None => format!("{PURL}{}_{}", encoded(id.prefix()), encoded(id.local())),
            },
            Ident::Unprefixed(id) => format!("{PURL}{}#{}", self.own, encoded(id.as_str())),
        }
    }
}

/// What an IRI cannot hold, percent-encoded.
fn encoded(part: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet = &percent_encoding::CONTROLS
        .add(b' ')
        .add(b'<')
        .add(b'>')
        .add(b'"')
        .add(b'{')
        .add(b'}')
        .add(b'|')
        .add(b'\\')
        .add(b'^')
        .add(b'`');
    percent_encoding::utf8_percent_encode(part, KEPT).to_string()
}

struct Reader<'a> {
    names: Names,
    blanks: usize,
    take: Take<'a>,
}

impl Reader<'_> {
    fn header(&mut self, clauses: &[HeaderClause]) -> Result<(), ReadError> {
        for clause in clauses {
            match clause {
                HeaderClause::Ontology(name) => self.names.own = encoded(name.as_str()),
                HeaderClause::Idspace(prefix, url, _) => {
                    self.names.spaces.insert(prefix.as_str().to_owned(), url.as_str().to_owned());
                }
                _ => {}
            }
        }
        if self.names.own.is_empty() {
            self.names.own = "unnamed".to_owned();
        }
        let ontology = format!("{PURL}{}.owl", self.names.own);
        self.node(&ontology, RDF_TYPE, OWL_ONTOLOGY)?;
        for clause in clauses {
            if let HeaderClause::Import(import) = clause {
                self.node(&ontology, OWL_IMPORTS, import.clone().into_url().as_ref())?;
            }
        }
        Ok(())
    }

    fn entity(&mut self, frame: &Frame) -> Result<(), ReadError> {
        match frame {
            Frame::Header(_) => Ok(()),
            Frame::Term(frame) => {
                let iri = self.named(frame.id().as_inner().as_id(), OWL_CLASS)?;
                let genus: Vec<&Line<TermClause>> = frame
                    .clauses()
                    .iter()
                    .filter(|line| matches!(line.as_inner(), TermClause::IntersectionOf(..)))
                    .collect();
                self.genus(&iri, &genus)?;
                frame.clauses().iter().try_for_each(|line| self.term(&iri, line.as_inner()))
            }
            Frame::Typedef(frame) => {
                let tag = |line: &Line<TypedefClause>| matches!(line.as_inner(), TypedefClause::IsMetadataTag(true));
                let metadata = frame.clauses().iter().any(tag);
                let kind = if metadata { OWL_ANNOTATION_PROPERTY } else { OWL_OBJECT_PROPERTY };
                let iri = self.named(frame.id().as_inner().as_id(), kind)?;
                frame.clauses().iter().try_for_each(|line| self.typedef(&iri, line.as_inner()))
            }
            Frame::Instance(frame) => {
                let iri = self.named(frame.id().as_inner().as_id(), OWL_INDIVIDUAL)?;
                frame.clauses().iter().try_for_each(|line| self.instance(&iri, line.as_inner()))
            }
        }
    }

    fn term(&mut self, iri: &str, clause: &TermClause) -> Result<(), ReadError> {
        use TermClause as Clause;
        match clause {
            Clause::Name(name) => self.text(iri, RDFS_LABEL, name.as_str()),
            Clause::Namespace(space) => self.text(iri, OIO_NAMESPACE, &space.to_string()),
            Clause::AltId(id) => self.text(iri, OIO_ALT_ID, &id.to_string()),
            Clause::Def(definition) => self.text(iri, OBO_DEFINITION, definition.text().as_str()),
            Clause::Comment(comment) => self.text(iri, RDFS_COMMENT, comment.as_str()),
            Clause::Subset(subset) => self.text(iri, OIO_SUBSET, &subset.to_string()),
            Clause::Synonym(synonym) => self.synonym(iri, synonym),
            Clause::Xref(xref) => self.xref(iri, xref),
            Clause::PropertyValue(value) => self.value(iri, value),
            Clause::IsA(id) => self.link(iri, RDFS_SUB_CLASS, id.as_id()),
            Clause::UnionOf(id) => self.text(iri, OWL_UNION, &format!("<{}>", self.names.iri(id.as_id()))),
            Clause::EquivalentTo(id) => self.link(iri, OWL_EQUIVALENT_CLASS, id.as_id()),
            Clause::DisjointFrom(id) => self.link(iri, OWL_DISJOINT, id.as_id()),
            Clause::Relationship(property, id) => {
                let restriction = self.restriction(property.as_id(), id.as_id())?;
                self.node(iri, RDFS_SUB_CLASS, &restriction)
            }
            Clause::IsObsolete(obsolete) => self.deprecated(iri, *obsolete),
            Clause::ReplacedBy(id) => self.link(iri, OBO_REPLACED_BY, id.as_id()),
            Clause::Consider(id) => self.link(iri, OIO_CONSIDER, id.as_id()),
            // Who wrote an entry is no part of what it says; the intersection is read as a whole.
            Clause::IsAnonymous(_)
            | Clause::Builtin(_)
            | Clause::IntersectionOf(..)
            | Clause::CreatedBy(_)
            | Clause::CreationDate(_) => Ok(()),
        }
    }

    fn typedef(&mut self, iri: &str, clause: &TypedefClause) -> Result<(), ReadError> {
        use TypedefClause as Clause;
        match clause {
            Clause::Name(name) => self.text(iri, RDFS_LABEL, name.as_str()),
            Clause::Def(definition) => self.text(iri, OBO_DEFINITION, definition.text().as_str()),
            Clause::Comment(comment) => self.text(iri, RDFS_COMMENT, comment.as_str()),
            Clause::AltId(id) => self.text(iri, OIO_ALT_ID, &id.to_string()),
            Clause::Synonym(synonym) => self.synonym(iri, synonym),
            Clause::Xref(xref) => self.xref(iri, xref),
            Clause::PropertyValue(value) => self.value(iri, value),
            Clause::Domain(id) => self.link(iri, RDFS_DOMAIN, id.as_id()),
            Clause::Range(id) => self.link(iri, RDFS_RANGE, id.as_id()),
            Clause::IsA(id) => self.link(iri, RDFS_SUB_PROPERTY, id.as_id()),
            Clause::EquivalentTo(id) => self.link(iri, OWL_EQUIVALENT_PROPERTY, id.as_id()),
            Clause::InverseOf(id) => self.link(iri, OWL_INVERSE, id.as_id()),
            Clause::IsObsolete(obsolete) => self.deprecated(iri, *obsolete),
            Clause::ReplacedBy(id) => self.link(iri, OBO_REPLACED_BY, id.as_id()),
            Clause::Consider(id) => self.link(iri, OIO_CONSIDER, id),
            // How a reasoner may use a property.
            _ => Ok(()),
        }
    }

    fn instance(&mut self, iri: &str, clause: &InstanceClause) -> Result<(), ReadError> {
        use InstanceClause as Clause;
        match clause {
            Clause::Name(name) => self.text(iri, RDFS_LABEL, name.as_str()),
            Clause::Def(definition) => self.text(iri, OBO_DEFINITION, definition.text().as_str()),
            Clause::Comment(comment) => self.text(iri, RDFS_COMMENT, comment.as_str()),
            Clause::AltId(id) => self.text(iri, OIO_ALT_ID, &id.to_string()),
            Clause::Synonym(synonym) => self.synonym(iri, synonym),
            Clause::Xref(xref) => self.xref(iri, xref),
            Clause::PropertyValue(value) => self.value(iri, value),
            Clause::InstanceOf(id) => self.link(iri, RDF_TYPE, id.as_id()),
            Clause::IsObsolete(obsolete) => self.deprecated(iri, *obsolete),
            Clause::ReplacedBy(id) => self.link(iri, OBO_REPLACED_BY, id.as_id()),
            Clause::Consider(id) => self.link(iri, OIO_CONSIDER, id),
            Clause::Relationship(property, id) => {
                let (property, id) = (self.names.iri(property.as_id()), self.names.iri(id));
                self.node(iri, &property, &id)
            }
            Clause::IsAnonymous(_)
            | Clause::Namespace(_)
            | Clause::Subset(_)
            | Clause::CreatedBy(_)
            | Clause::CreationDate(_) => Ok(()),
        }
    }

    /// `intersection_of` clauses are one equivalent class.
    fn genus(&mut self, iri: &str, clauses: &[&Line<TermClause>]) -> Result<(), ReadError> {
        let mut parts = Vec::new();
        for line in clauses {
            let TermClause::IntersectionOf(property, id) = line.as_inner() else { continue };
            parts.push(match property {
                None => self.names.iri(id.as_id()),
                Some(property) => self.restriction(property.as_id(), id.as_id())?,
            });
        }
        if parts.is_empty() {
            return Ok(());
        }
        let (whole, mut list) = (self.blank(), RDF_NIL.to_owned());
        for part in parts.iter().rev() {
            let cell = self.blank();
            self.node(&cell, RDF_FIRST, part)?;
            self.node(&cell, RDF_REST, &list)?;
            list = cell;
        }
        self.node(&whole, OWL_INTERSECTION, &list)?;
        self.node(iri, OWL_EQUIVALENT_CLASS, &whole)
    }

    fn restriction(&mut self, property: &Ident, id: &Ident) -> Result<String, ReadError> {
        let blank = self.blank();
        let (property, id) = (self.names.iri(property), self.names.iri(id));
        self.node(&blank, RDF_TYPE, OWL_RESTRICTION)?;
        self.node(&blank, OWL_ON_PROPERTY, &property)?;
        self.node(&blank, OWL_SOME, &id)?;
        Ok(blank)
    }

    fn synonym(&mut self, iri: &str, synonym: &Synonym) -> Result<(), ReadError> {
        let property = match synonym.scope() {
            SynonymScope::Exact => OIO_EXACT,
            SynonymScope::Broad => OIO_BROAD,
            SynonymScope::Narrow => OIO_NARROW,
            SynonymScope::Related => OIO_RELATED,
        };
        self.text(iri, property, synonym.description().as_str())
    }

    fn xref(&mut self, iri: &str, xref: &Xref) -> Result<(), ReadError> {
        self.text(iri, OIO_XREF, &xref.id().to_string())
    }

    fn value(&mut self, iri: &str, value: &PropertyValue) -> Result<(), ReadError> {
        let property = self.names.iri(value.property().as_id());
        match value {
            PropertyValue::Resource(value) => {
                let target = self.names.iri(value.target());
                self.node(iri, &property, &target)
            }
            PropertyValue::Literal(value) => self.text(iri, &property, value.literal().as_str()),
        }
    }

    fn deprecated(&mut self, iri: &str, obsolete: bool) -> Result<(), ReadError> {
        if obsolete { self.text(iri, OWL_DEPRECATED, "true") } else { Ok(()) }
    }

    fn named(&mut self, id: &Ident, kind: &str) -> Result<String, ReadError> {
        let iri = self.names.iri(id);
        self.node(&iri, RDF_TYPE, kind)?;
        self.text(&iri, OIO_ID, &id.to_string())?;
        Ok(iri)
    }

    fn blank(&mut self) -> String {
        self.blanks += 1;
        format!("_:{}", self.blanks)
    }

    fn link(&mut self, iri: &str, property: &str, id: &Ident) -> Result<(), ReadError> {
        let target = self.names.iri(id);
        self.node(iri, property, &target)
    }

    fn node(&mut self, subject: &str, property: &str, object: &str) -> Result<(), ReadError> {
        (self.take)(Statement::node(subject, property, object))
    }

    fn text(&mut self, subject: &str, property: &str, text: &str) -> Result<(), ReadError> {
        (self.take)(Statement::text(subject, property, text, ""))
    }
}
