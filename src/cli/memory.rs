//! store, recall, associate, get, update, forget, link, feedback, observe, summarize, explain: the façade's use cases on
//! the command line.
//!
//! They run on the data folder itself or, when a service holds it, through that service.

use clap::Args;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::{Context, output, remote::Access};
use crate::{
    domain::Caller,
    error::Error,
    read::{
        AssociateReply, AssociateRequest, ExplainReply, ExplainRequest, GetReply, GetRequest, RecallReply,
        RecallRequest, SummarizeReply, SummarizeRequest,
    },
    service::{Service, UpdateReply},
    write::{
        FeedbackReply, FeedbackRequest, ForgetReply, ForgetRequest, LinkReply, LinkRequest, ObserveReply,
        ObserveRequest, StoreReply, StoreRequest, UpdateRequest,
    },
};

/// Where to find the memories.
#[derive(Debug, Clone, Default, Args)]
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
    /// At most 150 characters; made from the text when absent.
    #[arg(long)]
    summary: Option<String>,
    /// When it applies.
    #[arg(long)]
    context: Option<String>,
    /// Labels, separated by commas.
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// Who said it, for a turn of a dialogue.
    #[arg(long)]
    speaker: Option<String>,
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
    #[arg(long, allow_negative_numbers = true)]
    importance: Option<f64>,
    /// Between 0 and 1; by default from the source.
    #[arg(long, allow_negative_numbers = true)]
    confidence: Option<f64>,
    /// user_explicit, observed, inferred or document.
    #[arg(long, default_value = "user_explicit")]
    source: String,
    /// When it happened.
    #[arg(long)]
    occurred_at: Option<String>,
    /// True in the world from then.
    #[arg(long)]
    valid_from: Option<String>,
    /// True in the world until then.
    #[arg(long)]
    valid_to: Option<String>,
    /// Seconds after which it is no longer recalled.
    #[arg(long, allow_negative_numbers = true)]
    ttl_secs: Option<i64>,
    /// Ids of memories that it caused.
    #[arg(long, value_delimiter = ',')]
    causes: Vec<String>,
    /// Ids of memories that caused it.
    #[arg(long, value_delimiter = ',')]
    caused_by: Vec<String>,
    /// Ids of memories that it replaces.
    #[arg(long, value_delimiter = ',')]
    supersedes: Vec<String>,
    /// The same key stores once.
    #[arg(long)]
    idempotency_key: Option<String>,
    /// The name another system knows it by.
    #[arg(long)]
    external_id: Option<String>,
    /// Have a person look at it before it is recalled.
    #[arg(long)]
    review: bool,
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
    /// Leave out matches with a lower score, between 0 and 1.
    #[arg(long, allow_negative_numbers = true)]
    min_score: Option<f64>,
    /// items, or prompt: a block of text to put into a prompt.
    #[arg(long)]
    format: Option<String>,
    /// Tokens of the answer at most.
    #[arg(long, allow_negative_numbers = true)]
    token_budget: Option<i64>,
    /// The cursor of the last answer, for the next page.
    #[arg(long)]
    cursor: Option<String>,
    /// true (default) or false: say why.
    #[arg(long)]
    explain: Option<bool>,
    /// true (default) or false: look for synonyms and narrower concepts of imported ontologies too.
    #[arg(long)]
    expand: Option<bool>,
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
    /// What was true in the world then.
    #[arg(long)]
    as_of: Option<String>,
    /// What was believed then.
    #[arg(long)]
    known_at: Option<String>,
    /// The cursor of the last answer, for the next page.
    #[arg(long)]
    cursor: Option<String>,
    /// true (default) or false: say why.
    #[arg(long)]
    explain: Option<bool>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// The memories.
    #[arg(required = true)]
    ids: Vec<String>,
    /// Only if they were true in the world then.
    #[arg(long)]
    as_of: Option<String>,
    /// As they were believed then.
    #[arg(long)]
    known_at: Option<String>,
    /// Of the last answer with the same ids, for what did not fit into it.
    #[arg(long)]
    cursor: Option<String>,
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
    /// Why.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct UpdateArgs {
    /// The memory.
    id: String,
    /// The revision the change was made on.
    #[arg(long, allow_negative_numbers = true)]
    expected_revision: Option<i64>,
    /// New text.
    #[arg(long)]
    content: Option<String>,
    /// New title.
    #[arg(long)]
    title: Option<String>,
    /// New summary.
    #[arg(long)]
    summary: Option<String>,
    /// New context.
    #[arg(long)]
    context: Option<String>,
    /// New labels in place of the old, separated by commas.
    #[arg(long, value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// New importance, between 0 and 1.
    #[arg(long, allow_negative_numbers = true)]
    importance: Option<f64>,
    /// New confidence, between 0 and 1.
    #[arg(long, allow_negative_numbers = true)]
    confidence: Option<f64>,
    /// working, episodic, semantic, reflective or warning.
    #[arg(long)]
    kind: Option<String>,
    /// fact, preference, pattern, correction, constraint, procedure, event or insight.
    #[arg(long = "type")]
    memory_type: Option<String>,
    /// When it happened.
    #[arg(long)]
    occurred_at: Option<String>,
    /// True in the world from then.
    #[arg(long)]
    valid_from: Option<String>,
    /// True in the world until then.
    #[arg(long)]
    valid_to: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    /// The cause, or the newer memory.
    from: String,
    /// The effect, or the older memory.
    to: String,
    /// CAUSES, SUPERSEDES or SUPPLEMENTS.
    #[arg(long)]
    edge: String,
    /// Why.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct FeedbackArgs {
    /// The memory.
    id: String,
    /// Whether it helped: true or false.
    #[arg(long, action = clap::ArgAction::Set)]
    useful: bool,
    /// Why.
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ObserveArgs {
    /// task_started, tool_call, tool_result, task_succeeded, task_failed, user_message, user_correction or session_ended.
    event: String,
    /// What was said, given, answered or learnt.
    #[arg(long)]
    text: Option<String>,
    /// Session it belongs to.
    #[arg(long)]
    session: Option<String>,
    /// Task it belongs to.
    #[arg(long)]
    task: Option<String>,
    /// The tool.
    #[arg(long)]
    tool: Option<String>,
    /// Status that the tool or task gave.
    #[arg(long)]
    status: Option<String>,
    /// positive or negative.
    #[arg(long)]
    feedback: Option<String>,
    /// When it happened.
    #[arg(long)]
    at: Option<String>,
    /// private, shared or global.
    #[arg(long)]
    scope: Option<String>,
    /// Group to share with.
    #[arg(long)]
    group: Option<String>,
    /// The same key keeps one event.
    #[arg(long)]
    idempotency_key: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct SummarizeArgs {
    /// Only what answers this.
    topic: Option<String>,
    /// Only what happened from then.
    #[arg(long)]
    since: Option<String>,
    /// Only what happened before then.
    #[arg(long)]
    until: Option<String>,
    /// Only this session.
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The memory.
    id: String,
    /// The question, as it was given to recall.
    query: String,
    /// What was true in the world then.
    #[arg(long)]
    as_of: Option<String>,
    /// What was believed then.
    #[arg(long)]
    known_at: Option<String>,
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
        source: Some(args.source),
        summary: args.summary,
        context: args.context,
        speaker: args.speaker,
        confidence: args.confidence,
        valid_from: args.valid_from,
        valid_to: args.valid_to,
        ttl_secs: args.ttl_secs,
        causes: args.causes,
        external_id: args.external_id,
        review: args.review,
        event: None,
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
    if let Some(review) = reply.review_id {
        println!("  a person decides: recollect review show {review}");
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
        min_score: args.min_score,
        format: args.format,
        token_budget: args.token_budget,
        cursor: args.cursor,
        explain: args.explain,
        expand: args.expand,
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
        as_of: args.as_of,
        known_at: args.known_at,
        cursor: args.cursor,
        explain: args.explain,
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
    let request = GetRequest { ids: args.ids, as_of: args.as_of, known_at: args.known_at, cursor: args.cursor };
    let local = async |service: &Service, caller: &Caller, request| service.get(caller, request).await;
    let reply: GetReply = ask(&ctx, args.target, "memory_get", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("{}", serde_json::to_string_pretty(&json!(reply.memories))?);
    if let Some(cursor) = reply.cursor {
        // Beside the records, which are JSON.
        eprintln!("more: --cursor {cursor}");
    }
    Ok(())
}

pub(super) async fn forget(ctx: Context, args: ForgetArgs) -> anyhow::Result<()> {
    let request = ForgetRequest { ids: args.ids, strategy: args.strategy, reason: args.reason };
    let local = async |service: &Service, caller: &Caller, request| service.forget(caller, request).await;
    let reply: ForgetReply = ask(&ctx, args.target, "memory_forget", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("{} forgotten ({})", reply.forgotten, reply.strategy);
    Ok(())
}

pub(super) async fn update(ctx: Context, args: UpdateArgs) -> anyhow::Result<()> {
    let request = UpdateRequest {
        id: args.id,
        expected_revision: args.expected_revision,
        content: args.content,
        title: args.title,
        summary: args.summary,
        context: args.context,
        tags: args.tags,
        importance: args.importance,
        confidence: args.confidence,
        kind: args.kind,
        r#type: args.memory_type,
        occurred_at: args.occurred_at,
        valid_from: args.valid_from,
        valid_to: args.valid_to,
    };
    let local = async |service: &Service, caller: &Caller, request| service.update(caller, request).await;
    let reply: UpdateReply = ask(&ctx, args.target, "memory_update", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    match &reply.review_id {
        Some(review) => println!("{} is as it was; what is new waits for a review, {review}", reply.memory.id),
        None => println!("updated {} to revision {}", reply.memory.id, reply.memory.revision),
    }
    Ok(())
}

pub(super) async fn link(ctx: Context, args: LinkArgs) -> anyhow::Result<()> {
    let request = LinkRequest { from: args.from, to: args.to, edge: args.edge, reason: args.reason };
    let local = async |service: &Service, caller: &Caller, request| service.link(caller, request).await;
    let reply: LinkReply = ask(&ctx, args.target, "memory_link", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("{} {} {}", reply.from, reply.edge, reply.to);
    Ok(())
}

pub(super) async fn feedback(ctx: Context, args: FeedbackArgs) -> anyhow::Result<()> {
    let request = FeedbackRequest { id: args.id, useful: Some(args.useful), note: args.note };
    let local = async |service: &Service, caller: &Caller, request| service.feedback(caller, request).await;
    let reply: FeedbackReply = ask(&ctx, args.target, "memory_feedback", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("confidence {:.2} -> {:.2}", reply.confidence_before, reply.confidence_after);
    Ok(())
}

pub(super) async fn observe(ctx: Context, args: ObserveArgs) -> anyhow::Result<()> {
    let request = ObserveRequest {
        event: args.event,
        session_id: args.session,
        task_id: args.task,
        text: args.text,
        tool: args.tool,
        status: args.status,
        feedback: args.feedback,
        at: args.at,
        scope: args.scope,
        group: args.group,
        idempotency_key: args.idempotency_key,
    };
    let local = async |service: &Service, caller: &Caller, request| service.observe(caller, request).await;
    let reply: ObserveReply = ask(&ctx, args.target, "memory_observe", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    println!("kept {}", reply.event_id);
    for memory in &reply.memories {
        println!("  {} {} {}", memory.outcome, memory.kind, memory.id);
    }
    Ok(())
}

pub(super) async fn summarize(ctx: Context, args: SummarizeArgs) -> anyhow::Result<()> {
    let request =
        SummarizeRequest { since: args.since, until: args.until, session_id: args.session, topic: args.topic };
    let local = async |service: &Service, caller: &Caller, request| service.summarize(caller, request).await;
    let reply: SummarizeReply = ask(&ctx, args.target, "memory_summarize", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    print!("{}", output::summarized(&reply));
    Ok(())
}

pub(super) async fn explain(ctx: Context, args: ExplainArgs) -> anyhow::Result<()> {
    let request = ExplainRequest { id: args.id, query: args.query, as_of: args.as_of, known_at: args.known_at };
    let local = async |service: &Service, caller: &Caller, request| service.explain(caller, request).await;
    let reply: ExplainReply = ask(&ctx, args.target, "memory_explain", request, local).await?;
    if ctx.json {
        return output::json(&reply);
    }
    print!("{}", output::explained(&reply));
    Ok(())
}
