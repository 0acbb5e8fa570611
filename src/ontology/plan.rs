//! What an import changes: the terms of a file against those that are stored. Pure.

use std::collections::BTreeMap;

use crate::domain::Term;

/// The difference between a file and what is stored of its vocabulary.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Terms to put.
    pub put: Vec<Term>,
    /// How many of them are not there yet.
    pub new: usize,
    /// IRIs of terms that the file no longer has.
    pub removed: Vec<String>,
    /// Terms that are as they are.
    pub unchanged: usize,
}

impl Plan {
    /// `stored` has the hash of each stored term.
    pub fn of(terms: Vec<Term>, mut stored: BTreeMap<String, [u8; 32]>) -> Self {
        let mut plan = Self::default();
        for term in terms {
            match stored.remove(&term.iri) {
                Some(hash) if hash == term.hash() => plan.unchanged += 1,
                Some(_) => plan.put.push(term),
                None => {
                    plan.new += 1;
                    plan.put.push(term);
                }
            }
        }
        plan.removed = stored.into_keys().collect();
        plan
    }

    /// Terms that become others.
    pub fn changed(&self) -> usize {
        self.put.len() - self.new
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }

    /// Share of the stored terms that would go.
    pub fn removed_share(&self) -> f64 {
        let stored = self.unchanged + self.changed() + self.removed.len();
        if stored == 0 { 0.0 } else { self.removed.len() as f64 / stored as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TermKind;

    fn term(iri: &str, label: &str) -> Term {
        Term {
            iri: iri.to_owned(),
            kind: TermKind::Concept,
            label: label.to_owned(),
            labels: Vec::new(),
            links: Vec::new(),
            notes: Vec::new(),
            deprecated: false,
        }
    }

    #[test]
    fn a_plan_tells_new_changed_removed_and_unchanged_apart() {
        let stored = ["a", "b", "c"].map(|iri| (iri.to_owned(), term(iri, "before").hash()));
        let plan = Plan::of(vec![term("a", "before"), term("b", "after"), term("d", "")], stored.into());
        assert_eq!((plan.new, plan.changed(), plan.unchanged), (1, 1, 1));
        assert_eq!(plan.removed, ["c"]);
        assert!((plan.removed_share() - 1.0 / 3.0).abs() < 1e-9);
        let same = Plan::of(vec![term("a", "x")], [("a".to_owned(), term("a", "x").hash())].into());
        assert!(same.is_empty());
    }
}
