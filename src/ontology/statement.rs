//! What every reader gives: one statement at a time, as RDF has them.

/// Where in a file something stands, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: u64,
}

/// What a statement says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// Another node: an IRI, or `_:` and a name within the file.
    Node(String),
    /// A text, and its BCP 47 tag or nothing.
    Text {
        /// The text.
        text: String,
        /// The tag; empty where there is none.
        language: String,
    },
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What it is about: an IRI, or `_:` and a name within the file.
    pub subject: String,
    /// IRI of the property.
    pub predicate: String,
    /// What it says.
    pub object: Object,
}

impl Statement {
    /// A statement about a node.
    pub fn node(subject: &str, predicate: &str, object: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), predicate: predicate.to_owned(), object: Object::Node(object.into()) }
    }

    /// A statement of a text.
    pub fn text(subject: &str, predicate: &str, text: impl Into<String>, language: &str) -> Self {
        let object = Object::Text { text: text.into(), language: language.to_owned() };
        Self { subject: subject.to_owned(), predicate: predicate.to_owned(), object }
    }
}
