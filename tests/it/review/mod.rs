//! The review queue and the wiki, through the façade.

mod choices;
mod edits;
mod flows;
mod folder;
mod laws;
mod memories;
mod pages;
mod races;

use recollect::error::{Error, ErrorCode};

/// Code and field of an error that must be one.
fn refused<T>(answer: Result<T, Error>) -> (ErrorCode, Option<String>) {
    let error = answer.err().expect("it is refused");
    (error.code, error.field)
}

/// An error of this code about this field.
fn of(code: ErrorCode, field: &str) -> (ErrorCode, Option<String>) {
    (code, Some(field.to_owned()))
}
