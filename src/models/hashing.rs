//! An embedder without weights, for tests and for machines without models: the same terms give near vectors, the same
//! meaning in other words does not.

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use crate::{
    domain::Language,
    ports::{Calibration, Embedder, ModelCard, PortError},
    text,
};

const DIMENSION: usize = 256;
/// Changes whenever the same text would give another vector.
const DEFINITION: &str =
    "recollect hashing 1: text::terms weight 1, character trigrams of words weight 0.5, FNV-1a, 256 signed";
/// Characters of a trigram.
const GRAM: usize = 3;

/// Hashed terms and character trigrams in 256 dimensions.
pub struct HashingEmbedder {
    card: ModelCard,
}

impl HashingEmbedder {
    /// An embedder whose space is called `name`.
    pub fn new(name: &str, language: Option<Language>) -> Self {
        let card = ModelCard {
            id: name.to_owned(),
            hash: hex::encode(Sha256::digest(DEFINITION)),
            dimension: DIMENSION,
            language,
            // Measured by `measure_calibration`.
            calibration: Calibration {
                passage_strangers: 0.01,
                passage_paraphrases: 0.56,
                query_strangers: 0.0,
                query_answers: 0.41,
            },
        };
        Self { card }
    }
}

#[async_trait]
impl Embedder for HashingEmbedder {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        Ok(texts.iter().map(|text| embed(text)).collect())
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        Ok(embed(text))
    }
}

fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSION];
    // Without function words, if there are others: they are most of what strangers share.
    let mut terms = text::query_terms(text);
    if terms.is_empty() {
        terms = text::terms(text);
    }
    for term in &terms {
        add(&mut vector, 't', term, 1.0);
        let chars: Vec<char> = format!("^{term}$").chars().collect();
        for gram in chars.windows(GRAM) {
            add(&mut vector, 'g', &gram.iter().collect::<String>(), 0.5);
        }
    }
    if terms.is_empty() {
        // A text without words is near only to itself.
        add(&mut vector, 'x', text, 1.0);
    }
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x /= norm);
    } else {
        vector[0] = 1.0;
    }
    vector
}

fn add(vector: &mut [f32], kind: char, feature: &str, weight: f32) {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in [kind as u8].iter().chain(feature.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The low bits of FNV are its weakest.
    hash ^= hash >> 29;
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    vector[(hash % DIMENSION as u64) as usize] += sign * weight;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        crate::domain::cosine(&embed(a), &embed(b))
    }

    #[test]
    fn shared_terms_bring_texts_near() {
        let near = cosine("the backup failed on the database server", "database server backup failure");
        let far = cosine("the backup failed on the database server", "she paints sunsets by the lake");
        assert!(near > 0.4 && far < 0.2, "{near} {far}");
        assert!(cosine("故宫在北京", "北京的故宫") > 0.4);
    }

    #[test]
    fn vector_of_a_text_is_the_one_that_is_stored() {
        // Stored vectors depend on it: a change needs another DEFINITION.
        let vector = embed("a stored vector, 故宫");
        let digest = hex::encode(Sha256::digest(
            vector.iter().flat_map(|x| ((x * 1e4) as i32).to_le_bytes()).collect::<Vec<_>>(),
        ));
        assert_eq!(&digest[..16], "17c7e5edb0f88080");
    }

    proptest! {
        #[test]
        fn every_text_has_a_unit_vector(text in any::<String>()) {
            let norm: f32 = embed(&text).iter().map(|x| x * x).sum();
            prop_assert!((norm - 1.0).abs() < 1e-4);
        }
    }
}
