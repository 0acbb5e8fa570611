//! Webhooks against a receiver in this process: signed, in order, tried again, not lost by a stop, and silent about texts.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
    routing::post,
};
use recollect::{
    backends::SystemClock,
    config::{Config, Webhooks as Settings},
    domain::Right,
    webhooks::{Sources, Webhooks},
};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio_util::sync::CancellationToken;

use crate::support::{
    app::{App, Client},
    process::Home,
};

const NEW: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OLD: &str = "whsec_Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";

/// What came, and what is answered next; 200 when nothing is left to be answered.
#[derive(Default)]
struct Inbox {
    came: Vec<(HeaderMap, String)>,
    answers: VecDeque<StatusCode>,
}

struct Receiver {
    address: SocketAddr,
    kept: Arc<Mutex<Inbox>>,
}

impl Receiver {
    async fn start(answers: &[u16]) -> Self {
        let answers = answers.iter().map(|code| StatusCode::from_u16(*code).expect("a status")).collect();
        let kept = Arc::new(Mutex::new(Inbox { came: Vec::new(), answers }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().route("/hook", post(take)).with_state(kept.clone());
        tokio::spawn(axum::serve(listener, router).into_future());
        Self { address, kept }
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    fn bodies(&self) -> Vec<Value> {
        let kept = self.kept.lock().expect("no test panics in here");
        kept.came.iter().map(|(_, body)| serde_json::from_str(body).expect("JSON")).collect()
    }

    /// Waits until as many requests as that have come.
    async fn wait(&self, count: usize) -> Vec<(HeaderMap, String)> {
        for _ in 0..2000 {
            {
                let kept = self.kept.lock().expect("no test panics in here");
                if kept.came.len() >= count {
                    return kept.came.clone();
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{count} requests did not come, only {:?}", self.bodies());
    }
}

async fn take(State(kept): State<Arc<Mutex<Inbox>>>, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let mut kept = kept.lock().expect("no test panics in here");
    kept.came.push((headers, String::from_utf8(body.to_vec()).expect("text")));
    let answer = kept.answers.pop_front().unwrap_or(StatusCode::OK);
    // A redirect that is followed would come back.
    (answer, [("location", "/hook")], "")
}

fn settings(endpoints: Value) -> Settings {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("c.toml");
    let inline = endpoints.as_array().expect("a list").iter().map(|endpoint| {
        let fields: Vec<String> =
            endpoint.as_object().expect("an object").iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{{ {} }}", fields.join(", "))
    });
    let text = format!(
        "[webhooks]\nallow_private = true\nretry_first_ms = 10\nretry_longest_ms = 40\ntries = 4\npoll_ms = 20\n\
         timeout_ms = 5000\nendpoints = [{}]\n",
        inline.collect::<Vec<_>>().join(", ")
    );
    std::fs::write(&file, text).expect("written");
    Config::load(Some(&file)).expect("valid settings").webhooks
}

fn endpoint(receiver: &Receiver) -> Value {
    json!({"name": "ops", "url": receiver.url(), "secrets": [NEW]})
}

/// Webhooks of the app, until dropped or stopped.
struct Told {
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

impl Told {
    async fn start(app: &App, endpoints: Value) -> Self {
        let sources = Sources {
            graph: app.parts.graph.clone(),
            browse: app.parts.browse.clone(),
            reviews: app.parts.reviews.clone(),
            clock: Arc::new(SystemClock),
        };
        let webhooks = Webhooks::new(sources, &settings(endpoints)).expect("usable");
        webhooks.begin().await.expect("positions");
        let stop = CancellationToken::new();
        let (changed, stopped) = (app.service.changed(), stop.clone());
        let running = tokio::spawn(async move { webhooks.run(changed, stopped).await });
        Self { stop, running }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.running.await.expect("ended");
    }
}

async fn author(app: &App) -> Client {
    app.client("scribe", &[], &[Right::WikiPropose]).await
}

async fn propose(author: &Client, slug: &str) -> String {
    let request = json!({"slug": slug, "body": format!("A secret text about {slug}.\n"), "rationale": "because"});
    author.ok("wiki_propose", request).await["proposal_id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn an_event_is_signed_with_every_secret_and_tells_of_no_text() {
    let app = App::start().await;
    let (receiver, author) = (Receiver::start(&[]).await, author(&app).await);
    let endpoint = json!({"name": "ops", "url": receiver.url(), "secrets": [NEW, OLD]});
    let told = Told::start(&app, json!([endpoint])).await;
    let id = propose(&author, "ops/gate").await;
    let (headers, body) = receiver.wait(1).await.remove(0);
    for secret in [NEW, OLD] {
        Webhook::new(secret).expect("a secret").verify(body.as_bytes(), &headers).expect("signed");
    }
    let other = "whsec_AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
    assert!(Webhook::new(other).expect("a secret").verify(body.as_bytes(), &headers).is_err());
    assert_eq!(headers["content-type"], "application/json");
    let event: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (&event["type"], &event["data"]),
        (
            &json!("review.propose_edit"),
            &json!({"proposal_id": id, "kind": "wiki_edit", "state": "pending", "actor": "scribe"})
        )
    );
    assert!(event["timestamp"].as_str().is_some_and(|at| at.ends_with('Z')), "{event}");
    assert!(!body.contains("secret") && !body.contains("because"), "{body}");
    told.stop().await;
}

#[tokio::test]
async fn what_is_not_taken_comes_again_under_the_same_id_and_before_what_follows() {
    let app = App::start().await;
    let (receiver, author) = (Receiver::start(&[500, 302, 503]).await, author(&app).await);
    let told = Told::start(&app, json!([endpoint(&receiver)])).await;
    let first = propose(&author, "ops/gate").await;
    let second = propose(&author, "ops/crane").await;
    let came = receiver.wait(5).await;
    let ids: Vec<&str> = came.iter().map(|(headers, _)| headers["webhook-id"].to_str().expect("text")).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] != ids[0], "{ids:?}");
    let told_of: Vec<Value> = receiver.bodies().into_iter().map(|body| body["data"]["proposal_id"].clone()).collect();
    assert_eq!(told_of, [json!(first), json!(first), json!(first), json!(first), json!(second)]);
    for (headers, body) in &came {
        Webhook::new(NEW).expect("a secret").verify(body.as_bytes(), headers).expect("each try is signed anew");
    }
    told.stop().await;
}

#[tokio::test]
async fn what_is_given_up_does_not_hold_up_the_rest() {
    let app = App::start().await;
    let (receiver, author) = (Receiver::start(&[500, 500, 500, 500]).await, author(&app).await);
    let told = Told::start(&app, json!([endpoint(&receiver)])).await;
    propose(&author, "ops/gate").await;
    let second = propose(&author, "ops/crane").await;
    receiver.wait(5).await;
    assert_eq!(receiver.bodies()[4]["data"]["proposal_id"], json!(second));
    told.stop().await;
}

#[tokio::test]
async fn a_stop_loses_nothing_and_repeats_nothing_that_was_taken() {
    let app = App::start().await;
    let (receiver, author) = (Receiver::start(&[]).await, author(&app).await);
    let told = Told::start(&app, json!([endpoint(&receiver)])).await;
    let first = propose(&author, "ops/gate").await;
    receiver.wait(1).await;
    told.stop().await;
    let second = propose(&author, "ops/crane").await;
    author.ok("review_withdraw", json!({"id": first, "reason": "no longer"})).await;
    let told = Told::start(&app, json!([endpoint(&receiver)])).await;
    receiver.wait(3).await;
    told.stop().await;
    let came: Vec<(Value, Value)> =
        receiver.bodies().into_iter().map(|body| (body["type"].clone(), body["data"]["proposal_id"].clone())).collect();
    // The first may come twice: the stop can fall between its answer and the note of it.
    let mut rest = came.clone();
    rest.dedup();
    assert_eq!(
        rest,
        [
            (json!("review.propose_edit"), json!(first)),
            (json!("review.propose_edit"), json!(second)),
            (json!("review.withdraw_proposal"), json!(first))
        ]
    );
}

/// Two instances on one store.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_instances_one_tells_of_each_event_and_the_other_goes_on_when_it_stops() {
    let app = App::start().await;
    let (receiver, author) = (Receiver::start(&[]).await, author(&app).await);
    let (one, other) =
        (Told::start(&app, json!([endpoint(&receiver)])).await, Told::start(&app, json!([endpoint(&receiver)])).await);
    let mut expected = Vec::new();
    for n in 0..20 {
        expected.push(json!(propose(&author, &format!("ops/gate-{n}")).await));
    }
    receiver.wait(20).await;
    one.stop().await;
    for n in 20..30 {
        expected.push(json!(propose(&author, &format!("ops/gate-{n}")).await));
    }
    receiver.wait(30).await;
    other.stop().await;
    let told: Vec<Value> = receiver.bodies().into_iter().map(|body| body["data"]["proposal_id"].clone()).collect();
    assert_eq!(told, expected, "each once, in order");
}

/// The other instance waits for the lease of one that is on its way, and takes it when that has died.
#[tokio::test]
async fn a_lease_that_runs_out_is_taken_over_and_the_event_comes_again() {
    let app = App::start().await;
    let (receiver, author) = (Receiver::start(&[]).await, author(&app).await);
    let first = Told::start(&app, json!([endpoint(&receiver)])).await;
    propose(&author, "ops/gate").await;
    receiver.wait(1).await;
    first.stop().await;
    let graph = &app.parts.graph;
    let lease = "webhooks.ops.lease";
    // Somebody holds it for a while.
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3600);
    graph.set_meta(lease, &format!("{later} another")).await.expect("set");
    let told = Told::start(&app, json!([endpoint(&receiver)])).await;
    propose(&author, "ops/crane").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(receiver.bodies().len(), 1, "the other one tells");
    // It died.
    graph.set_meta(lease, "2020-01-01T00:00:00Z another").await.expect("set");
    receiver.wait(2).await;
    told.stop().await;
    assert_eq!(receiver.bodies().len(), 2);
}

#[tokio::test]
async fn endpoints_get_what_they_want_and_one_that_is_gone_nothing_more() {
    let app = App::start().await;
    let author = author(&app).await;
    let (gone, choosy, all) = (Receiver::start(&[410]).await, Receiver::start(&[]).await, Receiver::start(&[]).await);
    let named = |name: &str, receiver: &Receiver, events: Value| json!({"name": name, "url": receiver.url(), "secrets": [NEW], "events": events});
    let endpoints = json!([
        named("gone", &gone, json!([])),
        named("choosy", &choosy, json!(["review.withdraw_proposal"])),
        named("all", &all, json!([]))
    ]);
    let told = Told::start(&app, endpoints).await;
    let id = propose(&author, "ops/gate").await;
    gone.wait(1).await;
    author.ok("review_withdraw", json!({"id": id})).await;
    all.wait(2).await;
    choosy.wait(1).await;
    told.stop().await;
    assert_eq!(gone.bodies().len(), 1);
    let types: Vec<Value> = choosy.bodies().into_iter().map(|body| body["type"].clone()).collect();
    assert_eq!(types, ["review.withdraw_proposal"]);
}

/// Takes one request over TLS as `localhost`; its head and body, or why there was none.
async fn take_encrypted(listener: tokio::net::TcpListener) -> std::io::Result<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::{
        TlsAcceptor,
        rustls::{
            ServerConfig,
            pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        },
    };
    let chain = CertificateDer::from_pem_slice(include_bytes!("data/webhook-tls/cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("data/webhook-tls/key.pem")).expect("a key");
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![chain], key).expect("they match");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let mut stream = acceptor.accept(listener.accept().await?.0).await?;
    let (mut came, mut part) = (String::new(), [0; 4096]);
    // The body ends with the object.
    while !came.ends_with("}}") {
        let length = stream.read(&mut part).await?;
        if length == 0 {
            break;
        }
        came.push_str(&String::from_utf8_lossy(&part[..length]));
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await?;
    stream.shutdown().await?;
    Ok(came)
}

/// The real binary, which trusts whom its machine trusts.
#[tokio::test]
async fn an_endpoint_is_called_over_tls_if_its_certificate_is_trusted() {
    for trusted in [true, false] {
        let home = Home::new();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        home.configure(&format!(
            "[webhooks]\nallow_private = true\ntries = 1\nendpoints = [{{ name = \"ops\", \
             url = \"https://localhost:{port}/hook\", secrets = [\"{NEW}\"] }}]\n"
        ));
        let ca = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/webhook-tls/ca.pem");
        let line =
            if trusted { format!("SSL_CERT_FILE='{ca}' exec \"$0\" \"$@\"") } else { "exec \"$0\" \"$@\"".to_owned() };
        let served = home.serve_under(&line);
        let taking = tokio::spawn(take_encrypted(listener));
        let request = json!({"slug": "ops/gate", "body": "The gate opens at nine.\n"});
        served.call("wiki_propose", request).await.expect("proposed");
        let taken = tokio::time::timeout(Duration::from_secs(30), taking).await.expect("called").expect("ended");
        assert_eq!(taken.is_ok(), trusted, "{taken:?}");
        if let Ok(came) = taken {
            assert!(came.starts_with("POST /hook HTTP/1.1\r\n") && came.contains("webhook-signature: v1,"), "{came}");
        }
    }
}

#[tokio::test]
async fn settings_that_cannot_be_used_name_their_key() {
    let app = App::start().await;
    let receiver = Receiver::start(&[]).await;
    let sources = || Sources {
        graph: app.parts.graph.clone(),
        browse: app.parts.browse.clone(),
        reviews: app.parts.reviews.clone(),
        clock: Arc::new(SystemClock),
    };
    let good = endpoint(&receiver);
    let with = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    for (endpoints, said) in [
        (json!([with("name", json!("a b"))]), "letters"),
        (json!([good, good]), "another endpoint"),
        (json!([with("url", json!("ftp://x"))]), "address"),
        (json!([with("secrets", json!([]))]), "secret"),
        (json!([with("secrets", json!(["hunter2"]))]), "secret"),
    ] {
        let error = Webhooks::new(sources(), &settings(endpoints.clone())).err().expect("refused").to_string();
        assert!(error.starts_with("webhooks.endpoints: ") && error.contains(said), "{endpoints}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let mut plain = settings(json!([good]));
    plain.allow_private = false;
    let error = Webhooks::new(sources(), &plain).err().expect("refused").to_string();
    assert!(error.contains("allow_private"), "{error}");
    plain.poll_ms = 0;
    let error = Webhooks::new(sources(), &plain).err().expect("refused").to_string();
    assert!(error.starts_with("webhooks.poll_ms: "), "{error}");
}
