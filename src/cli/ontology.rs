//! ontology import, diff, versions, rollback, show, search, export: on the data folder itself. An import and its difference also
//! through a running service, where it may become a proposal.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Context, faces::query, memory::Target, output, remote::Remote, wire};
use crate::{
    ontology::{ImportReply, ImportRequest, Progress, VersionRecord},
    read::browse::PageRequest,
    service::Service,
};

/// Versions that are listed.
const VERSIONS: i64 = 100;

#[derive(Debug, Subcommand)]
pub(super) enum OntologyCommand {
    /// Import a vocabulary: Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD, OBO, CSV or TSV. The same file again changes nothing.
    Import(ImportArgs),
    /// Say what an import would change.
    Diff(FileArgs),
    /// List the versions, latest first.
    Versions,
    /// Make an earlier version the one in force again, as a new version.
    Rollback {
        /// Its number.
        version: i64,
    },
    /// Show a concept.
    Show {
        /// Its IRI, id or name.
        concept: String,
    },
    /// Find concepts by a part of a name in any language.
    Search {
        /// The part.
        name: String,
        /// How many at most.
        #[arg(long, default_value_t = 20, allow_negative_numbers = true)]
        limit: i64,
    },
    /// Print the terms in force as Turtle or N-Triples.
    Export {
        /// Only this vocabulary.
        #[arg(long)]
        vocabulary: Option<String>,
        /// turtle or ntriples.
        #[arg(long, default_value = "turtle")]
        format: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct FileArgs {
    /// The file.
    file: PathBuf,
    /// Name of the vocabulary; by default what the file calls itself, or its own name.
    #[arg(long)]
    vocabulary: Option<String>,
    /// For CSV and TSV: a TOML file that says which column is what.
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Only say what it would change.
    #[arg(long)]
    dry_run: bool,
    /// Take away what the file no longer has, however much that is.
    #[arg(long)]
    allow_removals: bool,
    /// Why, for whoever has to agree if the token has no right to import.
    #[arg(long)]
    rationale: Option<String>,
    /// The agent run it belongs to, likewise.
    #[arg(long)]
    run_id: Option<String>,
}

pub(super) async fn ontology(ctx: Context, mut command: OntologyCommand) -> anyhow::Result<()> {
    // Read before anything is opened: a file that is not there is the first thing to say.
    let request = match &mut command {
        OntologyCommand::Import(args) => {
            let (dry_run, allow_removals) = (args.dry_run, args.allow_removals);
            let (rationale, run_id) = (args.rationale.take(), args.run_id.take());
            let request = ImportRequest { dry_run, allow_removals, rationale, run_id, ..request(&args.file)? };
            Some((request, std::mem::take(&mut args.file.target)))
        }
        OntologyCommand::Diff(file) => {
            Some((ImportRequest { dry_run: true, ..request(file)? }, std::mem::take(&mut file.target)))
        }
        _ => None,
    };
    let request = match request {
        Some((request, target)) if Remote::of(&ctx, target.clone())?.is_some() => {
            return through_service(&ctx, target, request).await;
        }
        request => request.map(|(request, _)| request),
    };
    let opened = wire::open(&ctx.config, wire::Models::MustMatch).await?;
    let done = run(&ctx, &opened.service, command, request).await;
    opened.close().await?;
    done
}

async fn run(
    ctx: &Context,
    service: &Service,
    command: OntologyCommand,
    request: Option<ImportRequest>,
) -> anyhow::Result<()> {
    let caller = wire::operator();
    match command {
        OntologyCommand::Import(_) | OntologyCommand::Diff(_) => {
            let request = request.context("an import has a file")?;
            let dry_run = request.dry_run;
            let reply = with_bar(service, service.import_ontology(&caller, request)).await?;
            if ctx.json { output::json(&reply) } else { imported(&reply, dry_run) }
        }
        OntologyCommand::Versions => {
            let versions = service.ontology_versions(&caller, None, VERSIONS).await?;
            if ctx.json {
                return output::json(&json!({ "versions": versions }));
            }
            versions.iter().for_each(version);
            Ok(())
        }
        OntologyCommand::Rollback { version: number } => {
            let made = with_bar(service, service.rollback_ontology(&caller, number)).await?;
            if ctx.json {
                return output::json(&made);
            }
            version(&made);
            Ok(())
        }
        OntologyCommand::Show { concept } => {
            let record = service.show_concept(&caller, &concept).await?;
            if ctx.json {
                return output::json(&record);
            }
            println!(
                "{} ({})\n  {}\n  id {}, {} memories",
                record.label, record.kind, record.iri, record.id, record.memories
            );
            for label in &record.labels {
                println!("  {} {} {}", label.role, label.language, label.text);
            }
            for text in &record.definitions {
                println!("  definition {} {}", text.language, text.text);
            }
            for relation in &record.relations {
                println!("  {} {} <{}>", relation.relation, relation.label, relation.iri);
            }
            for narrower in &record.narrower {
                println!("  narrower {} <{}>", narrower.label, narrower.iri);
            }
            Ok(())
        }
        OntologyCommand::Search { name, limit } => {
            let page = PageRequest { first: Some(limit), after: None };
            let found = service.concept_tree(&caller, None, Some(&name), &page).await?;
            let found: Vec<_> = found.items.into_iter().map(|(_, concept)| concept).collect();
            if ctx.json {
                return output::json(&json!({ "concepts": found }));
            }
            for concept in &found {
                println!("{}  <{}>  {} narrower", concept.label, concept.iri, concept.narrower);
            }
            Ok(())
        }
        OntologyCommand::Export { vocabulary, format } => {
            let text = service.export_ontology(&caller, vocabulary.as_deref(), &format).await?;
            if ctx.json {
                return output::json(&json!({ "format": format, "text": text }));
            }
            print!("{text}");
            Ok(())
        }
    }
}

/// The import that a service does, or proposes to whoever decides there.
const IMPORT: &str = "mutation($input: ImportOntologyInput!) { importOntology(input: $input) {
    imported { version vocabulary format new changed removed unchanged skipped { where: place why } skippedTotal warnings removals
        statements classes concepts individuals properties graphHash linked }
    proposal { id: uuid state } userErrors { code field message } } }";

async fn through_service(ctx: &Context, target: Target, request: ImportRequest) -> anyhow::Result<()> {
    let ImportRequest { name, bytes, vocabulary, mapping, dry_run, allow_removals, rationale, run_id } = request;
    let content = String::from_utf8(bytes).context("a file that goes through a service must be UTF-8")?;
    let input = json!({"name": name, "content": content, "vocabulary": vocabulary, "mapping": mapping,
        "dryRun": dry_run, "allowRemovals": allow_removals, "rationale": rationale, "runId": run_id});
    let done = query(ctx, target, IMPORT, json!({"input": input})).await?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let reply = ImportReply {
        proposal_id: text(&done["proposal"]["id"]),
        state: text(&done["proposal"]["state"]),
        ..serde_json::from_value(done["imported"].clone())?
    };
    if ctx.json { output::json(&reply) } else { imported(&reply, dry_run) }
}

/// Waits for an import and draws how far it has come.
async fn with_bar<T>(
    service: &Service,
    work: impl Future<Output = Result<T, crate::error::Error>>,
) -> anyhow::Result<T> {
    let bar = output::progress(1, "reading");
    let mut told = service.import_progress();
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            Ok(()) = told.changed() => {
                let Progress { stage, done, total } = *told.borrow_and_update();
                bar.set_message(stage.name());
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            }
        }
    };
    bar.finish_and_clear();
    Ok(done?)
}

fn request(args: &FileArgs) -> anyhow::Result<ImportRequest> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("read {}", path.display()));
    let mapping = args.mapping.as_deref().map(read).transpose()?;
    let mapping = mapping.map(String::from_utf8).transpose().context("the mapping is not UTF-8")?;
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ImportRequest {
        name,
        bytes: read(&args.file)?,
        vocabulary: args.vocabulary.clone(),
        mapping,
        ..ImportRequest::default()
    })
}

fn imported(reply: &ImportReply, dry_run: bool) -> anyhow::Result<()> {
    println!(
        "{} ({}): {} statements, {} classes, {} concepts, {} individuals, {} properties",
        reply.vocabulary,
        reply.format,
        reply.statements,
        reply.classes,
        reply.concepts,
        reply.individuals,
        reply.properties
    );
    let waits = reply.proposal_id.as_ref();
    println!(
        "{}{} new, {} changed, {} removed, {} unchanged, {} skipped; version {}",
        if dry_run || waits.is_some() { "would be: " } else { "" },
        reply.new,
        reply.changed,
        reply.removed,
        reply.unchanged,
        reply.skipped_total,
        reply.version
    );
    match waits {
        Some(id) => println!("waits for a review: {id}"),
        None if dry_run => {}
        None => println!("{} memories linked", reply.linked),
    }
    for warning in &reply.warnings {
        println!("warning: {warning}");
    }
    for skipped in &reply.skipped {
        println!("skipped <{}>: {}", skipped.place, skipped.why);
    }
    for iri in &reply.removals {
        println!("removed <{iri}>");
    }
    Ok(())
}

fn version(version: &VersionRecord) {
    println!(
        "{}  {}  {}  {}  {}  +{} ~{} -{}",
        version.number,
        version.at,
        version.actor,
        if version.vocabulary.is_empty() { "rollback" } else { &version.vocabulary },
        version.source,
        version.new,
        version.changed,
        version.removed
    );
}
