//! What is known of the models that the set-up fetches: sums, prefixes, pooling, calibration.

use super::open::Pooling;
use crate::ports::Calibration;

/// Facts that a settings entry need not repeat.
pub(super) struct Shipped {
    pub name: &'static str,
    pub sha256: &'static str,
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    pub pooling: Pooling,
    /// Low and high ends read off random, related and paraphrased pairs of English passages and questions. One scale per
    /// model: E5 gives 0.84 to unrelated turns of one chat and 0.87 to unrelated Chinese passages.
    pub calibration: Calibration,
}

/// The models of `scripts/fetch-models`.
pub(super) const SHIPPED: [Shipped; 2] = [
    Shipped {
        name: "multilingual-e5-small",
        sha256: "611a3624daef987c2d5caf6afff62a653436b7013fd91e4099a8b1853044c731",
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        pooling: Pooling::Mean,
        calibration: Calibration {
            passage_strangers: 0.80,
            passage_paraphrases: 0.985,
            query_strangers: 0.77,
            query_answers: 0.92,
        },
    },
    Shipped {
        name: "e5-small-v2",
        sha256: "7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        pooling: Pooling::Mean,
        calibration: Calibration {
            passage_strangers: 0.76,
            passage_paraphrases: 0.985,
            query_strangers: 0.74,
            query_answers: 0.88,
        },
    },
];

/// The row of `name`.
pub(super) fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

/// Prefixes (query, passage) of a model that is known by its family: every E5 wants them, and loses 7 to 17 points without.
pub(super) fn prefixes(name: &str) -> (&'static str, &'static str) {
    let is_e5 = name.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|part| part == "e5");
    if is_e5 || name.contains("E5") { ("query: ", "passage: ") } else { ("", "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_models_get_their_prefixes_and_others_none() {
        for (name, query) in [
            ("multilingual-e5-large", "query: "),
            ("MultilingualE5Small", "query: "),
            ("intfloat/e5-base", "query: "),
            ("BAAI/bge-m3", ""),
            ("BGEM3", ""),
            ("gte-base-en", ""),
        ] {
            assert_eq!(prefixes(name).0, query, "{name}");
        }
    }

    #[test]
    fn sums_are_those_of_the_fetch_script() {
        let script = include_str!("../../scripts/fetch-models");
        for shipped in &SHIPPED {
            let line = format!("{}  {}/model.onnx", shipped.sha256, shipped.name);
            assert!(script.contains(&line), "{line}");
        }
    }
}
