//! The terms that an import would change, as a text for whoever has to agree: one block a term, one line for each thing that is
//! said of it, so that two versions of it can be compared like any text.

use std::fmt::Write as _;

use super::{OntologyContext, import::Comparison};
use crate::{domain::Term, error::Error};

/// Terms that are written out; those that go come first.
const SHOWN: usize = 1000;

/// The terms that would change, as they are and as they would be.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TermTexts {
    /// As they are.
    pub before: String,
    /// As they would be.
    pub after: String,
    /// How many of them are written out.
    pub shown: usize,
}

/// Writes out what an import would change.
pub async fn term_texts(ctx: &OntologyContext, compared: &Comparison) -> Result<TermTexts, Error> {
    let plan = &compared.plan;
    let removed: Vec<String> = plan.removed.iter().take(SHOWN).cloned().collect();
    let put: Vec<&Term> = plan.put.iter().take(SHOWN - removed.len()).collect();
    let shown = removed.len() + put.len();
    let asked: Vec<String> = removed.into_iter().chain(put.iter().map(|term| term.iri.clone())).collect();
    let stored = ctx.store.terms(&asked).await?;
    let stored = stored.iter().filter(|stored| stored.vocabulary == compared.reply.vocabulary);
    Ok(TermTexts { before: text_of(stored.map(|stored| &stored.term)), after: text_of(put.into_iter()), shown })
}

fn text_of<'t>(terms: impl Iterator<Item = &'t Term>) -> String {
    let mut terms: Vec<&Term> = terms.collect();
    terms.sort_by(|one, other| one.iri.cmp(&other.iri));
    terms.into_iter().fold(String::new(), |mut text, term| {
        write_term(&mut text, term);
        text
    })
}

/// Quoted texts stay on one line and show what is hidden in them.
fn write_term(text: &mut String, term: &Term) {
    let deprecated = if term.deprecated { ", not to be used" } else { "" };
    let _ = writeln!(text, "<{}> {} {:?}{deprecated}", term.iri, term.kind, term.label);
    for label in &term.labels {
        let _ = writeln!(text, "  {} {} {:?}", label.role, tag(&label.language), label.text);
    }
    for link in &term.links {
        let _ = writeln!(text, "  {} <{}>", link.relation, link.to);
    }
    for note in &term.notes {
        let _ = writeln!(text, "  <{}> {} {:?}", note.property, tag(&note.language), note.value);
    }
}

fn tag(language: &str) -> &str {
    if language.is_empty() { "-" } else { language }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Label, LabelRole, Note, Relation, TermKind, TermLink};

    #[test]
    fn a_term_is_a_block_of_lines_in_which_nothing_hides() {
        let term = Term {
            iri: "http://e/a".to_owned(),
            kind: TermKind::Concept,
            label: "Alpha".to_owned(),
            labels: vec![Label { role: LabelRole::Preferred, language: "zh".to_owned(), text: "阿尔法".to_owned() }],
            links: vec![TermLink { relation: Relation::Broader, to: "http://e/b".to_owned() }],
            notes: vec![Note {
                property: "http://e/note".to_owned(),
                value: "one\ntwo\u{202e}".to_owned(),
                language: String::new(),
            }],
            deprecated: true,
        };
        assert_eq!(
            text_of([&term].into_iter()),
            "<http://e/a> concept \"Alpha\", not to be used\n  preferred zh \"阿尔法\"\n  broader <http://e/b>\n  \
             <http://e/note> - \"one\\ntwo\\u{202e}\"\n"
        );
    }
}
