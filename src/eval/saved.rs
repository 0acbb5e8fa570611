//! Keeps the vectors of passages between evaluations, so that a change of weights is measured in seconds. Queries are
//! always embedded: their time belongs to the figures.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use crate::ports::{Embedder, ModelCard, PortError, PortErrorKind};

type Key = [u8; 32];

/// An embedder that looks a passage up in a file before it asks the model.
pub struct SavedVectors {
    inner: Arc<dyn Embedder>,
    known: Mutex<(HashMap<Key, Vec<f32>>, File)>,
}

impl SavedVectors {
    /// Opens or creates the file of this model in `dir`; the file's name has the model's id and the start of its hash.
    pub fn open(inner: Arc<dyn Embedder>, dir: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let card = inner.card();
        let path = dir.join(format!("{}-{}.vectors", card.id, card.hash.get(..12).unwrap_or(&card.hash)));
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut known = HashMap::new();
        // A record cut short by a crash is passed over by `chunks_exact`; the next append would follow it, so cut it off.
        let size = 32 + 4 * card.dimension;
        file.set_len((bytes.len() / size * size) as u64)?;
        for record in bytes.chunks_exact(size) {
            let (key, vector) = record.split_at(32);
            let vector = vector.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            known.insert(key.try_into().expect("split at 32"), vector);
        }
        Ok(Self { inner, known: Mutex::new((known, file)) })
    }
}

#[async_trait]
impl Embedder for SavedVectors {
    fn card(&self) -> &ModelCard {
        self.inner.card()
    }

    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        let keys: Vec<Key> = texts.iter().map(|text| Sha256::digest(text.as_bytes()).into()).collect();
        let missing: Vec<String> = {
            let known = self.known.lock().expect("no holder of this lock panics");
            texts
                .iter()
                .zip(&keys)
                .filter(|(_, key)| !known.0.contains_key(*key))
                .map(|(text, _)| text.clone())
                .collect()
        };
        let fresh = self.inner.embed_passages(&missing).await?;
        let mut known = self.known.lock().expect("no holder of this lock panics");
        for (text, vector) in missing.iter().zip(fresh) {
            let key: Key = Sha256::digest(text.as_bytes()).into();
            let mut record = key.to_vec();
            record.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
            known
                .1
                .write_all(&record)
                .map_err(|error| PortError::new(PortErrorKind::Unavailable, "saved vectors", "write", error))?;
            known.0.insert(key, vector);
        }
        Ok(keys.iter().map(|key| known.0[key].clone()).collect())
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        self.inner.embed_query(text).await
    }
}
