//! Hub models in builds without the feature `hub`: only says so.

use fastembed::TextEmbedding;

use super::{error::ModelError, open::ModelOptions};

/// Always an error that says how to get the other build.
pub(super) fn load(name: &str, _: &ModelOptions) -> Result<(TextEmbedding, String), ModelError> {
    let reason = "this build cannot download hub models; build with `cargo build --release --features hub`, or use kind \
                  `local` with files that are there";
    Err(ModelError::Entry { name: name.to_owned(), reason: reason.to_owned() })
}
