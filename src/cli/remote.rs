//! The same use cases through a running service: one stateless MCP call each.

use std::time::Duration;

use anyhow::Context as _;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Context,
    memory::Target,
    wire::{self, Holder, Opened},
};
use crate::{
    domain::Caller,
    error::{Error, ErrorCode},
    mcp,
};

/// Longest wait for an answer of the service.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Either the data folder, or the service that holds it.
pub(super) enum Access {
    Local(Box<Opened>, Caller),
    Remote(Remote),
}

/// A running service.
pub(super) struct Remote {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Access {
    /// The service named by `target`; without one, the data folder or the service that holds it.
    pub(super) async fn open(ctx: &Context, target: Target) -> anyhow::Result<Self> {
        let url = match target.url {
            Some(url) => url,
            None => match wire::holder(&ctx.config.data.dir)? {
                None => {
                    let opened = wire::open(&ctx.config, wire::Models::MustMatch).await?;
                    return Ok(Self::Local(Box::new(opened), wire::operator()));
                }
                Some(Holder { url: Some(url), .. }) => url,
                Some(holder) => return Err(holder.in_use(&ctx.config.data.dir)),
            },
        };
        let token = match target.token {
            Some(token) => token,
            None => admin_token(ctx)?,
        };
        Ok(Self::Remote(Remote { client: reqwest::Client::builder().timeout(TIMEOUT).build()?, url, token }))
    }
}

fn admin_token(ctx: &Context) -> anyhow::Result<String> {
    let path = ctx.config.data.dir.join("tokens.json");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("no --token was given and {} cannot be read", path.display()))?;
    let tokens: Value = serde_json::from_str(&text)?;
    tokens["admin"].as_str().map(str::to_owned).context("tokens.json has no admin token")
}

impl Remote {
    /// Calls a tool; a business failure becomes the error it names.
    pub(super) async fn call<T: DeserializeOwned>(&self, tool: &str, arguments: &impl Serialize) -> anyhow::Result<T> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let response = self
            .client
            .post(format!("{}/mcp", self.url.trim_end_matches('/')))
            .bearer_auth(&self.token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .json(&body)
            .send()
            .await
            .with_context(|| {
                Error::new(ErrorCode::Unavailable, format!("the service at {} does not answer", self.url))
            })?;
        let status = response.status();
        let answer: Value =
            response.json().await.with_context(|| format!("the service answered {status} without JSON"))?;
        let result = &answer["result"];
        if result["isError"] == true || !result.is_object() {
            return Err(refusal(&answer).unwrap_or_else(|| anyhow::anyhow!("the service refused the call")));
        }
        Ok(serde_json::from_value(result["structuredContent"].clone())?)
    }
}

/// The error that an answer names: of the tool, of the protocol, or of HTTP.
fn refusal(answer: &Value) -> Option<anyhow::Error> {
    let tool = &answer["result"]["_meta"][mcp::ERROR];
    let error = &answer["error"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let code = [&tool["code"], &error["data"]["code"], &error["code"]].into_iter().find_map(Value::as_str)?;
    Some(
        Error {
            code: ErrorCode::named(code)?,
            field: text(&tool["field"]),
            message: text(&tool["message"]).or_else(|| text(&error["message"]))?,
            advice: text(&tool["advice"]).map(Into::into),
            source: None,
        }
        .into(),
    )
}
