//! The names of all terms in force, compiled once a version and shared by the write and the read path.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::settings::OntologySettings;
use crate::{
    domain::{ConceptId, EdgeKind, LabelRole, Relation, Term},
    ports::{OntologyStore, PortError, StoredTerm},
    text::{Lexicon, Limits, Name},
};

/// Terms read at once.
const PAGE: usize = 5000;
/// How long a version is taken for the one in force without asking: another process may have made another.
const ASKED_EVERY: Duration = Duration::from_secs(2);
/// How far below a concept its narrower ones are taken for what it names, and how many at most.
const DEPTH: usize = 3;
const NARROWER: usize = 64;
/// Concepts of a query that count: a pasted text names hundreds.
const NAMED: usize = 32;

/// A memory's link to a concept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConceptLink {
    /// The concept.
    pub concept: ConceptId,
    /// `About`, if it is the title, else `Mentions`.
    pub kind: EdgeKind,
    /// How sure that is, 0..=1.
    pub weight: f32,
}

/// A concept that a query names.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedConcept {
    /// Its IRI.
    pub iri: String,
    /// What it is called.
    pub label: String,
    /// How sure that is, 0..=1.
    pub weight: f32,
    /// Concepts below it: IRI, name, and how much of it they are.
    pub narrower: Vec<(String, String, f32)>,
}

#[derive(Debug)]
struct Entry {
    id: ConceptId,
    iri: String,
    label: String,
    narrower: Vec<u32>,
}

/// The names of one version.
#[derive(Debug, Default)]
pub struct Vocabulary {
    version: u64,
    lexicon: Lexicon,
    entries: Vec<Entry>,
    max_links: usize,
}

impl Vocabulary {
    /// The version it is of; 0 before the first.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The concepts that a memory is about or names, the surest first.
    pub fn links(&self, title: Option<&str>, content: &str) -> Vec<ConceptLink> {
        if self.lexicon.is_empty() {
            return Vec::new();
        }
        let mut links: HashMap<u32, (EdgeKind, f32)> = HashMap::new();
        let mut add = |kind: EdgeKind, senses: Vec<(u32, f32)>| {
            for (owner, weight) in senses {
                let known = links.entry(owner).or_insert((kind, weight));
                // What it is about comes first, and it is not said twice.
                if kind == known.0 {
                    known.1 = known.1.max(weight);
                }
            }
        };
        if let Some(title) = title {
            add(EdgeKind::About, self.lexicon.whole(title));
        }
        for text in title.into_iter().chain([content]) {
            for found in self.lexicon.find(text) {
                add(EdgeKind::Mentions, found.senses);
            }
        }
        let mut links: Vec<ConceptLink> = links
            .into_iter()
            .map(|(owner, (kind, weight))| ConceptLink { concept: self.entries[owner as usize].id, kind, weight })
            .collect();
        links.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.concept.cmp(&b.concept)));
        links.truncate(self.max_links);
        links
    }

    /// The first concepts that a query names, with those below them.
    pub fn named(&self, query: &str) -> Vec<NamedConcept> {
        let mut named: Vec<NamedConcept> = Vec::new();
        let mut seen = HashSet::new();
        for (owner, weight) in self.lexicon.find(query).into_iter().flat_map(|found| found.senses) {
            if seen.len() < NAMED && seen.insert(owner) {
                let Entry { iri, label, .. } = &self.entries[owner as usize];
                let narrower = self.below(owner);
                named.push(NamedConcept { iri: iri.clone(), label: label.clone(), weight, narrower });
            }
        }
        named
    }

    /// The IRI of the concept with this id or name.
    pub fn iri_of(&self, name: &str) -> Option<String> {
        let by_id = name.parse::<ConceptId>().ok().and_then(|id| self.entries.iter().find(|entry| entry.id == id));
        let by_name = || self.lexicon.whole(name).first().map(|(owner, _)| &self.entries[*owner as usize]);
        by_id.or_else(by_name).map(|entry| entry.iri.clone())
    }

    /// Whether a concept is the one with this IRI, or below it.
    pub fn is_below(&self, concept: ConceptId, iri: &str) -> bool {
        let Some(top) = self.entries.iter().position(|entry| entry.iri == iri) else { return false };
        let (mut seen, mut waiting) = (HashSet::from([top]), vec![top]);
        while let Some(place) = waiting.pop() {
            if self.entries[place].id == concept {
                return true;
            }
            let narrower = self.entries[place].narrower.iter().map(|place| *place as usize);
            waiting.extend(narrower.filter(|place| seen.insert(*place)));
        }
        false
    }

    /// Level by level; each level counts half of the one above.
    fn below(&self, owner: u32) -> Vec<(String, String, f32)> {
        let (mut seen, mut level, mut found) = (HashSet::from([owner]), vec![owner], Vec::new());
        let mut weight = 1.0;
        for _ in 0..DEPTH {
            weight /= 2.0;
            let next: Vec<u32> = level
                .iter()
                .flat_map(|owner| &self.entries[*owner as usize].narrower)
                .copied()
                .filter(|owner| seen.insert(*owner))
                .take(NARROWER - found.len())
                .collect();
            found.extend(next.iter().map(|owner| {
                let Entry { iri, label, .. } = &self.entries[*owner as usize];
                (iri.clone(), label.clone(), weight)
            }));
            level = next;
        }
        found
    }

    /// Compiles terms. Deprecated ones hand their names on to what replaces them.
    fn of(version: u64, terms: &[StoredTerm], settings: &OntologySettings) -> Self {
        let mut places: HashMap<&str, u32> = HashMap::new();
        let mut entries: Vec<Entry> = Vec::new();
        for StoredTerm { term, .. } in terms.iter().filter(|stored| stored.term.kind.is_concept()) {
            places.entry(&term.iri).or_insert_with(|| {
                let (id, iri, label) = (Term::concept_id(&term.iri), term.iri.clone(), term.label.clone());
                entries.push(Entry { id, iri, label, narrower: Vec::new() });
                u32::try_from(entries.len() - 1).expect("fewer terms than statements of a file")
            });
        }
        for StoredTerm { term, .. } in terms {
            let Some(place) = places.get(term.iri.as_str()) else { continue };
            for broader in term.linked(Relation::Broader).chain(term.linked(Relation::InstanceOf)) {
                if let Some(broader) = places.get(broader).filter(|broader| *broader != place) {
                    entries[*broader as usize].narrower.push(*place);
                }
            }
        }
        let names = terms.iter().flat_map(|StoredTerm { term, .. }| {
            let owner = if term.deprecated {
                term.linked(Relation::ReplacedBy).find_map(|iri| places.get(iri))
            } else {
                places.get(term.iri.as_str())
            };
            owner.into_iter().flat_map(|owner| term.labels.iter().map(|label| (*owner, label)))
        });
        let names = names.map(|(owner, label)| Name {
            text: &label.text,
            owner,
            weight: match label.role {
                LabelRole::Preferred => 1.0,
                LabelRole::Alternative => 0.9,
                LabelRole::Hidden => 0.6,
            },
            inflected: label.language.is_empty() || label.language == "en" || label.language.starts_with("en-"),
        });
        let limits = Limits { min_chars: settings.min_label_chars, stopped: settings.stop_labels.clone() };
        let lexicon = Lexicon::of(names, &limits);
        Self { version, lexicon, entries, max_links: settings.max_links }
    }
}

/// Hands out the names in force.
pub struct Lexicons {
    store: Arc<dyn OntologyStore>,
    settings: OntologySettings,
    loaded: Mutex<(Arc<Vocabulary>, Option<Instant>)>,
    refreshing: tokio::sync::Mutex<()>,
}

impl Lexicons {
    /// None yet.
    pub fn new(store: Arc<dyn OntologyStore>, settings: OntologySettings) -> Self {
        let loaded = Mutex::default();
        Self { store, settings, loaded, refreshing: tokio::sync::Mutex::default() }
    }

    /// The names as they were last compiled.
    pub fn loaded(&self) -> Arc<Vocabulary> {
        self.lock().0.clone()
    }

    /// The names in force, as far as a look every two seconds says. A store that is away leaves the last ones.
    pub async fn current(&self) -> Arc<Vocabulary> {
        let (first, due) = {
            let asked = self.lock().1;
            (asked.is_none(), asked.is_none_or(|asked| asked.elapsed() > ASKED_EVERY))
        };
        // The first ones are waited for; who comes while newer ones are compiled goes on with the last.
        let turn = match due {
            true if first => Some(self.refreshing.lock().await),
            true => self.refreshing.try_lock().ok(),
            false => None,
        };
        if let Some(turn) = turn {
            // On the heap, or every write and read would carry it.
            if let Err(error) = Box::pin(self.compile(&turn)).await {
                tracing::warn!(%error, "the names of the ontology in force could not be read");
            }
            self.lock().1 = Some(Instant::now());
        }
        self.loaded()
    }

    /// The names in force now.
    pub async fn refresh(&self) -> Result<Arc<Vocabulary>, PortError> {
        let turn = self.refreshing.lock().await;
        self.compile(&turn).await
    }

    async fn compile(&self, _turn: &tokio::sync::MutexGuard<'_, ()>) -> Result<Arc<Vocabulary>, PortError> {
        let version = self.store.current().await?;
        let loaded = self.loaded();
        if loaded.version == version {
            self.lock().1 = Some(Instant::now());
            return Ok(loaded);
        }
        let (mut terms, mut last): (Vec<StoredTerm>, Option<(String, String)>) = (Vec::new(), None);
        loop {
            let after = last.as_ref().map(|(vocabulary, iri)| (vocabulary.as_str(), iri.as_str()));
            let page = self.store.list_terms(None, after, PAGE).await?;
            last = page.last().map(|stored| (stored.vocabulary.clone(), stored.term.iri.clone()));
            let whole = page.len() < PAGE;
            terms.extend(page);
            if whole {
                break;
            }
        }
        let settings = self.settings.clone();
        let compiled = tokio::task::spawn_blocking(move || Vocabulary::of(version, &terms, &settings)).await;
        let compiled = compiled.map_err(|_| {
            PortError::new(
                crate::ports::PortErrorKind::Internal,
                "lexicon",
                "compile",
                "the names could not be compiled",
            )
        })?;
        let compiled = Arc::new(compiled);
        *self.lock() = (compiled.clone(), Some(Instant::now()));
        Ok(compiled)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Arc<Vocabulary>, Option<Instant>)> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
