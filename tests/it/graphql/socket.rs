//! Subscriptions over a web socket: the protocol, its token, its origin, and that nothing of another's comes out.

use futures::{SinkExt, StreamExt};
use recollect::domain::Right;
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    time::{Duration, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::support::app::{App, Client};

const CHANGES: &str = "subscription { memoryChanged { effect id memory { content } } }";

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    async fn open(url: &str, protocol: &str, origin: Option<&str>) -> Result<Self, Error> {
        let mut request = format!("{}/graphql", url.replace("http", "ws")).into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", protocol.parse().expect("a header"));
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().expect("a header"));
        }
        Ok(Self(connect_async(request).await?.0))
    }

    async fn bare(client: &Client) -> Self {
        Self::open(&client.url, "graphql-transport-ws", None).await.expect("a web socket")
    }

    /// A socket that is ready to take operations.
    async fn ready(client: &Client) -> Self {
        let mut socket = Self::bare(client).await;
        socket
            .say(json!({"type": "connection_init", "payload": {"Authorization": format!("Bearer {}", client.token)}}))
            .await;
        assert_eq!(socket.hear().await, json!({"type": "connection_ack"}));
        socket
    }

    async fn say(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.expect("sent");
    }

    async fn subscribe(&mut self, id: &str, query: &str) {
        self.say(json!({"type": "subscribe", "id": id, "payload": {"query": query}})).await;
    }

    /// The next message of the protocol.
    async fn hear(&mut self) -> Value {
        loop {
            let message = timeout(Duration::from_secs(10), self.0.next()).await.expect("a message in time");
            match message.expect("open").expect("a frame") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The code it is closed with.
    async fn closed(&mut self) -> u16 {
        loop {
            let message = timeout(Duration::from_secs(15), self.0.next()).await.expect("closed in time");
            if let Message::Close(Some(frame)) = message.expect("a close frame").expect("a frame") {
                return frame.code.into();
            }
        }
    }
}

/// Runs a subscription of `memoryChanged`, stores something meanwhile, and gives the first change that is told.
pub async fn first_change(client: &Client, query: &str) -> Value {
    let mut socket = subscribed(client, query).await;
    client.store(json!({"content": "Something new under the sun."})).await;
    first(&mut socket, "memoryChanged").await
}

/// The same for `reviewQueueChanged`, with a proposal.
pub async fn first_proposal(client: &Client, query: &str) -> Value {
    let mut socket = subscribed(client, query).await;
    client.ok("wiki_propose", json!({"slug": "under/the-sun", "body": "Something new.\n"})).await;
    first(&mut socket, "reviewQueueChanged").await
}

async fn subscribed(client: &Client, query: &str) -> Socket {
    let mut socket = Socket::ready(client).await;
    socket.subscribe("1", query).await;
    // The subscription counts from when it is taken; an answer to a query sent after it says that it was.
    socket.subscribe("2", "{ me { kind } }").await;
    while socket.hear().await["id"] != "2" {}
    socket
}

async fn first(socket: &mut Socket, field: &str) -> Value {
    loop {
        let message = socket.hear().await;
        if message["id"] == "1" {
            assert_eq!(message["type"], "next", "{message}");
            return message["payload"]["data"][field].clone();
        }
    }
}

/// The first `count` changes that a subscription tells of.
pub async fn changes_of(client: &Client, query: &str, field: &str, count: usize) -> Vec<Value> {
    let mut socket = Socket::ready(client).await;
    socket.subscribe("1", query).await;
    let mut told = Vec::new();
    while told.len() < count {
        let message = socket.hear().await;
        assert_eq!(message["type"], "next", "{message}");
        told.push(message["payload"]["data"][field].clone());
    }
    told
}

/// All changes that a subscription of `memoryChanged` from the beginning tells of, with one of its own as the last.
pub async fn changes_so_far(client: &Client, query: &str) -> Vec<Value> {
    let mut socket = Socket::ready(client).await;
    let last = client.store(json!({"content": "Nothing comes after this."})).await;
    socket.subscribe("1", query).await;
    let mut told = Vec::new();
    loop {
        let message = socket.hear().await;
        assert_eq!(message["type"], "next", "{message}");
        let change = message["payload"]["data"]["memoryChanged"].clone();
        let done = change["memory"]["uuid"] == *last;
        told.push(change);
        if done {
            return told;
        }
    }
}

#[tokio::test]
async fn changes_are_told_as_they_happen_in_order_and_to_those_who_may_see_them() {
    let app = App::start().await;
    let (ann, bob) = (app.client("ann", &["blue"], &[]).await, app.client("bob", &["blue"], &[]).await);
    let (mut to_ann, mut to_bob) = (Socket::ready(&ann).await, Socket::ready(&bob).await);
    for socket in [&mut to_ann, &mut to_bob] {
        socket.subscribe("changes", CHANGES).await;
        socket.subscribe("ready", "{ me { kind } }").await;
        assert_eq!(socket.hear().await["type"], "next");
        assert_eq!(socket.hear().await, json!({"type": "complete", "id": "ready"}));
    }
    let first = ann.store(json!({"content": "The tide is high."})).await;
    let shared = ann.store(json!({"content": "The tide turns at six.", "scope": "shared", "group": "blue"})).await;
    ann.store(json!({"content": "The tide is low.", "supersedes": [first]})).await;
    ann.ok("memory_forget", json!({"ids": [shared]})).await;
    let told = async |socket: &mut Socket| {
        let message = socket.hear().await;
        assert_eq!((&message["type"], &message["id"]), (&json!("next"), &json!("changes")), "{message}");
        message["payload"]["data"]["memoryChanged"].clone()
    };
    let mut effects = Vec::new();
    for _ in 0..5 {
        effects.push(told(&mut to_ann).await["effect"].as_str().expect("an effect").to_owned());
    }
    effects[2..4].sort_unstable();
    assert_eq!(effects, ["CREATED", "CREATED", "CREATED", "SUPERSEDED", "FORGOTTEN"]);
    // Bob hears of the shared one alone, and that it is gone.
    let made = told(&mut to_bob).await;
    let gone = told(&mut to_bob).await;
    assert_eq!(
        (&made["effect"], &gone["effect"], &gone["memory"]),
        (&json!("CREATED"), &json!("FORGOTTEN"), &json!(null))
    );
    assert_eq!(made["id"], gone["id"]);
    assert!(timeout(Duration::from_millis(300), to_bob.0.next()).await.is_err(), "bob hears nothing else");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_progress_of_an_import_is_told_to_those_who_may_import() {
    const PROGRESS: &str = "subscription { importProgress { stage done total } }";
    let app = App::start().await;
    let stranger = app.client("stranger", &[], &[]).await;
    let mut socket = Socket::ready(&stranger).await;
    socket.subscribe("1", PROGRESS).await;
    let refused = socket.hear().await.to_string();
    assert!(refused.contains("FORBIDDEN"), "{refused}");
    let importer = app.client("importer", &[], &[Right::OntologyImport]).await;
    let mut socket = Socket::ready(&importer).await;
    socket.subscribe("1", PROGRESS).await;
    let stage = |message: &Value| message["payload"]["data"]["importProgress"]["stage"].clone();
    assert_eq!(stage(&socket.hear().await), "idle");
    let import = "mutation($content: String!) { importOntology(input: {name: \"a.ttl\", content: $content}) {
        imported { new version } userErrors { code message } } }";
    let content = "<http://e/a> <http://www.w3.org/2004/02/skos/core#prefLabel> \"Alpha\"@en .";
    let done = super::data(&importer, import, json!({"content": content})).await;
    assert_eq!(done["importOntology"]["imported"], json!({"new": 1, "version": 1}), "{done}");
    let mut told = vec![stage(&socket.hear().await)];
    while told.last() != Some(&json!("idle")) {
        told.push(stage(&socket.hear().await));
    }
    let known = ["reading", "staging", "switching", "linking", "idle"];
    assert!(told.iter().all(|stage| known.iter().any(|known| stage == known)), "{told:?}");
    let (code, _) = super::error(&stranger, import, json!({"content": content})).await;
    assert_eq!(code, "FORBIDDEN");
    let wrong = super::data(&importer, import, json!({"content": "<a> <b>"})).await;
    assert_eq!(wrong["importOntology"]["userErrors"][0]["code"], "BAD_USER_INPUT", "{wrong}");
}

#[tokio::test]
async fn a_client_that_comes_back_goes_on_from_its_position() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for number in 0..4 {
        ann.store(json!({"content": format!("wave {number}")})).await;
    }
    let query = |after: &str| {
        format!(
            "subscription {{ memoryChanged(after: \"{after}\", effects: [CREATED]) {{ position memory {{ content }} }} }}"
        )
    };
    let mut socket = Socket::ready(&ann).await;
    socket.subscribe("a", &query("0")).await;
    let first = socket.hear().await["payload"]["data"]["memoryChanged"].clone();
    assert_eq!(first["memory"]["content"], "wave 0");
    drop(socket);
    let mut socket = Socket::ready(&ann).await;
    socket.subscribe("b", &query(first["position"].as_str().expect("a position"))).await;
    for number in 1..4 {
        let next = socket.hear().await["payload"]["data"]["memoryChanged"].clone();
        assert_eq!(next["memory"]["content"], format!("wave {number}"));
    }
}

#[tokio::test]
async fn what_breaks_the_protocol_is_closed_with_its_code() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let init = |payload: Value| json!({"type": "connection_init", "payload": payload});
    let (bearer, query) = (format!("Bearer {}", ann.token), json!({"query": CHANGES}));
    for (messages, code) in [
        (vec![init(json!({}))], 4403),
        (vec![json!({"type": "connection_init"})], 4403),
        (vec![init(json!({"Authorization": "Bearer rcl_nonsense"}))], 4403),
        (vec![init(json!({"Authorization": ann.token}))], 4403),
        (vec![init(json!({"token": 7}))], 4403),
        (vec![json!({"type": "subscribe", "id": "1", "payload": query})], 4401),
        (vec![json!({"type": "start"})], 4400),
        (vec![json!("hello")], 4400),
        (vec![init(json!({"token": ann.token})), init(json!({"token": ann.token}))], 4429),
        (vec![init(json!({"authorization": bearer})), json!({"type": "subscribe", "payload": query})], 4400),
        (
            vec![init(json!({"token": ann.token})), json!({"type": "subscribe", "id": "1", "payload": {"query": 7}})],
            4400,
        ),
        (
            vec![
                init(json!({"token": ann.token})),
                json!({"type": "subscribe", "id": "1", "payload": query}),
                json!({"type": "subscribe", "id": "1", "payload": query}),
            ],
            4409,
        ),
    ] {
        let mut socket = Socket::bare(&ann).await;
        for message in &messages {
            socket.say(message.clone()).await;
        }
        assert_eq!(socket.closed().await, code, "{messages:?}");
    }
    let mut silent = Socket::bare(&ann).await;
    assert_eq!(silent.closed().await, 4408);
}

#[tokio::test]
async fn operations_that_cannot_run_are_told_so_and_the_socket_stays() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let mut socket = Socket::ready(&ann).await;
    for query in
        ["{ nothing }", "subscription { memoryChanged(after: 7) { at } }", "{", "{ ...a } fragment a on Query { ...a }"]
    {
        socket.subscribe("1", query).await;
        let answer = socket.hear().await;
        assert_eq!((&answer["type"], &answer["id"]), (&json!("error"), &json!("1")), "{query}: {answer}");
        assert_eq!(answer["payload"][0]["extensions"]["code"], "BAD_USER_INPUT", "{query}: {answer}");
    }
    socket.say(json!({"type": "ping"})).await;
    assert_eq!(socket.hear().await, json!({"type": "pong"}));
    // An operation that the client ends says nothing more, and its id is free again.
    socket.subscribe("1", CHANGES).await;
    socket.say(json!({"type": "complete", "id": "1"})).await;
    socket.subscribe("1", "mutation { storeMemory(input: {content: \"x\"}) { outcome } }").await;
    let answer = socket.hear().await;
    assert_eq!(answer["payload"]["data"]["storeMemory"]["outcome"], "STORED", "{answer}");
    assert_eq!(socket.hear().await["type"], "complete");
    for number in 0..51 {
        socket.subscribe(&format!("s{number}"), CHANGES).await;
    }
    let refused = socket.hear().await;
    assert_eq!((&refused["id"], &refused["payload"][0]["extensions"]["code"]), (&json!("s50"), &json!("RATE_LIMITED")));
}

#[tokio::test]
async fn other_origins_other_protocols_and_revoked_tokens_are_kept_out() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let refused = async |protocol: &str, origin: Option<&str>| match Socket::open(&app.url, protocol, origin).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("{protocol}, {origin:?}: {:?}", other.map(|_| ())),
    };
    assert_eq!(refused("graphql-transport-ws", Some("https://evil.example.org")).await, 403);
    assert_eq!(refused("graphql-ws", None).await, 400);
    assert!(Socket::open(&app.url, "graphql-transport-ws", Some("https://console.example.org")).await.is_ok());
    let mut socket = Socket::ready(&ann).await;
    socket.subscribe("1", CHANGES).await;
    assert!(app.service.tokens().revoke_token(&ann.token_id).await.expect("revoked"));
    assert_eq!(socket.closed().await, 4403, "within the ten seconds of the next check");
}
