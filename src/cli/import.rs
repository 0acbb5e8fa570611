//! import memories: a file, or a folder with a memories.jsonl. An archive comes in through `moving`, pages through `pages`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::json;

use super::{Context, moving, output, pages, wire};
use crate::{error::Error, service::Service, write::Imported};

#[derive(Debug, Subcommand)]
pub(super) enum ImportCommand {
    /// Import memories, one JSON object a line.
    Memories {
        /// A JSONL file, or a folder that has a memories.jsonl.
        path: PathBuf,
    },
    /// Import a folder of Markdown as pages of the wiki.
    Pages(pages::ImportPagesArgs),
    /// Import what `recollect export` wrote, into an empty store; run it again to go on after a stop.
    Archive(moving::ImportArchiveArgs),
}

pub(super) async fn import(ctx: Context, command: ImportCommand) -> anyhow::Result<()> {
    let path = match command {
        ImportCommand::Memories { path } => path,
        ImportCommand::Pages(args) => return pages::import(ctx, args).await,
        ImportCommand::Archive(args) => return moving::import_archive(ctx, args).await,
    };
    let path = if path.is_dir() { path.join("memories.jsonl") } else { path };
    let bytes = std::fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    // One bad byte spoils its line, not the file: a line that is not UTF-8 then fails as JSON or is named for its content.
    let text = String::from_utf8_lossy(&bytes);
    let opened = wire::open(&ctx.config, wire::Models::MustMatch).await?;
    let imported = run(&opened.service, &text, "import").await?;
    opened.close().await?;
    let Imported { stored, updated, unchanged, links, errors, took, embedding } = &imported;
    if ctx.json {
        let errors: Vec<_> = errors
            .iter()
            .map(|error| json!({"line": error.line, "code": error.error.code.name(), "message": error.error.message}))
            .collect();
        output::json(
            &json!({"stored": stored, "updated": updated, "unchanged": unchanged, "links": links, "errors": errors,
            "total_ms": took.as_millis(), "embedding_ms": embedding.as_millis()}),
        )?;
    } else {
        println!(
            "{stored} stored, {updated} updated, {unchanged} unchanged, {links} links in {:.1} s, {:.1} s of them in models",
            took.as_secs_f64(),
            embedding.as_secs_f64()
        );
        for error in errors {
            println!("line {}: {}", error.line, error.error);
        }
    }
    anyhow::ensure!(imported.errors.is_empty(), "{} lines were not taken", imported.errors.len());
    Ok(())
}

/// Imports `text` as the operator, with a bar.
pub(super) async fn run(service: &Service, text: &str, what: &'static str) -> Result<Imported, Error> {
    let bar = output::progress(text.lines().count(), what);
    let imported = service.import(&wire::operator(), text, |line| bar.set_position(line as u64)).await;
    bar.finish_and_clear();
    imported
}
