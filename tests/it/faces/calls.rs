//! Calls that take long: signs of life for who asks for them, and an end for who goes away.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use recollect::ports::{Embedder, ModelCard, PortError};
use serde_json::{Value, json};

use crate::support::app::{App, Client};

/// A model that takes its time.
struct Slow(Arc<dyn Embedder>, Duration);

#[async_trait]
impl Embedder for Slow {
    fn card(&self) -> &ModelCard {
        self.0.card()
    }
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        tokio::time::sleep(self.1).await;
        self.0.embed_passages(texts).await
    }
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        self.0.embed_query(text).await
    }
}

async fn slow(by: Duration) -> App {
    App::start_with(|parts| {
        let quick = parts.embedders[0].clone();
        parts.embedders = vec![Arc::new(Slow(quick, by))];
    })
    .await
}

fn store(content: &str, meta: Value) -> String {
    let params = json!({"name": "memory_store", "arguments": {"content": content}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

async fn contents(ann: &Client) -> Vec<Value> {
    let recalled = ann.ok("memory_recall", json!({"query": "", "mode": "recent"})).await;
    recalled["items"].as_array().expect("items").iter().map(|item| item["content"].clone()).collect()
}

#[tokio::test]
async fn a_client_that_asks_for_progress_gets_signs_of_life_before_the_answer() {
    let app = slow(Duration::from_millis(1300)).await;
    let ann = app.client("ann", &[], &[]).await;
    let response =
        ann.post().body(store("The ferry is slow.", json!({"progressToken": "p1"}))).send().await.expect("sent");
    let text = response.text().await.expect("a stream");
    let messages: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok()).collect();
    let beats: Vec<f64> = messages
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .inspect(|message| assert_eq!(message["params"]["progressToken"], "p1"))
        .filter_map(|message| message["params"]["progress"].as_f64())
        .collect();
    assert!(beats.len() >= 2 && beats.is_sorted_by(|a, b| a < b), "{text}");
    let answer = messages.last().expect("an answer");
    assert_eq!(answer["result"]["structuredContent"]["outcome"], "stored", "{text}");
    // Who does not ask is told nothing but the answer.
    let response = ann.post().body(store("The ferry is slower.", json!({}))).send().await.expect("sent");
    let answer: Value = response.json().await.expect("one message");
    assert_eq!(answer["result"]["structuredContent"]["outcome"], "stored");
}

#[tokio::test]
async fn a_store_that_is_cancelled_is_whole_or_not_there() {
    let app = slow(Duration::from_millis(400)).await;
    let ann = app.client("ann", &[], &[]).await;
    let impatient = ann.post().body(store("The ferry is late.", json!({}))).timeout(Duration::from_millis(100));
    assert!(impatient.send().await.is_err(), "the client went away");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(contents(&ann).await, Vec::<Value>::new(), "it went away before anything was written");
    // Whoever goes away at any moment leaves either nothing or a memory that every arm finds.
    for millis in (380..=480).step_by(10) {
        let content = format!("The ferry is {millis} late.");
        let _ = ann.post().body(store(&content, json!({}))).timeout(Duration::from_millis(millis)).send().await;
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    let there = contents(&ann).await.len();
    for mode in ["semantic", "keyword"] {
        let found = ann.ok("memory_recall", json!({"query": "ferry late", "mode": mode, "limit": 100})).await;
        let all = ann.ok("memory_recall", json!({"query": "", "mode": "recent", "limit": 100})).await;
        assert_eq!(found["items"].as_array().map(Vec::len), all["items"].as_array().map(Vec::len), "{mode}");
        assert!(all["items"].as_array().is_some_and(|items| items.len() >= there));
    }
    assert_eq!(ann.ok("memory_store", json!({"content": "The ferry is here."})).await["outcome"], "stored");
}
