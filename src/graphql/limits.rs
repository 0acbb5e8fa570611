//! How large a document may be, looked at before anything of it is validated or run.
//!
//! Counts follow fragments, each as often as it is spread, and stop at the first limit that is passed; so a document that
//! is small to write and large to run is refused as fast as one that is large to write.

use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, OperationType, Selection, SelectionSet};
use serde_json::{Map, Value};

use crate::{
    config,
    error::{Error, ErrorCode},
};

/// What an operation does.
pub(super) fn kind(document: &ExecutableDocument, name: Option<&str>) -> Option<OperationType> {
    operation(document, name).map(|operation| operation.ty)
}

fn operation<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Option<&'a OperationDefinition> {
    let mut operations = document.operations.iter();
    match name {
        Some(name) => operations.find(|(known, _)| known.is_some_and(|known| known == name)),
        None => operations.next(),
    }
    .map(|(_, operation)| &operation.node)
}

/// The variables of an operation: refused if one that must be there is not, and null for each that may be absent and is.
///
/// The library looks for the first kind only once it runs, and takes the second for a mistake where an argument counts
/// for complexity. Null and absent are the same to every field of the schema.
pub(super) fn variables(
    document: &ExecutableDocument,
    name: Option<&str>,
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    for defined in operation(document, name).into_iter().flat_map(|operation| &operation.variable_definitions) {
        let defined = &defined.node;
        let name = defined.name.node.as_str();
        if defined.default_value.is_some() && !given.contains_key(name) {
            continue;
        }
        if given.get(name).is_none_or(Value::is_null) {
            if !defined.var_type.node.nullable {
                return Err(Error::bad_input("variables", format!("{name} must be given")));
            }
            given.insert(name.to_owned(), Value::Null);
        }
    }
    Ok(given)
}

/// Refuses a document that passes a limit.
pub(super) fn check(document: &ExecutableDocument, limits: &config::Graphql) -> Result<(), Error> {
    for (_, operation) in document.operations.iter() {
        let mut count = Count { document, limits, seen: Seen::default(), within: Vec::new() };
        count.directives(operation.node.directives.len())?;
        count.selections(&operation.node.selection_set.node, 1)?;
    }
    // A fragment that no operation spreads is validated too.
    for (name, fragment) in &document.fragments {
        let mut count = Count { document, limits, seen: Seen::default(), within: vec![name] };
        count.selections(&fragment.node.selection_set.node, 2)?;
    }
    Ok(())
}

#[derive(Default)]
struct Seen {
    fields: usize,
    root_fields: usize,
    aliases: usize,
    directives: usize,
}

struct Count<'a> {
    document: &'a ExecutableDocument,
    limits: &'a config::Graphql,
    seen: Seen,
    /// Fragments that the selection at hand is inside of.
    within: Vec<&'a str>,
}

impl<'a> Count<'a> {
    fn selections(&mut self, set: &'a SelectionSet, depth: usize) -> Result<(), Error> {
        if set.items.is_empty() {
            return Ok(());
        }
        most(depth, self.limits.max_depth, "levels of fields")?;
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => {
                    self.seen.fields += 1;
                    most(self.seen.fields, self.limits.max_fields, "fields")?;
                    if depth == 1 {
                        self.seen.root_fields += 1;
                        most(self.seen.root_fields, self.limits.max_root_fields, "fields at the top")?;
                    }
                    self.seen.aliases += usize::from(field.node.alias.is_some());
                    most(self.seen.aliases, self.limits.max_aliases, "aliases")?;
                    self.directives(field.node.directives.len())?;
                    self.selections(&field.node.selection_set.node, depth + 1)?;
                }
                Selection::InlineFragment(inline) => {
                    self.directives(inline.node.directives.len())?;
                    self.selections(&inline.node.selection_set.node, depth)?;
                }
                Selection::FragmentSpread(spread) => {
                    self.directives(spread.node.directives.len())?;
                    // Spreads of nothing but spreads have no field to count.
                    self.seen.fields += 1;
                    most(self.seen.fields, self.limits.max_fields, "fields")?;
                    let name = spread.node.fragment_name.node.as_str();
                    if self.within.contains(&name) {
                        return Err(Error::bad_input("query", format!("the fragment {name} contains itself")));
                    }
                    if let Some(fragment) = self.document.fragments.get(name) {
                        self.within.push(name);
                        self.selections(&fragment.node.selection_set.node, depth)?;
                        self.within.pop();
                    }
                }
            }
        }
        Ok(())
    }

    fn directives(&mut self, more: usize) -> Result<(), Error> {
        self.seen.directives += more;
        most(self.seen.directives, self.limits.max_directives, "directives")
    }
}

fn most(found: usize, limit: usize, what: &str) -> Result<(), Error> {
    if found <= limit {
        return Ok(());
    }
    let error = Error::new(ErrorCode::BadUserInput, format!("query: more than {limit} {what}"));
    Err(Error { field: Some("query".to_owned()), ..error })
}
