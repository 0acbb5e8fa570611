//! Any model of fastembed's list, downloaded from the hub at the first start. `HF_ENDPOINT` picks a mirror.

use std::{io::IsTerminal, path::PathBuf};

use fastembed::{EmbeddingModel, ModelInfo, TextEmbedding, TextInitOptions};
use sha2::{Digest, Sha256};

use super::{error::ModelError, local::MAX_TOKENS, open::ModelOptions};

/// The model that fastembed or the hub calls `name` (`BGEM3`, `BAAI/bge-m3` or `bge-m3`), and the SHA-256 of its weights.
/// Blocks, and downloads what is not in the cache.
pub(super) fn load(name: &str, options: &ModelOptions) -> Result<(TextEmbedding, String), ModelError> {
    let known = TextEmbedding::list_supported_models();
    let Some(info) = known.iter().find(|info| is_called(info, name)) else {
        let names: Vec<&str> = known.iter().map(|info| info.model_code.as_str()).collect();
        let reason = format!("no hub model of that name; known are {}", names.join(", "));
        return Err(ModelError::Entry { name: name.to_owned(), reason });
    };
    let cache = options.dir.join("hub");
    let mut init = TextInitOptions::new(info.model.clone())
        .with_max_length(MAX_TOKENS)
        .with_cache_dir(cache.clone())
        .with_show_download_progress(std::io::stderr().is_terminal());
    if options.threads > 0 {
        init = init.with_intra_threads(options.threads);
    }
    let model = TextEmbedding::try_new(init)
        .map_err(|error| ModelError::Load { name: name.to_owned(), reason: error_chain(&error) })?;
    let path = weights(info, cache);
    match std::fs::read(&path) {
        Ok(bytes) => Ok((model, hex::encode(Sha256::digest(bytes)))),
        Err(source) => Err(ModelError::Read { name: name.to_owned(), path, source }),
    }
}

fn is_called(info: &ModelInfo<EmbeddingModel>, name: &str) -> bool {
    let short = info.model_code.rsplit('/').next().unwrap_or_default();
    [format!("{:?}", info.model).as_str(), &info.model_code, short].iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[expect(clippy::disallowed_methods, reason = "fastembed reads it too; the two must agree")]
/// The file that fastembed has just loaded. It keeps the hub's layout, in `HF_HOME` if that is set.
fn weights(info: &ModelInfo<EmbeddingModel>, cache: PathBuf) -> PathBuf {
    let cache = std::env::var_os("HF_HOME").map_or(cache, PathBuf::from);
    let repository = cache.join(format!("models--{}", info.model_code.replace('/', "--")));
    let revision = std::fs::read_to_string(repository.join("refs/main")).unwrap_or_default();
    repository.join("snapshots").join(revision.trim()).join(&info.model_file)
}

fn error_chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
