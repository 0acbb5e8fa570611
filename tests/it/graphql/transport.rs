//! GraphQL over HTTP: methods, media types, statuses, malformed requests.

use recollect::domain::Right;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::post;
use crate::support::app::{App, Client};

const QUERY: &str = r#"{"query": "{ me { principal } }"}"#;

async fn coded(response: Response, status: u16, code: &str) {
    let found = response.status();
    let media = response.headers()["content-type"].to_str().expect("text").to_owned();
    let text = response.text().await.expect("text");
    assert_eq!(found.as_u16(), status, "{text}");
    assert!(media.contains("json"), "{media}");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{answer}");
    assert!(answer["errors"][0]["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    assert!(answer.get("data").is_none(), "{answer}");
}

fn request(client: &Client, method: Method, address: &str) -> reqwest::RequestBuilder {
    client
        .http
        .request(method, format!("{}/graphql{address}", client.url))
        .bearer_auth(&client.token)
        .header("accept", "application/graphql-response+json")
}

#[tokio::test]
async fn a_token_is_needed_and_checked_as_for_mcp() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for method in [Method::POST, Method::GET] {
        for token in [None, Some("rcl_nonsense".to_owned()), Some(format!("{}x", ann.token))] {
            let mut asked = ann
                .http
                .request(method.clone(), format!("{}/graphql?query=%7Bme%7Bkind%7D%7D", ann.url))
                .header("content-type", "application/json")
                .body(QUERY);
            if let Some(token) = token {
                asked = asked.bearer_auth(token);
            }
            let response = asked.send().await.expect("an answer");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            coded(response, 401, "UNAUTHENTICATED").await;
        }
    }
    let response = request(&ann, Method::POST, "")
        .header("origin", "https://evil.example.org")
        .header("content-type", "application/json")
        .body(QUERY)
        .send()
        .await
        .expect("an answer");
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn get_takes_queries_and_nothing_else() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let get = async |pairs: &[(&str, &str)]| {
        let address = reqwest::Url::parse_with_params("http://x/", pairs).expect("an address");
        let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
        request(&ann, Method::GET, &query).send().await.expect("an answer")
    };
    let found: Value =
        get(&[("query", "query A { me { principal } } query B { status { memories } }"), ("operationName", "A")])
            .await
            .json()
            .await
            .expect("JSON");
    assert_eq!(found, json!({"data": {"me": {"principal": "ann"}}}));
    let variables = [("query", "query($id: ID!) { session(id: $id) { id } }"), ("variables", "{\"id\": \"s\"}")];
    assert_eq!(get(&variables).await.json::<Value>().await.expect("JSON"), json!({"data": {"session": null}}));
    let mutation = "mutation { storeMemory(input: {content: \"x\"}) { outcome } }";
    for pairs in [
        vec![("query", mutation)],
        vec![
            ("query", "query A { me { kind } } mutation B { storeMemory(input: {content: \"x\"}) { outcome } }"),
            ("operationName", "B"),
        ],
        vec![("query", "subscription { memoryChanged { at } }")],
    ] {
        let response = get(&pairs).await;
        assert_eq!(response.headers()["allow"], "POST");
        coded(response, 405, "BAD_USER_INPUT").await;
    }
    coded(get(&[]).await, 400, "BAD_USER_INPUT").await;
    coded(get(&[("query", "{ me { kind } }"), ("variables", "{")]).await, 400, "BAD_USER_INPUT").await;
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let response = request(&ann, method, "").body(QUERY).send().await.expect("an answer");
        assert_eq!(response.status(), 405);
    }
    assert_eq!(app.counts().await.memories, 0);
}

#[tokio::test]
async fn only_json_is_taken() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/graphql",
        "application/json; charset=utf-16",
        "",
    ] {
        let body =
            "query=mutation%20%7B%20storeMemory(input%3A%20%7Bcontent%3A%20%22x%22%7D)%20%7B%20outcome%20%7D%20%7D";
        let mut asked = request(&ann, Method::POST, "").body(body);
        if !kind.is_empty() {
            asked = asked.header("content-type", kind);
        }
        coded(asked.send().await.expect("an answer"), 415, "BAD_USER_INPUT").await;
    }
    let compressed =
        request(&ann, Method::POST, "").header("content-type", "application/json").header("content-encoding", "gzip");
    coded(compressed.body(QUERY).send().await.expect("an answer"), 415, "BAD_USER_INPUT").await;
}

#[tokio::test]
async fn malformed_requests_are_refused_and_say_what_is_wrong() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (body, starts) in [
        ("", "body: "),
        ("{", "body: "),
        ("null", "body: "),
        ("7", "body: "),
        ("\"{ me { kind } }\"", "body: "),
        ("[]", "body: batches"),
        ("{}", "query: missing"),
        ("{\"query\": null}", "query: missing"),
        ("{\"query\": 7}", "query: "),
        ("{\"query\": [\"{ me { kind } }\"]}", "query: "),
        ("{\"query\": \"{ me { kind } }\", \"operationName\": 7}", "operationName: "),
        ("{\"query\": \"{ me { kind } }\", \"variables\": 7}", "variables: "),
        ("{\"query\": \"{ me { kind } }\", \"variables\": \"{}\"}", "variables: "),
        ("{\"query\": \"{ me { kind } }\", \"variables\": []}", "variables: "),
        ("{\"query\": \"{ me { kind } }\", \"extensions\": 7}", "extensions: "),
        ("{\"query\": \"\"}", "query: "),
        ("{\"query\": \"{ me { kind }\"}", "query: "),
        ("{\"query\": \"{ nothing }\"}", "Unknown field"),
        ("{\"query\": \"{ me }\"}", ""),
        ("{\"query\": \"query A { me { kind } } query B { me { kind } }\"}", "Operation name required"),
        ("{\"query\": \"query A { me { kind } }\", \"operationName\": \"B\"}", "Unknown operation"),
        ("{\"query\": \"query($id: ID!) { memory(id: $id) { id } }\"}", ""),
        (
            "{\"query\": \"query($first: Int) { memories(first: $first) { nodes { id } } }\", \"variables\": {\"first\": \"many\"}}",
            "",
        ),
        ("{\"query\": \"{ recall(input: {query: \\\"x\\\", mode: DREAM}) { tookMs } }\"}", ""),
        ("{\"query\": \"{ recall(input: {query: \\\"x\\\", colour: 7}) { tookMs } }\"}", ""),
        ("{\"query\": \"subscription { memoryChanged { at } }\"}", "subscriptions are taken"),
    ] {
        let response = post(&ann, body).await;
        let status = if starts == "subscriptions are taken" { 405 } else { 400 };
        assert_eq!(response.status().as_u16(), status, "{body}");
        let answer: Value = response.json().await.expect("JSON");
        let error = &answer["errors"][0];
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{body}: {answer}");
        assert!(error["message"].as_str().is_some_and(|message| message.starts_with(starts)), "{body}: {answer}");
    }
    let mut invalid = QUERY.as_bytes().to_vec();
    invalid[3] = 0xff;
    let response = request(&ann, Method::POST, "").header("content-type", "application/json").body(invalid);
    coded(response.send().await.expect("an answer"), 400, "BAD_USER_INPUT").await;
}

#[tokio::test]
async fn the_media_type_is_the_one_that_is_accepted_and_old_clients_get_200() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[Right::Admin]).await;
    let with = async |accept: Option<&str>, body: &str| {
        let mut asked = ann.http.post(format!("{}/graphql", ann.url)).bearer_auth(&ann.token);
        if let Some(accept) = accept {
            asked = asked.header("accept", accept);
        }
        asked.header("content-type", "application/json").body(body.to_owned()).send().await.expect("an answer")
    };
    let wrong = r#"{"query": "{ nothing }"}"#;
    for (accept, media, status) in [
        (None, "application/json; charset=utf-8", 200),
        (Some("*/*"), "application/json; charset=utf-8", 200),
        (Some("application/json"), "application/json; charset=utf-8", 200),
        (Some("application/graphql-response+json"), "application/graphql-response+json; charset=utf-8", 400),
    ] {
        let response = with(accept, QUERY).await;
        assert_eq!(
            (response.status().as_u16(), response.headers()["content-type"].to_str().expect("text")),
            (200, media)
        );
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(with(accept, wrong).await.status().as_u16(), status, "{accept:?}");
        // What is no request at all is refused either way.
        assert_eq!(with(accept, "{").await.status().as_u16(), 400, "{accept:?}");
    }
    coded(with(Some("text/html"), QUERY).await, 406, "BAD_USER_INPUT").await;
}

#[tokio::test]
async fn the_playground_is_under_a_strict_policy_or_says_how_to_build_it() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let get = async |path: &str| ann.http.get(format!("{}{path}", app.url)).send().await.expect("an answer");
    let page = get("/playground").await;
    let (status, policy) =
        (page.status(), page.headers()["content-security-policy"].to_str().expect("text").to_owned());
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe-eval") && !policy.contains("http"), "{policy}");
    let text = page.text().await.expect("text");
    if status == StatusCode::NOT_FOUND {
        assert!(text.contains("make web"), "{text}");
    } else {
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("<script>"), "{text}");
        let script = get("/playground/playground.js").await;
        assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
        let tag = script.headers()["etag"].clone();
        let again = ann.http.get(format!("{}/playground/playground.js", app.url)).header("if-none-match", tag);
        assert_eq!(again.send().await.expect("an answer").status(), StatusCode::NOT_MODIFIED);
    }
    assert_eq!(get("/playground/nothing.js").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(get("/playground/..%2Findex.html").await.status(), StatusCode::NOT_FOUND);
}
