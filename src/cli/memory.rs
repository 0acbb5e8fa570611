//! store, recall, associate, get, forget: the façade's use cases on the command line.
//!
//! They run on the data folder itself or, when a service holds it, through that service.

use clap::Args;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::{Context, output, remote::Access};
use crate::{
    domain::Caller,
    error::Error,
    read::{AssociateReply, AssociateRequest, GetReply, GetRequest, RecallReply, RecallRequest},
    service::Service,
    write::{ForgetReply, ForgetRequest, StoreReply, StoreRequest},
};

/// Where to find the memories.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// A running service, for example http://127.0.0.1:7979. Default: the data folder, or the service that holds it.
    #[arg(long)]
    pub url: Option<String>,
    /// Bearer token for the service; by default the admin token of the data folder.
    #[arg(long, env = "RECOLLECT_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct StoreArgs {
    /// The text to remember.
    text: String,
    /// What it is about.
    #[arg(long)]
    title: Option<String>,
    /// working, episodic, semantic, reflective or warning.
    #[arg(long)]
    kind: Option<String>,
    /// fact, preference, pattern, correction, constraint, procedure, event or insight.
    #[arg(long = "type")]
    memory_type: Option<String>,
    /// Labels, separated by commas.
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// Session it belongs to.
    #[arg(long)]
    session: Option<String>,
    /// Task it belongs to.
    #[arg(long)]
    task: Option<String>,
    /// private, shared or global.
    #[arg(long)]
    scope: Option<String>,
    /// Group to share with.
    #[arg(long)]
    group: Option<String>,
    /// Between 0 and 1.
    #[arg(long)]
    importance: Option<f64>,
    /// When it happened.
    #[arg(long)]
    occurred_at: Option<String>,
    /// Ids of memories that caused it.
    #[arg(long, value_delimiter = ',')]
    caused_by: Vec<String>,
    /// Ids of memories that it replaces.
    #[arg(long, value_delimiter = ',')]
    supersedes: Vec<String>,
    /// The same key stores once.
    #[arg(long)]
    idempotency_key: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct RecallArgs {
    /// What to recall.
    query: String,
    /// hybrid, semantic, keyword, recent or associative.
    #[arg(long)]
    mode: Option<String>,
    /// How many at most.
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// Only these layers, separated by commas.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only these types, separated by commas.
    #[arg(long, value_delimiter = ',')]
    types: Vec<String>,
    /// Only memories with one of these tags, separated by commas.
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// Only this session.
    #[arg(long)]
    session: Option<String>,
    /// Only this task.
    #[arg(long)]
    task: Option<String>,
    /// Only what happened from then.
    #[arg(long)]
    since: Option<String>,
    /// Only what happened before then.
    #[arg(long)]
    until: Option<String>,
    /// What was true in the world then.
    #[arg(long)]
    as_of: Option<String>,
    /// What was believed then.
    #[arg(long)]
    known_at: Option<String>,
    /// Superseded memories too.
    #[arg(long)]
    include_superseded: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
#[group(id = "start", required = true, multiple = false, args = ["query", "id"])]
pub(super) struct AssociateArgs {
    /// Start from what answers this.
    query: Option<String>,
    /// Start from these memories, separated by commas.
    #[arg(long, value_delimiter = ',')]
    id: Vec<String>,
    /// Hops between memories.
    #[arg(long, allow_negative_numbers = true)]
    depth: Option<i64>,
    /// How many at most.
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// Only these edges, separated by commas.
    #[arg(long, value_delimiter = ',')]
    edges: Vec<String>,
    /// out, in or both.
    #[arg(long)]
    direction: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// The memories.
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ForgetArgs {
    /// The memories.
    #[arg(required = true)]
    ids: Vec<String>,
    /// delete, decay or archive.
    #[arg(long)]
    strategy: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// Asks the data folder by `local`, or the service that holds it by its MCP tool.
async fn ask<Q: Serialize, R: DeserializeOwned>(
    ctx: &Context,
    target: Target,
    tool: &str,
    request: Q,
    local: impl AsyncFnOnce(&Service, &Caller, Q) -> Result<R, Error>,
) -> anyhow::Result<R> {
    match Access::open(ctx, target).await? {
        Access::Local(opened, caller) => {
            let reply = local(&opened.service, &caller, request).await?;
            opened.close().await?;
            Ok(reply)
        }
        Access::Remote(remote) => remote.call(tool, &request).await,
    }
}

pub(super) async fn store(ctx: Context, args: StoreArgs) -> anyhow::Result<()> {
    let request = StoreRequest {
        content: args.text,
        title: args.title,
        kind: args.kind,
        r#type: args.memory_type,
        tags: args.tags,
        session_id: args.session,
        task_id: args.task,
        scope: args.scope,
        group: args.group,
        importance: args.importance,
        occurred_at: args.occurred_at,
        caused_by: args.caused_by,
        supersedes: args.supersedes,
        idempotency_key: args.idempotency_key,
        source: Some("user_explicit".to_owned()),
        ..StoreRequest::default()
    };
    let local = async |service: &Service, caller: &Caller, request| service.store(caller, request).await;
    let reply: StoreReply = ask(&ctx, args.target, "memory_store", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("{} {}", reply.outcome, reply.id.as_deref().unwrap_or("-"));
    for link in &reply.links {
        println!("  {} {}", link.r#type, link.id);
    }
    if let Some(reason) = reply.reason {
        println!("  {reason}");
    }
    Ok(())
}

pub(super) async fn recall(ctx: Context, args: RecallArgs) -> anyhow::Result<()> {
    let request = RecallRequest {
        query: args.query,
        mode: args.mode,
        limit: args.limit,
        kinds: args.kinds,
        types: args.types,
        tags: args.tags,
        session_id: args.session,
        task_id: args.task,
        since: args.since,
        until: args.until,
        as_of: args.as_of,
        known_at: args.known_at,
        include_superseded: args.include_superseded,
        ..RecallRequest::default()
    };
    let local = async |service: &Service, caller: &Caller, request| service.recall(caller, request).await;
    let reply: RecallReply = ask(&ctx, args.target, "memory_recall", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    print!("{}", output::recalled(&reply));
    Ok(())
}

pub(super) async fn associate(ctx: Context, args: AssociateArgs) -> anyhow::Result<()> {
    let request = AssociateRequest {
        query: args.query,
        ids: args.id,
        depth: args.depth,
        limit: args.limit,
        edges: args.edges,
        direction: args.direction,
        ..AssociateRequest::default()
    };
    let local = async |service: &Service, caller: &Caller, request| service.associate(caller, request).await;
    let reply: AssociateReply = ask(&ctx, args.target, "memory_associate", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    print!("{}", output::associated(&reply));
    Ok(())
}

pub(super) async fn get(ctx: Context, args: GetArgs) -> anyhow::Result<()> {
    let request = GetRequest { ids: args.ids, ..GetRequest::default() };
    let local = async |service: &Service, caller: &Caller, request| service.get(caller, request).await;
    let reply: GetReply = ask(&ctx, args.target, "memory_get", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("{}", serde_json::to_string_pretty(&json!(reply.memories))?);
    Ok(())
}

pub(super) async fn forget(ctx: Context, args: ForgetArgs) -> anyhow::Result<()> {
    let request = ForgetRequest { ids: args.ids, strategy: args.strategy, reason: None };
    let local = async |service: &Service, caller: &Caller, request| service.forget(caller, request).await;
    let reply: ForgetReply = ask(&ctx, args.target, "memory_forget", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("{} forgotten ({})", reply.forgotten, reply.strategy);
    Ok(())
}
