//! Subscriptions: the protocol graphql-transport-ws on a web socket.
//!
//! A browser cannot send a header with the handshake, so the token comes in the payload of `connection_init`; host and
//! origin were checked before (`guard`). Each operation runs in a task of its own and ends with the socket. A token that is
//! revoked closes its sockets.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade},
    response::{IntoResponse, Response},
};
use futures::{SinkExt, StreamExt, stream::SplitSink};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout, timeout_at},
};

use super::{AppState, bearer, failure::Failure, graphql};
use crate::{
    domain::Caller,
    error::{Error, ErrorCode},
    graphql::{Answer, failure},
};

const PROTOCOL: &str = "graphql-transport-ws";
/// Largest message of a client, in bytes.
const MESSAGE_BYTES: usize = 1 << 20;
/// How often a silent client is asked whether it is there, and its token whether it still opens.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// Silence after which a client is taken for gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a client may take to read one message.
const PATIENCE: Duration = Duration::from_secs(30);
/// Messages that wait for a slow client before its operations wait too.
const WAITING: usize = 32;

/// Answers the handshake.
pub(super) fn open(state: AppState, upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(MESSAGE_BYTES).max_frame_size(MESSAGE_BYTES);
    if upgrade.selected_protocol().is_none_or(|name| name != PROTOCOL) {
        let message = format!("sec-websocket-protocol: only {PROTOCOL} is spoken");
        return Failure::new(ErrorCode::BadUserInput, message).into_response();
    }
    let Ok(permit) = state.sockets.clone().try_acquire_owned() else {
        return Failure::new(ErrorCode::RateLimited, "too many web sockets at once").into_response();
    };
    upgrade.on_upgrade(move |socket| serve(state, socket, permit))
}

/// Why a socket is closed: the codes of the protocol.
struct Closed(u16, &'static str);

const BAD_MESSAGE: Closed = Closed(4400, "not a message of the protocol");
const NOT_INITIALISED: Closed = Closed(4401, "connection_init comes first");
const FORBIDDEN: Closed = Closed(4403, "the bearer token is not valid");
const UNCHECKED: Closed = Closed(1011, "the bearer token cannot be checked now");
const INIT_TIMEOUT: Closed = Closed(4408, "connection_init did not come in time");
const TWICE_INITIALISED: Closed = Closed(4429, "connection_init came twice");
const TWICE_SUBSCRIBED: Closed = Closed(4409, "an operation with this id is under way");
const GONE: Closed = Closed(1000, "");

/// What an operation has to say.
struct Said {
    id: String,
    /// Tells it from an earlier operation under the same id.
    run: u64,
    message: Value,
    last: bool,
}

struct Session {
    state: AppState,
    caller: Arc<Caller>,
    sink: SplitSink<WebSocket, Message>,
    running: HashMap<String, (u64, JoinHandle<()>)>,
    runs: u64,
    say: mpsc::Sender<Said>,
}

async fn serve(state: AppState, socket: WebSocket, _permit: OwnedSemaphorePermit) {
    let (mut sink, mut source) = socket.split();
    let deadline = Instant::now() + Duration::from_millis(state.limits.init_timeout_ms);
    let token = match timeout_at(deadline, init(&mut sink, &mut source)).await {
        Ok(Ok(token)) => token,
        Ok(Err(closed)) => return close(&mut sink, closed).await,
        Err(_) => return close(&mut sink, INIT_TIMEOUT).await,
    };
    let caller = match bearer::owner(&state, &token).await {
        Ok(caller) => caller,
        Err(refused) if refused.code() == ErrorCode::Unauthenticated => return close(&mut sink, FORBIDDEN).await,
        Err(_) => return close(&mut sink, UNCHECKED).await,
    };
    let (say, mut said) = mpsc::channel(WAITING);
    let mut session = Session { state, caller, sink, running: HashMap::new(), runs: 0, say };
    let closed = session.run(&token, &mut source, &mut said).await;
    session.running.values().for_each(|(_, task)| task.abort());
    close(&mut session.sink, closed).await;
}

/// The token of `connection_init`, which must be the first message; pings may come before it.
async fn init(
    sink: &mut SplitSink<WebSocket, Message>,
    source: &mut futures::stream::SplitStream<WebSocket>,
) -> Result<String, Closed> {
    loop {
        let Some(message) = read(source.next().await)? else { continue };
        match message.get("type").and_then(Value::as_str) {
            Some("connection_init") => {
                let payload = message.get("payload").and_then(Value::as_object);
                let token = payload.and_then(token_of).ok_or(FORBIDDEN)?;
                return Ok(token.to_owned());
            }
            Some("ping") => send(sink, &json!({"type": "pong"})).await?,
            Some("pong") => {}
            Some("subscribe" | "complete") => return Err(NOT_INITIALISED),
            _ => return Err(BAD_MESSAGE),
        }
    }
}

/// `{"Authorization": "Bearer TOKEN"}`, the name in any case, or `{"token": "TOKEN"}`.
fn token_of(payload: &Map<String, Value>) -> Option<&str> {
    payload.iter().find_map(|(name, value)| match name.to_ascii_lowercase().as_str() {
        "authorization" => bearer::token(value.as_str()?),
        "token" => value.as_str(),
        _ => None,
    })
}

impl Session {
    async fn run(
        &mut self,
        token: &str,
        source: &mut futures::stream::SplitStream<WebSocket>,
        said: &mut mpsc::Receiver<Said>,
    ) -> Closed {
        if let Err(closed) = send(&mut self.sink, &json!({"type": "connection_ack"})).await {
            return closed;
        }
        let mut check = interval(CHECK_EVERY);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        check.reset();
        let mut heard = Instant::now();
        loop {
            let done = tokio::select! {
                message = source.next() => {
                    heard = Instant::now();
                    match read(message) {
                        Ok(Some(message)) => self.hear(message).await,
                        Ok(None) => Ok(()),
                        Err(closed) => Err(closed),
                    }
                }
                Some(said) = said.recv() => self.tell(said).await,
                _ = check.tick() => {
                    if heard.elapsed() > SILENCE {
                        Err(GONE)
                    } else if self.revoked(token).await {
                        Err(FORBIDDEN)
                    } else {
                        within(self.sink.send(Message::Ping(Default::default()))).await
                    }
                }
            };
            if let Err(closed) = done {
                return closed;
            }
        }
    }

    /// Whether the token opens nothing any longer. A store that cannot answer now takes nothing back.
    async fn revoked(&self, token: &str) -> bool {
        let owner = bearer::owner(&self.state, token).await;
        owner.is_err_and(|refused| refused.code() == ErrorCode::Unauthenticated)
    }

    /// What the client says.
    async fn hear(&mut self, mut message: Map<String, Value>) -> Result<(), Closed> {
        let id = message.get("id").and_then(Value::as_str).map(str::to_owned);
        match (message.get("type").and_then(Value::as_str), id) {
            (Some("ping"), _) => send(&mut self.sink, &json!({"type": "pong"})).await,
            (Some("pong"), _) => Ok(()),
            (Some("connection_init"), _) => Err(TWICE_INITIALISED),
            (Some("complete"), Some(id)) => {
                if let Some((_, task)) = self.running.remove(&id) {
                    task.abort();
                }
                Ok(())
            }
            (Some("subscribe"), Some(id)) => {
                let Some(Value::Object(payload)) = message.remove("payload") else { return Err(BAD_MESSAGE) };
                self.subscribe(id, payload).await
            }
            _ => Err(BAD_MESSAGE),
        }
    }

    async fn subscribe(&mut self, id: String, payload: Map<String, Value>) -> Result<(), Closed> {
        if self.running.contains_key(&id) {
            return Err(TWICE_SUBSCRIBED);
        }
        if self.running.len() >= self.state.limits.max_subscriptions {
            let refused =
                failure(&Error::new(ErrorCode::RateLimited, "too many operations at once on this web socket"));
            return send(&mut self.sink, &json!({"type": "error", "id": id, "payload": refused["errors"]})).await;
        }
        let Ok(asked) = graphql::asked(payload) else { return Err(BAD_MESSAGE) };
        self.runs += 1;
        let (run, say) = (self.runs, self.say.clone());
        let answers = self.state.graphql.stream(self.caller.clone(), asked);
        let name = id.clone();
        let task = tokio::spawn(async move {
            let mut answers = std::pin::pin!(answers);
            while let Some(answer) = answers.next().await {
                let (kind, payload, last) = match answer {
                    Answer::Executed(body) => ("next", body, false),
                    Answer::Refused(mut body) | Answer::NotHere(mut body) => ("error", body["errors"].take(), true),
                };
                let message = json!({"type": kind, "id": name, "payload": payload});
                if say.send(Said { id: name.clone(), run, message, last }).await.is_err() || last {
                    return;
                }
            }
            let message = json!({"type": "complete", "id": name});
            // Nobody listens when the socket is gone.
            let _ = say.send(Said { id: name, run, message, last: true }).await;
        });
        self.running.insert(id, (run, task));
        Ok(())
    }

    /// What an operation says, unless the client has ended it meanwhile.
    async fn tell(&mut self, said: Said) -> Result<(), Closed> {
        if self.running.get(&said.id).is_none_or(|(run, _)| *run != said.run) {
            return Ok(());
        }
        if said.last {
            self.running.remove(&said.id);
        }
        send(&mut self.sink, &said.message).await
    }
}

/// A message of the protocol; `None` for a frame that is none (a ping of the web socket).
fn read(message: Option<Result<Message, axum::Error>>) -> Result<Option<Map<String, Value>>, Closed> {
    match message {
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text).map(Some).map_err(|_| BAD_MESSAGE),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Binary(_))) => Err(BAD_MESSAGE),
        Some(Ok(Message::Close(_)) | Err(_)) | None => Err(GONE),
    }
}

async fn send(sink: &mut SplitSink<WebSocket, Message>, message: &Value) -> Result<(), Closed> {
    within(sink.send(Message::Text(message.to_string().into()))).await
}

async fn within(sent: impl Future<Output = Result<(), axum::Error>>) -> Result<(), Closed> {
    match timeout(PATIENCE, sent).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(GONE),
    }
}

async fn close(sink: &mut SplitSink<WebSocket, Message>, Closed(code, reason): Closed) {
    let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
    // The client may be gone already.
    let _ = within(sink.send(Message::Close(Some(frame)))).await;
}
