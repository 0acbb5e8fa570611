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

/// Longest wait for an answer of the service to a call.
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
        if let Some(service) = Remote::of(ctx, target)? {
            return Ok(Self::Remote(service));
        }
        let opened = wire::open(&ctx.config, wire::Models::MustMatch).await?;
        Ok(Self::Local(Box::new(opened), wire::operator()))
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
    /// The service named by `target`, or the one that holds the data folder; `None` if the folder is free.
    pub(super) fn of(ctx: &Context, target: Target) -> anyhow::Result<Option<Self>> {
        let url = match target.url {
            Some(url) => url,
            None => match wire::holder(&ctx.config.data.dir)? {
                None => return Ok(None),
                Some(Holder { url: Some(url), .. }) => url,
                Some(holder) => return Err(holder.in_use(&ctx.config.data.dir)),
            },
        };
        let token = match target.token {
            Some(token) => token,
            None => admin_token(ctx)?,
        };
        Ok(Some(Self { client: reqwest::Client::builder().build()?, url, token }))
    }

    /// Builds the vector index of the service anew, and waits as long as that takes; how many memories it has.
    pub(super) async fn reindex(&self) -> anyhow::Result<usize> {
        let query = "mutation { runJob(input: {name: REINDEX}) { indexed userErrors { code message } } }";
        let answer = self.graphql(query, json!({})).await?;
        let done = &answer["data"]["runJob"];
        let refused = [&answer["errors"][0], &done["userErrors"][0]].into_iter().find(|error| error.is_object());
        if let Some(error) = refused {
            let code = [&error["extensions"]["code"], &error["code"]].into_iter().find_map(Value::as_str);
            let code = code.and_then(ErrorCode::named).unwrap_or(ErrorCode::Internal);
            return Err(Error::new(code, error["message"].as_str().unwrap_or("the service refused the job")).into());
        }
        let indexed = done["indexed"].as_u64().and_then(|count| usize::try_from(count).ok());
        indexed.context("the service did not say what it did")
    }

    /// Runs a document; the whole answer, errors and all. It may take as long as a job does.
    pub(super) async fn graphql(&self, query: &str, variables: Value) -> anyhow::Result<Value> {
        let post = self.client.post(format!("{}/graphql", self.url.trim_end_matches('/'))).bearer_auth(&self.token);
        let answer = post.json(&json!({"query": query, "variables": variables})).send().await;
        Ok(answer.with_context(|| self.silent())?.json().await?)
    }

    fn silent(&self) -> Error {
        Error::new(ErrorCode::Unavailable, format!("the service at {} does not answer", self.url))
    }

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
            .timeout(TIMEOUT)
            .send()
            .await
            .with_context(|| self.silent())?;
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
            place: None,
            advice: text(&tool["advice"]).map(Into::into),
            source: None,
        }
        .into(),
    )
}
