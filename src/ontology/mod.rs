//! Ontologies: read from the formats they come in, kept in versions, shown, and linked to memories.
//!
//! `reader` turns a file into [`statement::Statement`]s, one by one; `model` makes terms of them; `plan` compares those with
//! what is stored; `differ` shows the difference and `import` applies it. `lexicon` holds the names of all terms for the write and the read path, `link`
//! links old memories. Knows nothing of faces and nothing of a particular store. To add a format: a file in `reader`, a row in
//! [`reader::Format`].

mod differ;
mod export;
mod import;
mod lexicon;
mod link;
mod model;
mod plan;
mod reader;
mod rules;
mod settings;
mod show;
mod statement;
mod words;

use std::sync::Arc;

use tokio::sync::Mutex;

pub use differ::{TermTexts, term_texts};
pub use export::export;
pub use import::{
    Comparison, ImportReply, ImportRequest, Progress, Skipped, Stage, UnderWay, begin, compare, import, in_force,
    linked, put_in_force, rollback, stage, stands, take_back, versions,
};
pub use lexicon::{ConceptLink, Lexicons, NamedConcept, Vocabulary};
pub use link::{link_behind, link_ops};
pub use model::{Counts, Model, Read};
pub use reader::{Format, Mapping, ReadError, Source, read};
pub use rules::{Action, Rule, Rules, Violation};
pub use settings::OntologySettings;
pub use show::{ConceptRecord, ConceptSummary, LabelRecord, NoteRecord, RelationRecord, VersionRecord, show};
pub use statement::{Object, Place, Statement};

use crate::ports::{Clock, GraphStore, OntologyStore};

/// What the ontology room works with.
pub struct OntologyContext {
    /// The terms.
    pub store: Arc<dyn OntologyStore>,
    /// The memories that are linked to them.
    pub graph: Arc<dyn GraphStore>,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// Names of terms, for linking.
    pub lexicons: Arc<Lexicons>,
    /// Limits.
    pub settings: OntologySettings,
    /// Held while memories are read and linked, so that neither a change of a memory nor another version comes between; the
    /// write path's own.
    pub turn: Arc<Mutex<()>>,
    /// Held by the one import or rollback that is under way.
    pub importing: Arc<Mutex<()>>,
    /// Steps done and to do of the one under way; see [`import::Progress`].
    pub progress: tokio::sync::watch::Sender<Progress>,
}
