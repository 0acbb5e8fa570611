//! journal: writes that wait for the graph store, and what to do with those that were given up. Works beside a running
//! service, which looks at the journal every few seconds.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Context, output};
use crate::{backends, domain::ChangeSet, ports::JournalEntry};

/// Entries read together.
const PAGE: usize = 256;

#[derive(Debug, Subcommand)]
pub(super) enum JournalCommand {
    /// List what waits and what was given up (dead letters).
    List,
    /// Let dead letters wait again.
    Retry(Which),
    /// Remove dead letters for good: what they say is lost.
    Drop(Which),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Which {
    /// The number of one, as listed.
    number: Option<u64>,
    /// All of them.
    #[arg(long)]
    all: bool,
}

pub(super) async fn journal(ctx: Context, command: JournalCommand) -> anyhow::Result<()> {
    let dir = &ctx.config.data.dir;
    anyhow::ensure!(dir.is_dir(), "there is no data folder {}", dir.display());
    let journal = backends::open_journal(dir).await.context("the journal")?;
    let (which, done, verb) = match command {
        JournalCommand::List => return list(&ctx, &*journal).await,
        JournalCommand::Retry(which) => (which.number, journal.retry(which.number).await?, "waiting again"),
        JournalCommand::Drop(which) => (which.number, journal.discard(which.number).await?, "dropped"),
    };
    if let Some(number) = which {
        anyhow::ensure!(done == 1, "no dead letter has the number {number}; see `recollect journal list`");
    }
    if ctx.json {
        return output::json(&json!({"done": done}));
    }
    println!("{done} {verb}");
    Ok(())
}

async fn list(ctx: &Context, journal: &dyn crate::ports::Journal) -> anyhow::Result<()> {
    let (mut after, mut listed) = (0, Vec::new());
    loop {
        let page = journal.entries(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        // Who and when, never what: the text is its owner's.
        listed.extend(page.into_iter().map(|JournalEntry { seq, attempts, dead, change }| {
            let ChangeSet { id, at, actor, use_case, .. } = change;
            json!({"number": seq, "state": if dead { "dead" } else { "waiting" }, "tries": attempts,
                "at": at.to_string(), "actor": actor, "use_case": use_case, "operation_id": id.to_string()})
        }));
    }
    if ctx.json {
        return output::json(&json!({"entries": listed}));
    }
    for entry in &listed {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        println!(
            "{}  {}  {} tries  {}  {}  {}  {}",
            entry["number"],
            text("state"),
            entry["tries"],
            text("at"),
            text("actor"),
            text("use_case"),
            text("operation_id")
        );
    }
    let (waiting, dead) = journal.lengths().await?;
    match (waiting + dead).saturating_sub(listed.len()) {
        0 if listed.is_empty() => println!("nothing waits"),
        0 => {}
        unreadable => println!("{unreadable} more cannot be read; only `recollect journal drop --all` removes them"),
    }
    Ok(())
}
