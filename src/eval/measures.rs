//! The measures, each a mean over queries: Recall@k (share of the relevant in the top k), all@k (whether every one is there),
//! nDCG@10 with binary gains (Järvelin and Kekäläinen 2002), MRR (Voorhees 1999); and latency percentiles.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// The answer to one query.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Kind of question.
    pub category: String,
    /// Ids that answer it.
    pub relevant: Vec<String>,
    /// Ids behind each result, best first: a memory stored under two ids of the set stands for both.
    pub ranked: Vec<Vec<String>>,
    /// Milliseconds it took.
    pub millis: f64,
}

/// Means over the queries of a category; shares are 0..=1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Queries.
    pub n: usize,
    /// `recall@k` for each k, `all@10`, `ndcg@10`, `mrr`, `p50_ms`, `p99_ms`.
    #[serde(flatten)]
    pub values: BTreeMap<String, f64>,
}

/// Figures for `all` and for each category.
pub fn figures(outcomes: &[Outcome], ks: &[usize]) -> BTreeMap<String, Figures> {
    let mut groups: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        groups.entry("all").or_default().push(outcome);
        groups.entry(&outcome.category).or_default().push(outcome);
    }
    groups.into_iter().map(|(name, group)| (name.to_owned(), of_group(&group, ks))).collect()
}

fn of_group(group: &[&Outcome], ks: &[usize]) -> Figures {
    let mean = |measure: &dyn Fn(&Outcome) -> f64| group.iter().map(|o| measure(o)).sum::<f64>() / group.len() as f64;
    let mut values: BTreeMap<String, f64> =
        ks.iter().map(|k| (format!("recall@{k}"), mean(&|outcome| recall(outcome, *k)))).collect();
    values.insert("all@10".into(), mean(&|outcome| f64::from(u8::from(recall(outcome, 10) >= 1.0))));
    values.insert("ndcg@10".into(), mean(&|outcome| ndcg(outcome, 10)));
    values.insert("mrr".into(), mean(&reciprocal_rank));
    let mut millis: Vec<f64> = group.iter().map(|outcome| outcome.millis).collect();
    millis.sort_by(f64::total_cmp);
    values.insert("p50_ms".into(), percentile(&millis, 0.5));
    values.insert("p99_ms".into(), percentile(&millis, 0.99));
    Figures { n: group.len(), values }
}

fn recall(outcome: &Outcome, k: usize) -> f64 {
    let top: BTreeSet<&String> = outcome.ranked.iter().take(k).flatten().collect();
    let relevant: BTreeSet<&String> = outcome.relevant.iter().collect();
    relevant.intersection(&top).count() as f64 / relevant.len() as f64
}

fn ndcg(outcome: &Outcome, k: usize) -> f64 {
    let relevant: BTreeSet<&String> = outcome.relevant.iter().collect();
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let gained: f64 = outcome
        .ranked
        .iter()
        .take(k)
        .enumerate()
        .filter(|(_, ids)| ids.iter().any(|id| relevant.contains(id)))
        .map(|(rank, _)| discount(rank))
        .sum();
    gained / (0..relevant.len().min(k)).map(discount).sum::<f64>()
}

fn reciprocal_rank(outcome: &Outcome) -> f64 {
    let first = outcome.ranked.iter().position(|ids| ids.iter().any(|id| outcome.relevant.contains(id)));
    first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64)
}

/// Nearest-rank percentile of ascending values.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(relevant: &[&str], ranked: &[&str]) -> Outcome {
        Outcome {
            category: "c".into(),
            relevant: relevant.iter().map(ToString::to_string).collect(),
            ranked: ranked.iter().map(|id| vec![(*id).to_owned()]).collect(),
            millis: 1.0,
        }
    }

    #[test]
    fn measures_agree_with_values_worked_out_by_hand() {
        let outcomes = [outcome(&["a", "b"], &["x", "a", "y", "b"]), outcome(&["a"], &["x", "y"])];
        let got = &figures(&outcomes, &[2, 5])["all"].values;
        assert!((got["recall@2"] - 0.25).abs() < 1e-9);
        assert!((got["recall@5"] - 0.5).abs() < 1e-9);
        assert!((got["all@10"] - 0.5).abs() < 1e-9);
        assert!((got["mrr"] - 0.25).abs() < 1e-9);
        // DCG 1/log2(3) + 1/log2(5), ideal 1 + 1/log2(3).
        let expected = (1.0 / 3f64.log2() + 1.0 / 5f64.log2()) / (1.0 + 1.0 / 3f64.log2()) / 2.0;
        assert!((got["ndcg@10"] - expected).abs() < 1e-9);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!((percentile(&sorted, 0.5), percentile(&sorted, 0.99)), (100.0, 198.0));
        assert_eq!(percentile(&[7.0], 0.99), 7.0);
    }
}
