//! Words: a question in Lucene's language, and its answers in order.

use serde::Deserialize;

use super::{
    ask::{ask_some, filter as filter_of, known as moment},
    connection::Connection,
    error::Neo4jError,
    rows::{scope_term, uuid},
    statements::{KEYWORD, KEYWORD_THEN},
};
use crate::{
    domain::{MemoryId, Visibility},
    ports::{KeywordQuery, Scored},
};

/// Scopes that are named to Lucene, which takes 1,024 clauses, terms included. Whoever sees more is only filtered by the statement, which looks at each answer.
const MAX_SCOPES: usize = 512;
/// Answers asked for beyond the limit: as many may be equal to the last one before more are asked for.
const SPARE: usize = 50;

#[derive(Deserialize)]
struct Row {
    id: String,
    score: f64,
}

pub(super) async fn keyword(
    connection: &Connection,
    query: &KeywordQuery,
    visibility: &Visibility,
) -> Result<Vec<Scored>, Neo4jError> {
    let Some(expression) = expression(&query.distinct_terms(), visibility) else { return Ok(Vec::new()) };
    let mut asked = query.limit.saturating_add(SPARE);
    let rows = loop {
        let statement = if query.filter.as_of.known.is_some() { &KEYWORD_THEN } else { &KEYWORD };
        let mut call = ask_some(statement, visibility, asked)
            .param("query", expression.as_str())
            .param("filter", filter_of(&query.filter));
        if let Some(known) = query.filter.as_of.known {
            call = call.param("known", moment(known));
        }
        let rows: Vec<Row> = connection.read(call).await?;
        // What was left out scores at most as much as the last row; one that scores the same may come before it by id.
        let last_wanted = query.limit.checked_sub(1).and_then(|place| rows.get(place));
        let settled = last_wanted.zip(rows.last()).is_none_or(|(wanted, last)| wanted.score > last.score);
        if rows.len() < asked || settled {
            break rows;
        }
        asked = asked.saturating_mul(4);
    };
    let mut found = rows
        .iter()
        .map(|row| {
            #[expect(clippy::cast_possible_truncation, reason = "Lucene gives an f32")]
            Ok(Scored { id: MemoryId(uuid(&row.id)?), score: row.score as f32 })
        })
        .collect::<Result<Vec<_>, Neo4jError>>()?;
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    found.truncate(query.limit);
    Ok(found)
}

/// The question in Lucene's language, the reader's scopes inside it without a say in the score; `None` if nothing can
/// answer.
fn expression(terms: &[String], visibility: &Visibility) -> Option<String> {
    if terms.is_empty() || visibility.keys().is_some_and(|keys| keys.is_empty()) {
        return None;
    }
    let terms: Vec<String> = terms.iter().map(|term| quoted(term)).collect();
    let terms = terms.join(" OR ");
    Some(match visibility.keys() {
        Some(keys) if keys.len() <= MAX_SCOPES => {
            let scopes: Vec<String> = keys.iter().map(|key| scope_term(key)).collect();
            format!("+terms:({terms}) +scope_term:({})^0", scopes.join(" OR "))
        }
        _ => format!("+terms:({terms})"),
    })
}

/// A term in Lucene's language: a quoted string, in which only the quote and the backslash have a meaning.
fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Scope;

    #[test]
    fn syntax_is_quoted_and_scopes_have_no_say() {
        let terms = ["a\"b\\".to_owned(), "AND".to_owned()];
        let only = Visibility::only(&Scope::Global);
        let expected = format!(r#"+terms:("a\"b\\" OR "AND") +scope_term:({})^0"#, scope_term("global"));
        assert_eq!(expression(&terms, &only), Some(expected));
        let system = Visibility::system("a test");
        assert_eq!(expression(&terms[1..], &system).as_deref(), Some(r#"+terms:("AND")"#));
        assert_eq!(expression(&[], &system), None);
    }
}
