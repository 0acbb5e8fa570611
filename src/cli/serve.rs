//! serve and mcp: the long-running commands.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::{Context, import, pages, wire};
use crate::{auth, http, mcp, telemetry};

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Address to listen on; overrides server.listen.
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// Folder with a memories.jsonl, and perhaps a folder `pages`, to import at start; what is known is left as it is.
    #[arg(long, value_name = "DIR")]
    seed: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct McpArgs {
    /// Bridge to a running service instead of opening the data folder.
    #[arg(long)]
    url: Option<String>,
    /// Bearer token for the running service.
    #[arg(long, env = "RECOLLECT_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

pub(super) async fn serve(ctx: Context, args: ServeArgs) -> anyhow::Result<()> {
    telemetry::init(&ctx.config.log)?;
    let metrics = telemetry::metrics_handle()?;
    let mut config = ctx.config;
    if let Some(listen) = args.listen {
        config.server.listen = listen;
    }
    let mut opened = wire::open_to_serve(&config).await?;
    let listener = tokio::net::TcpListener::bind(config.server.listen)
        .await
        .with_context(|| format!("server.listen: listen on {}", config.server.listen))?;
    let address = listener.local_addr()?;
    let url = format!("http://{address}");
    let first = auth::first_start(opened.service.tokens(), &config.data.dir, opened.service.clock()).await?;
    if let Some(dir) = args.seed {
        let path = dir.join("memories.jsonl");
        let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let imported = import::run(&opened.service, &text, "seed").await?;
        if let Some(first) = imported.errors.first() {
            anyhow::bail!("{} line {}: {}", path.display(), first.line, first.error);
        }
        let pages = dir.join("pages");
        if pages.is_dir() {
            pages::seed(&opened.service, &pages).await?;
        }
    }
    opened.serves_at(&url)?;
    let stop = CancellationToken::new();
    tokio::spawn(stop_on_signal(stop.clone()));
    greet(&url, &config.data.dir, first);
    let state = http::AppState::new(opened.service.clone(), &config.server, address, metrics);
    http::serve(listener, http::router(state), stop, Duration::from_secs(config.server.shutdown_secs)).await?;
    opened.close().await
}

pub(super) async fn mcp(ctx: Context, args: McpArgs) -> anyhow::Result<()> {
    telemetry::init(&ctx.config.log)?;
    if let Some(url) = args.url {
        let token = args.token.context("--url needs --token (or RECOLLECT_TOKEN)")?;
        return Ok(mcp::bridge(&url, &token).await?);
    }
    let dir = &ctx.config.data.dir;
    if let Some(holder) = wire::holder(dir)? {
        let held = holder.in_use(dir);
        return Err(match holder.url {
            Some(url) => anyhow::anyhow!("{held}; or go through it: recollect mcp --url {url} --token TOKEN"),
            None => held,
        });
    }
    let opened = wire::open_to_serve(&ctx.config).await?;
    let caller = match args.token {
        None => wire::operator(),
        Some(token) => auth::authenticate(opened.service.tokens(), &token).await?.context("--token: unknown token")?,
    };
    mcp::stdio(opened.service.clone(), caller, ctx.config.server.mcp).await?;
    opened.close().await
}

/// Tells a person how to connect, once the service answers. Tokens are shown at the first start alone: what is printed may
/// end in a log.
fn greet(url: &str, data: &std::path::Path, first: Option<auth::FirstTokens>) {
    println!("recollect serves at {url}/");
    let tokens = data.join("tokens.json");
    match first {
        Some(auth::FirstTokens { admin, agent, .. }) => {
            let snippet = serde_json::json!({"mcpServers": {"recollect": {
                "type": "http", "url": format!("{url}/mcp"), "headers": {"Authorization": format!("Bearer {agent}")}}}});
            println!("the playground, as admin: {url}/playground#token={admin}");
            println!("tokens are in {}; for an MCP client:\n{snippet:#}", tokens.display());
        }
        None if tokens.exists() => {
            println!("the playground: {url}/playground#token=TOKEN, with a token of {}", tokens.display());
        }
        None => println!("make a token with `recollect token create`"),
    }
}

async fn stop_on_signal(stop: CancellationToken) {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(error) => {
            tracing::error!(%error, "signals cannot be heard; the service stops only when killed");
            return;
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    stop.cancel();
}
