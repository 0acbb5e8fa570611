//! A model from files: `model.onnx` and, beside it, the four tokenizer files of the usual names.

use std::path::{Path, PathBuf};

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use sha2::{Digest, Sha256};

use super::{
    error::ModelError,
    open::{ModelOptions, Pooling},
};

/// Tokens of the model's window; what is beyond is cut.
pub(super) const MAX_TOKENS: usize = 512;

/// The model in `file`, and the SHA-256 of its weights, which are hashed at each start: no stamp beside them has to be
/// trusted. Blocks.
pub(super) fn load(
    name: &str,
    file: &Path,
    pooling: Pooling,
    expected: Option<&str>,
    options: &ModelOptions,
) -> Result<(TextEmbedding, String), ModelError> {
    let read = |path: PathBuf| match std::fs::read(&path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(ModelError::MissingFile { name: name.to_owned(), path })
        }
        Err(source) => Err(ModelError::Read { name: name.to_owned(), path, source }),
    };
    let beside = |other: &str| read(file.with_file_name(other));
    let weights = read(file.to_owned())?;
    let tokenizer_files = TokenizerFiles {
        tokenizer_file: beside("tokenizer.json")?,
        config_file: beside("config.json")?,
        special_tokens_map_file: beside("special_tokens_map.json")?,
        tokenizer_config_file: beside("tokenizer_config.json")?,
    };
    let hash = hex::encode(Sha256::digest(&weights));
    if let Some(expected) = expected.filter(|expected| !expected.eq_ignore_ascii_case(&hash)) {
        return Err(ModelError::OtherWeights {
            name: name.to_owned(),
            path: file.to_owned(),
            expected: expected.to_owned(),
            found: hash,
        });
    }
    let model = UserDefinedEmbeddingModel::new(weights, tokenizer_files).with_pooling(pooling.into());
    let mut init = InitOptionsUserDefined::new().with_max_length(MAX_TOKENS);
    if options.threads > 0 {
        init = init.with_intra_threads(options.threads);
    }
    let model = TextEmbedding::try_new_from_user_defined(model, init)
        .map_err(|error| ModelError::Load { name: name.to_owned(), reason: error.to_string() })?;
    Ok((model, hash))
}
