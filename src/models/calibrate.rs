//! Where a model puts strangers and paraphrases, measured on thirty-six small memories in English and Chinese.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    domain::Language,
    domain::cosine,
    ports::{Calibration, Embedder, PortError},
};

const PAIRS: &str = include_str!("calibration.jsonl");

#[derive(Deserialize)]
struct Pair {
    language: String,
    passage: String,
    paraphrase: String,
    query: String,
}

/// Measures the calibration of an embedder: medians within each language, then the mean over languages (strangers in two
/// languages are further apart than any two memories of one person). An English model is measured on English alone. About
/// a hundred short texts are embedded.
pub async fn measure_calibration(embedder: &dyn Embedder) -> Result<Calibration, PortError> {
    let mut groups: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    for line in PAIRS.lines() {
        let pair: Pair = serde_json::from_str(line).expect("the file is a constant that tests read");
        let is_english = pair.language == Language::English.name();
        if is_english || embedder.card().language != Some(Language::English) {
            groups.entry(pair.language.clone()).or_default().push(pair);
        }
    }
    let mut sums = [0.0; 4];
    let languages = groups.len() as f32;
    for pairs in groups.into_values() {
        for (sum, median) in sums.iter_mut().zip(medians(embedder, &pairs).await?) {
            *sum += median / languages;
        }
    }
    let [passage_strangers, passage_paraphrases, query_strangers, query_answers] = sums;
    Ok(Calibration { passage_strangers, passage_paraphrases, query_strangers, query_answers })
}

async fn medians(embedder: &dyn Embedder, pairs: &[Pair]) -> Result<[f32; 4], PortError> {
    let texts = |text: fn(&Pair) -> &str| pairs.iter().map(|pair| text(pair).to_owned()).collect::<Vec<_>>();
    let passages = embedder.embed_passages(&texts(|pair| &pair.passage)).await?;
    let paraphrases = embedder.embed_passages(&texts(|pair| &pair.paraphrase)).await?;
    let mut queries = Vec::with_capacity(pairs.len());
    for pair in pairs {
        queries.push(embedder.embed_query(&pair.query).await?);
    }
    let [mut strangers, mut same, mut unrelated, mut answers] = [const { Vec::new() }; 4];
    for (i, passage) in passages.iter().enumerate() {
        same.push(cosine(passage, &paraphrases[i]));
        answers.push(cosine(passage, &queries[i]));
        for j in (0..pairs.len()).filter(|j| *j != i) {
            strangers.push(cosine(passage, &passages[j]));
            unrelated.push(cosine(passage, &queries[j]));
        }
    }
    Ok([strangers, same, unrelated, answers].map(median))
}

fn median(mut values: Vec<f32>) -> f32 {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
