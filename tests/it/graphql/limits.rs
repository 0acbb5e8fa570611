//! Documents that are too deep, too wide or too clever are refused before anything runs, fast and with a code.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::post;
use crate::support::app::App;

/// What a nested type of the schema can be asked for, again and again.
fn deep(levels: usize) -> String {
    let mut query = String::from("{ memories { nodes { id");
    (0..levels).for_each(|_| query.push_str(" edges { from { ... on Memory {"));
    query.push_str(" id ");
    query.push_str(&"} } }".repeat(levels));
    query.push_str(" } } }");
    query
}

#[tokio::test]
async fn abuse_is_refused_before_anything_runs() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let aliases = |count: usize| (0..count).map(|number| format!(" a{number}: me {{ principal }}")).collect::<String>();
    let same = (0..10_000).map(|_| " me { principal }").collect::<String>();
    let bomb = (0..30).fold("{ ...f0 }".to_owned(), |query, number| {
        let next = if number == 29 { "me { principal }".to_owned() } else { format!("...f{0} ...f{0}", number + 1) };
        format!("{query} fragment f{number} on Query {{ {next} }}")
    });
    let cases: Vec<(&str, Value, u16, &str)> = vec![
        ("500 deep", json!({"query": deep(250)}), 400, "BAD_USER_INPUT"),
        ("a little too deep", json!({"query": deep(8)}), 400, "BAD_USER_INPUT"),
        ("10,000 aliases", json!({"query": format!("{{{}}}", aliases(10_000))}), 400, "PAYLOAD_TOO_LARGE"),
        ("100 aliases", json!({"query": format!("{{{}}}", aliases(100))}), 400, "BAD_USER_INPUT"),
        ("the same field 10,000 times", json!({"query": format!("{{{same}}}")}), 400, "PAYLOAD_TOO_LARGE"),
        (
            "the same field 30 times",
            json!({"query": format!("{{{}}}", " me { kind }".repeat(30))}),
            400,
            "BAD_USER_INPUT",
        ),
        (
            "circular fragments",
            json!({"query": "{ ...a } fragment a on Query { me { kind } ...b } fragment b on Query { ...a }"}),
            400,
            "BAD_USER_INPUT",
        ),
        (
            "a circle that nobody enters",
            json!({"query": "{ me { kind } } fragment a on Query { ...a }"}),
            400,
            "BAD_USER_INPUT",
        ),
        ("fragments that double 30 times", json!({"query": bomb}), 400, "BAD_USER_INPUT"),
        (
            "100 directives",
            json!({"query": format!("{{ me {} {{ kind }} }}", "@include(if: true) ".repeat(100))}),
            400,
            "BAD_USER_INPUT",
        ),
        (
            "pages of pages",
            json!({"query": "{ memories(first: 100) { nodes { edges(first: 100) { to { ... on Memory { edges(first: 100) { kind } } } } } } }"}),
            400,
            "BAD_USER_INPUT",
        ),
        (
            "10 MB",
            json!({"query": "{ me { kind } }", "variables": {"x": "x".repeat(10_000_000)}}),
            413,
            "PAYLOAD_TOO_LARGE",
        ),
        (
            "a long document",
            json!({"query": format!("{{ me {{ kind }} }} #{}", "x".repeat(200_000))}),
            400,
            "PAYLOAD_TOO_LARGE",
        ),
        ("a batch of 1,000", json!(vec![json!({"query": "{ me { kind } }"}); 1000]), 400, "BAD_USER_INPUT"),
        (
            "a deep variable",
            json!({"query": "query($x: MemoryFilter) { memories(filter: $x) { nodes { id } } }", "variables": {"x": nested(100)}}),
            400,
            "BAD_USER_INPUT",
        ),
    ];
    for (what, body, status, code) in cases {
        let started = Instant::now();
        let response = post(&ann, &body.to_string()).await;
        let took = started.elapsed();
        assert_eq!(response.status().as_u16(), status, "{what}");
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{what}: {answer}");
        assert!(answer.get("data").is_none(), "{what}: {answer}");
        assert!(answer["errors"].as_array().expect("errors").len() < 5 && answer.to_string().len() < 5000, "{what}");
        assert!(took < Duration::from_secs(5), "{what} took {took:?}");
    }
    // What people ask passes.
    let response = post(&ann, &json!({"query": deep(2)}).to_string()).await;
    assert_eq!(response.status(), 200, "{}", response.text().await.expect("text"));
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({"tags": inner}))
}
