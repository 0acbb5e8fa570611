//! MCP over stdio for clients that know nothing else, handed on to a running service over HTTP.
//!
//! Messages pass as they are, whatever they ask: each request of the client is one POST, and what comes back (one answer,
//! or a stream that ends with one) is written line by line. So progress, errors and every version of the protocol pass,
//! and there is nothing here to extend for a new method. A cancelled request drops its POST, which the service notices.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::StreamExt;
use reqwest::header;
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::{OnceCell, mpsc},
    task::{AbortHandle, JoinSet},
};

use crate::error::ErrorCode;

/// Longest wait for a connection, and for the next bytes of an answer; open streams are kept alive by the service.
const CONNECT: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(120);
/// Longest wait for answers under way once the client has closed its side.
const FAREWELL: Duration = Duration::from_secs(10);
/// The code of JSON-RPC for errors of the bridge itself.
const BRIDGE_ERROR: i32 = -32000;
/// Where a request names its version of the protocol, from 2026-07-28 on.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// A bridge that cannot be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// Anything but plain HTTP.
    #[error(
        "--url: {0:?} is not an http:// address; this build speaks no TLS: reach a service behind https:// through a \
         tunnel or a local proxy"
    )]
    Url(String),
    /// The service does not answer.
    #[error("the service at {url} does not answer; start it with `recollect serve`, or correct --url")]
    Service {
        /// Where it was looked for.
        url: String,
        /// Why.
        source: reqwest::Error,
    },
    /// The service answers, and refuses.
    #[error("the service at {url} refuses: {why}")]
    Refused {
        /// Where it was looked for.
        url: String,
        /// What it says.
        why: String,
    },
    /// The client's side.
    #[error("mcp over stdio: the client cannot be read or written")]
    Stdio(#[from] std::io::Error),
}

/// Hands the messages on standard input to the service at `url`, as the caller behind `token`, and its answers to standard
/// output, until the input ends.
pub async fn bridge(url: &str, token: &str) -> Result<(), BridgeError> {
    if !url.starts_with("http://") {
        return Err(BridgeError::Url(url.to_owned()));
    }
    let endpoint = format!("{}/mcp", url.trim_end_matches('/').trim_end_matches("/mcp"));
    let failed = |source| BridgeError::Service { url: endpoint.clone(), source };
    let http = reqwest::Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE).build().map_err(failed)?;
    let (lines, mut written) = mpsc::channel::<String>(16);
    let service =
        Arc::new(Remote { http, endpoint: endpoint.clone(), token: token.to_owned(), version: OnceCell::new(), lines });
    service.knock().await?;
    let writer = tokio::spawn(async move {
        let mut output = tokio::io::stdout();
        while let Some(mut line) = written.recv().await {
            line.push('\n');
            output.write_all(line.as_bytes()).await?;
            output.flush().await?;
        }
        Ok::<_, std::io::Error>(())
    });
    read(service).await?;
    Ok(writer.await.map_err(std::io::Error::other)??)
}

/// Every message of the client in a task of its own, so that a slow one holds up none.
async fn read(service: Arc<Remote>) -> Result<(), BridgeError> {
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    let mut under_way = JoinSet::new();
    let mut requests: HashMap<String, AbortHandle> = HashMap::new();
    while let Some(line) = input.next_line().await? {
        while under_way.try_join_next().is_some() {}
        requests.retain(|_, task| !task.is_finished());
        if line.trim().is_empty() {
            continue;
        }
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            service.fail(&Value::Null, -32700, "parse error: a line is not JSON", None).await;
            continue;
        };
        if message["method"] == "notifications/cancelled" {
            if let Some(task) = requests.remove(&message["params"]["requestId"].to_string()) {
                task.abort();
            }
            continue;
        }
        let id = message.get("id").map(ToString::to_string);
        let answered = service.version.get().is_some();
        let service = service.clone();
        let first = message["method"] == "initialize" && !answered;
        let task = async move { service.hand_on(&message).await };
        if first {
            // What follows is sent under the version that this agrees on.
            task.await;
            continue;
        }
        let task = under_way.spawn(task);
        if let Some(id) = id {
            requests.insert(id, task);
        }
    }
    drop(service);
    let farewell = async { while under_way.join_next().await.is_some() {} };
    if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
        tracing::warn!("answers still under way after {} s were given up", FAREWELL.as_secs());
    }
    Ok(())
}

/// The service, and where its answers go.
struct Remote {
    http: reqwest::Client,
    endpoint: String,
    token: String,
    /// Agreed on by `initialize`.
    version: OnceCell<String>,
    lines: mpsc::Sender<String>,
}

impl Remote {
    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        self.http
            .post(&self.endpoint)
            .bearer_auth(&self.token)
            .header(header::ACCEPT, "application/json, text/event-stream")
            .json(message)
    }

    /// Whether the service is there and takes the token, before a client relies on it.
    async fn knock(&self) -> Result<(), BridgeError> {
        let ping = json!({"jsonrpc": "2.0", "id": 0, "method": "ping"});
        let response = self.post(&ping).send().await;
        let response = response.map_err(|source| BridgeError::Service { url: self.endpoint.clone(), source })?;
        if response.status().is_success() {
            return Ok(());
        }
        let status = response.status();
        let body: Value = response.json().await.unwrap_or_default();
        let why = body["error"]["message"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        Err(BridgeError::Refused { url: self.endpoint.clone(), why })
    }

    async fn hand_on(&self, message: &Value) {
        if let Err(failed) = self.answer(message).await {
            tracing::warn!(error = &failed as &dyn std::error::Error, "the service does not answer");
            if let Some(id) = message.get("id") {
                let what = format!(
                    "UNAVAILABLE: the service at {} does not answer. Start it with `recollect serve`, then call again",
                    self.endpoint
                );
                let data = json!({"code": ErrorCode::Unavailable.name(), "retryable": true});
                self.fail(id, BRIDGE_ERROR, &what, Some(data)).await;
            }
        }
    }

    /// Sends one message and writes what comes back.
    async fn answer(&self, message: &Value) -> Result<(), reqwest::Error> {
        let mut request = self.post(message);
        for (name, value) in self.headers(message) {
            request = request.header(name, value);
        }
        let response = request.send().await?;
        let Some(id) = message.get("id").filter(|_| message.get("method").is_some()) else {
            return Ok(());
        };
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            return self.stream(response, id).await;
        }
        let status = response.status();
        let body = response.bytes().await?;
        match serde_json::from_slice::<Value>(&body) {
            Ok(answer) if answer.get("jsonrpc").is_some() => self.pass(&answer).await,
            // A refusal before the protocol: the token, the size, the host.
            Ok(refusal) if refusal["error"].is_object() => {
                let error = &refusal["error"];
                let text = |key: &str| error[key].as_str().unwrap_or_default();
                let what = format!("{}: {}", text("code"), text("message"));
                self.fail(id, BRIDGE_ERROR, &what, Some(error.clone())).await;
            }
            _ => self.fail(id, BRIDGE_ERROR, &format!("UNAVAILABLE: the service answered {status}"), None).await,
        }
        Ok(())
    }

    /// Server-sent events: each holds one message; the last one is the answer.
    async fn stream(&self, response: reqwest::Response, id: &Value) -> Result<(), reqwest::Error> {
        let (mut bytes, mut unread, mut answered) = (response.bytes_stream(), Vec::new(), false);
        let mut data = String::new();
        while let Some(chunk) = bytes.next().await {
            unread.extend_from_slice(&chunk?);
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end_matches(['\r', '\n']);
                if let Some(more) = line.strip_prefix("data:") {
                    data.push_str(more.strip_prefix(' ').unwrap_or(more));
                } else if line.is_empty()
                    && let Ok(message) = serde_json::from_str::<Value>(&std::mem::take(&mut data))
                {
                    answered |= message.get("id") == Some(id) && message.get("method").is_none();
                    self.pass(&message).await;
                }
            }
        }
        if !answered {
            self.fail(id, BRIDGE_ERROR, "UNAVAILABLE: the service broke off before its answer", None).await;
        }
        Ok(())
    }

    /// What the HTTP transport says of a message in headers.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let method = message["method"].as_str().unwrap_or_default();
        let own = message["params"]["_meta"][VERSION_KEY].as_str().map(str::to_owned);
        let Some(version) = own.or_else(|| self.version.get().cloned()).filter(|_| method != "initialize") else {
            return Vec::new();
        };
        let mut headers = Vec::new();
        if version.as_str() >= ProtocolVersion::STANDARD_HEADERS.as_str() {
            headers.push(("mcp-method", method.to_owned()));
            let named = if method == "resources/read" { "uri" } else { "name" };
            if let Some(name) = message["params"][named].as_str() {
                headers.push(("mcp-name", header_value(name)));
            }
        }
        headers.push(("mcp-protocol-version", version));
        headers
    }

    async fn pass(&self, message: &Value) {
        if let Some(version) = message["result"]["protocolVersion"].as_str() {
            let _ = self.version.set(version.to_owned());
        }
        self.write(message).await;
    }

    async fn fail(&self, id: &Value, code: i32, message: &str, data: Option<Value>) {
        let mut error = json!({"code": code, "message": message});
        if let Some(data) = data {
            error["data"] = data;
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
    }

    async fn write(&self, message: &Value) {
        // The writer ends with the process; its own error is reported there.
        let _ = self.lines.send(message.to_string()).await;
    }
}

/// A name as the transport wants it in a header: as it is, or in Base64 where that would not survive.
fn header_value(name: &str) -> String {
    use base64::Engine as _;
    let plain = name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && name.trim() == name;
    if plain && !name.starts_with("=?base64?") {
        return name.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_in_a_header() {
        for (name, value) in [
            ("memory_get", "memory_get"),
            ("memory://a b", "memory://a b"),
            ("wiki://page/蝙蝠", "=?base64?d2lraTovL3BhZ2Uv6J2Z6J2g?="),
            (" x", "=?base64?IHg=?="),
        ] {
            assert_eq!(header_value(name), value);
        }
    }
}
