//! doctor, reindex, token, schema, config, healthcheck: for the one who runs the service.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Context, Usage, memory::Target, output, remote::Remote, wire};
use crate::{
    auth,
    backends::SystemClock,
    config,
    domain::{PrincipalKind, Right},
    graphql, mcp,
    ports::Clock,
};

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Bring the index to what the graph says.
    #[arg(long)]
    repair: bool,
}

#[derive(Debug, Args)]
pub(super) struct ReindexArgs {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Make a token; its secret is shown once.
    Create {
        /// Who it speaks for; the owner of what is stored privately with it.
        #[arg(long)]
        principal: String,
        /// human, agent or service.
        #[arg(long)]
        kind: String,
        /// Groups it is a member of, separated by commas.
        #[arg(long, value_delimiter = ',')]
        groups: Vec<String>,
        /// What it may do, separated by commas, for example memory:read,memory:write.
        #[arg(long, value_delimiter = ',')]
        rights: Vec<String>,
        /// Who answers for an agent: that person does not review what it proposes.
        #[arg(long)]
        owner: Option<String>,
    },
    /// List tokens, without their secrets.
    List,
    /// Remove a token.
    Revoke {
        /// Its id, as listed.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The MCP tool listing instead of the GraphQL schema.
    #[arg(long)]
    mcp: bool,
    /// Compare with this file instead of printing; exit 1 if it differs.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    /// Print the built-in file with its comments instead.
    #[arg(long)]
    default: bool,
}

#[derive(Debug, Args)]
pub(super) struct HealthcheckArgs {
    /// The service; by default the one at server.listen.
    #[arg(long)]
    url: Option<String>,
}

pub(super) async fn doctor(ctx: Context, args: DoctorArgs) -> anyhow::Result<()> {
    let opened = wire::open(&ctx.config, wire::Models::MustMatch).await?;
    let report = opened.service.doctor(&wire::operator(), args.repair).await?;
    let (journal, dead_letters) = opened.service.backlog_lengths();
    opened.close().await?;
    let ok = report.ok();
    if ctx.json {
        output::json(&json!({"ok": ok, "missing": report.missing, "orphan": report.orphan, "stale": report.stale,
            "half_links": report.half_links, "journal": journal, "dead_letters": dead_letters, "repaired": args.repair}))?;
    } else {
        println!(
            "{} missing from the index, {} orphans in it, {} stale, {} half links, {journal} waiting, {dead_letters} dead{}",
            report.missing,
            report.orphan,
            report.stale,
            report.half_links,
            if args.repair && !ok { "; repaired" } else { "" }
        );
    }
    anyhow::ensure!(ok || args.repair, "graph and index disagree; `recollect doctor --repair` mends it");
    Ok(())
}

pub(super) async fn reindex(ctx: Context, args: ReindexArgs) -> anyhow::Result<()> {
    let done = match Remote::of(&ctx, args.target)? {
        Some(service) => service.reindex().await?,
        None => reindex_folder(&ctx).await?,
    };
    if ctx.json {
        return output::json(&json!({"indexed": done}));
    }
    println!("{done} memories indexed");
    Ok(())
}

/// Builds the index of the data folder anew, with the models of the settings; how many memories are in it.
pub(super) async fn reindex_folder(ctx: &Context) -> anyhow::Result<usize> {
    let opened = wire::open(&ctx.config, wire::Models::Replace).await?;
    let bar = output::progress(0, "reindex");
    let done = opened
        .service
        .reindex(&wire::operator(), |done, total| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        })
        .await?;
    bar.finish_and_clear();
    opened.note_models().await?;
    opened.close().await?;
    Ok(done)
}

pub(super) async fn token(ctx: Context, command: TokenCommand) -> anyhow::Result<()> {
    let tokens = wire::open_tokens(&ctx.config).await?;
    match command {
        TokenCommand::Create { principal, kind, groups, rights, owner } => {
            let kind: PrincipalKind = kind.parse().map_err(|error| Usage(format!("--kind: {error}")))?;
            let rights = rights
                .iter()
                .map(|right| right.parse::<Right>())
                .collect::<Result<BTreeSet<_>, _>>()
                .map_err(|error| Usage(format!("--rights: {error}")))?;
            if principal.trim().is_empty() {
                return Err(Usage("--principal: must not be empty".to_owned()).into());
            }
            if owner.is_some() && kind != PrincipalKind::Agent {
                return Err(Usage("--owner: only an agent has one".to_owned()).into());
            }
            let clock = SystemClock;
            let (mut token, secret) =
                auth::mint(&principal, kind, groups.into_iter().collect(), rights, clock.now(), clock.next_id())
                    .map_err(|error| Usage(error.to_string()))?;
            token.caller.owner = owner;
            tokens.add_token(&token).await?;
            if ctx.json {
                return output::json(&json!({"id": token.id, "token": secret}));
            }
            println!("{secret}\nid {}; the secret is not shown again", token.id);
        }
        TokenCommand::List => {
            let list = tokens.tokens().await?;
            if ctx.json {
                let list: Vec<_> = list
                    .iter()
                    .map(|token| {
                        json!({"id": token.id, "principal": token.caller.principal, "kind": token.caller.kind,
                            "groups": token.caller.groups, "rights": token.caller.rights, "created_at": token.created_at})
                    })
                    .collect();
                return output::json(&json!({"tokens": list}));
            }
            for token in list {
                let rights: Vec<&str> = token.caller.rights.iter().map(|right| right.name()).collect();
                println!(
                    "{}  {}  {}  {}",
                    token.id,
                    token.caller.principal,
                    token.caller.kind.name(),
                    rights.join(",")
                );
            }
        }
        TokenCommand::Revoke { id } => {
            anyhow::ensure!(tokens.revoke_token(&id).await?, "no token has the id {id}");
            if ctx.json {
                return output::json(&json!({"revoked": id}));
            }
            println!("revoked {id}");
        }
    }
    Ok(())
}

pub(super) fn schema(args: &SchemaArgs) -> anyhow::Result<()> {
    let served = if args.mcp { format!("{:#}\n", mcp::tool_listing()) } else { graphql::sdl() };
    let Some(path) = &args.check else {
        print!("{served}");
        return Ok(());
    };
    let stored = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    anyhow::ensure!(
        stored == served,
        "{} is not what the program serves; write it anew with `recollect schema`",
        path.display()
    );
    Ok(())
}

pub(super) fn config(ctx: &Context, args: &ConfigArgs) -> anyhow::Result<()> {
    if args.default {
        print!("{}", config::DEFAULT);
        return Ok(());
    }
    if ctx.json {
        return output::json(&ctx.config);
    }
    print!("{}", toml::to_string(&ctx.config)?);
    Ok(())
}

pub(super) async fn healthcheck(ctx: &Context, args: &HealthcheckArgs) -> anyhow::Result<()> {
    let url = args.url.clone().unwrap_or_else(|| format!("http://{}", ctx.config.server.listen));
    let client = reqwest::Client::builder().timeout(Duration::from_secs(5)).build()?;
    let answer = client
        .get(format!("{}/readyz", url.trim_end_matches('/')))
        .send()
        .await
        .with_context(|| format!("nothing answers at {url}"))?;
    let status = answer.status();
    let text = answer.text().await?;
    anyhow::ensure!(status.is_success(), "{url} is not ready: {text}");
    println!("{text}");
    Ok(())
}
