//! The GraphQL face through real HTTP and web sockets: its schema, what it does, its transport, its limits.

mod browse;
mod flows;
mod limits;
mod schema;
pub mod socket;
pub mod tenancy;
mod transport;

use serde_json::{Value, json};

use crate::support::app::Client;

/// The whole response to a request with variables; the status must be the one of a request that was run.
pub async fn ask(client: &Client, query: &str, variables: Value) -> Value {
    let response = post(client, &json!({"query": query, "variables": variables}).to_string()).await;
    assert_eq!(response.status(), 200, "{query}: {}", response.text().await.unwrap_or_default());
    response.json().await.expect("JSON")
}

/// The data of a request that must have no errors.
pub async fn data(client: &Client, query: &str, variables: Value) -> Value {
    let answer = ask(client, query, variables.clone()).await;
    assert!(answer.get("errors").is_none(), "{query} {variables}: {answer}");
    answer["data"].clone()
}

/// The one error of a request: its code and its message.
async fn error(client: &Client, query: &str, variables: Value) -> (String, String) {
    let response = post(client, &json!({"query": query, "variables": variables}).to_string()).await;
    let answer: Value = response.json().await.expect("JSON");
    let errors = answer["errors"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
    assert_eq!(errors.len(), 1, "{answer}");
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (text(&errors[0]["extensions"]["code"]), text(&errors[0]["message"]))
}

/// A POST of a body as it is.
pub async fn post(client: &Client, body: &str) -> reqwest::Response {
    client
        .http
        .post(format!("{}/graphql", client.url))
        .bearer_auth(&client.token)
        .header("content-type", "application/json")
        .header("accept", "application/graphql-response+json")
        .body(body.to_owned())
        .send()
        .await
        .expect("an answer")
}
