//! What blank nodes stand for: lists, restrictions and classes made of others, as text.

use super::Model;
use crate::ontology::{statement::Object, words::*};

/// Deeper than this an expression is cut.
const DEPTH: usize = 16;
/// Members of a list that are read; a list that leads back into itself ends here too.
const MEMBERS: usize = 10_000;

/// Reads the structure that hangs on a node.
pub(super) struct Structure<'a> {
    pub model: &'a Model,
}

impl<'a> Structure<'a> {
    /// The nodes of an RDF list.
    pub fn list(&self, head: &'a str) -> Vec<&'a str> {
        let (mut members, mut cell) = (Vec::new(), head);
        while cell != RDF_NIL && members.len() < MEMBERS {
            members.extend(self.model.nodes(cell, RDF_FIRST));
            match self.model.nodes(cell, RDF_REST).next() {
                Some(rest) => cell = rest,
                None => break,
            }
        }
        members
    }

    /// What a class is together: the parts of an intersection, or itself.
    pub fn parts(&self, node: &'a str) -> Vec<&'a str> {
        match self.model.nodes(node, OWL_INTERSECTION).next() {
            Some(list) => self.list(list),
            None => vec![node],
        }
    }

    /// The classes that a restriction asks some member of.
    pub fn some_of(&self, node: &'a str) -> impl Iterator<Item = &'a str> {
        let some = self.model.nodes(node, OWL_SOME).chain(self.model.nodes(node, OWL_VALUE));
        some.filter(|class| !class.starts_with("_:"))
    }

    /// A node as text: an IRI in angle brackets, a blank node as the expression it stands for.
    pub fn text(&self, node: &str) -> String {
        let mut text = String::new();
        self.write(node, 0, &mut text);
        text
    }

    fn write(&self, node: &str, depth: usize, text: &mut String) {
        if !node.starts_with("_:") {
            text.push_str(&format!("<{node}>"));
            return;
        }
        if depth > DEPTH {
            text.push('…');
            return;
        }
        let said = self.model.said(node);
        let of = |predicate: &str| said.iter().find(|(said, _)| **said == *predicate).map(|(_, object)| object);
        if let Some(Object::Node(property)) = of(OWL_ON_PROPERTY) {
            self.write(property, depth + 1, text);
            for (predicate, word) in [
                (OWL_SOME, "some"),
                (OWL_ALL, "only"),
                (OWL_VALUE, "value"),
                (OWL_MIN, "min"),
                (OWL_MAX, "max"),
                (OWL_EXACTLY, "exactly"),
                (OWL_MIN_QUALIFIED, "min"),
                (OWL_MAX_QUALIFIED, "max"),
                (OWL_EXACTLY_QUALIFIED, "exactly"),
            ] {
                if let Some(object) = of(predicate) {
                    text.push_str(&format!(" {word} "));
                    self.object(object, depth + 1, text);
                }
            }
            if let Some(class) = of(OWL_ON_CLASS) {
                text.push(' ');
                self.object(class, depth + 1, text);
            }
            return;
        }
        for (predicate, word) in [(OWL_UNION, " or "), (OWL_INTERSECTION, " and "), (OWL_ONE_OF, ", ")] {
            if let Some(Object::Node(list)) = of(predicate) {
                let mut members: Vec<String> = self.list_below(list, depth);
                members.sort_unstable();
                text.push_str(&format!("({})", members.join(word)));
                return;
            }
        }
        if let Some(class) = of(OWL_COMPLEMENT) {
            text.push_str("not ");
            self.object(class, depth + 1, text);
            return;
        }
        // Any other structure: what is said of it, in order.
        let mut parts: Vec<String> = Vec::new();
        for (predicate, object) in said {
            let mut part = format!("<{predicate}> ");
            self.object(object, depth + 1, &mut part);
            parts.push(part);
        }
        parts.sort_unstable();
        text.push_str(&format!("[{}]", parts.join("; ")));
    }

    fn list_below(&self, head: &str, depth: usize) -> Vec<String> {
        let (mut members, mut cell) = (Vec::new(), head.to_owned());
        while cell != RDF_NIL && members.len() < MEMBERS {
            for object in
                self.model.said(&cell).iter().filter(|(said, _)| **said == *RDF_FIRST).map(|(_, object)| object)
            {
                let mut member = String::new();
                self.object(object, depth + 1, &mut member);
                members.push(member);
            }
            let Some(rest) = self.model.nodes(&cell, RDF_REST).next().map(str::to_owned) else { break };
            cell = rest;
        }
        members
    }

    fn object(&self, object: &Object, depth: usize, text: &mut String) {
        match object {
            Object::Node(node) => self.write(node, depth, text),
            Object::Text { text: value, .. } => text.push_str(value),
        }
    }
}
