//! Ontologies: files of others, suites of others, imports, links, kills.

mod files;
mod flows;
mod killed;
mod linking;
mod named;
mod proposed;
mod suites;

use std::path::PathBuf;

use recollect::{
    config::Config,
    ontology::{Model, OntologySettings, Read, ReadError, Source, Statement, read},
};

/// A file of `tests/data/ontology`.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/ontology").join(name)
}

fn settings() -> OntologySettings {
    Config::load(None).expect("the defaults").ontology
}

/// The statements of a file.
fn statements(name: &str, bytes: &[u8], base: Option<&str>) -> Result<Vec<Statement>, ReadError> {
    let mut statements = Vec::new();
    let source = Source { name, bytes, mapping: None, base };
    read(&source, &settings(), &mut |statement| {
        statements.push(statement);
        Ok(())
    })?;
    Ok(statements)
}

/// What a file says.
fn parsed(name: &str, bytes: &[u8]) -> Result<Read, ReadError> {
    let mut model = Model::default();
    statements(name, bytes, None)?.into_iter().for_each(|statement| model.take(statement));
    Ok(model.finish())
}
