//! The command line. Translates arguments to the façade's requests and replies to tables or JSON; decides nothing.
//!
//! To add a command: a variant of [`Command`], an arm in `run`, a function in the file of its kind.

mod admin;
mod eval;
mod faces;
mod import;
mod journal;
mod memory;
mod moving;
mod ontology;
mod output;
mod pages;
mod paint;
mod remote;
mod review;
mod serve;
mod wiki;
mod wire;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::config::{Config, ConfigError};

/// Graph-backed knowledge memory for LLM agents.
#[derive(Debug, Parser)]
#[command(name = "recollect", version, max_term_width = 110)]
struct Cli {
    /// Settings that override the built-in ones (see `recollect config`).
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of the embedded stores; overrides data.dir.
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve MCP over HTTP, with health and metrics.
    Serve(serve::ServeArgs),
    /// Serve MCP over standard input and output.
    Mcp(serve::McpArgs),
    /// Store a memory.
    Store(memory::StoreArgs),
    /// Recall memories that answer a question.
    Recall(memory::RecallArgs),
    /// Follow the graph from a question or a memory.
    Associate(memory::AssociateArgs),
    /// Show memories by id.
    Get(memory::GetArgs),
    /// Change fields of a memory.
    Update(memory::UpdateArgs),
    /// Forget memories.
    Forget(memory::ForgetArgs),
    /// Link two memories.
    Link(memory::LinkArgs),
    /// Say whether a memory helped.
    Feedback(memory::FeedbackArgs),
    /// Report an event; some make a memory.
    Observe(memory::ObserveArgs),
    /// Sum up a time, a session or a topic.
    Summarize(memory::SummarizeArgs),
    /// Explain where a memory stands for a question.
    Explain(memory::ExplainArgs),
    /// Read the wiki, look into its history, propose edits.
    #[command(subcommand)]
    Wiki(wiki::WikiCommand),
    /// Decide what goes into the wiki and the memory.
    #[command(subcommand)]
    Review(review::ReviewCommand),
    /// Import from files.
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Import vocabularies, look at them, and go back to an earlier version.
    #[command(subcommand)]
    Ontology(ontology::OntologyCommand),
    /// Write everything to a folder of JSON lines, vectors included, from which `import archive` makes the same store again.
    Export(moving::ExportArgs),
    /// Carry everything from one store to another, vectors included; run it again to go on after a stop.
    Migrate(moving::MigrateArgs),
    /// Copy the embedded graph store to one file, also while the service runs.
    Backup(moving::BackupArgs),
    /// Put a backup in the place of the embedded graph store, and build the vector index anew.
    Restore(moving::RestoreArgs),
    /// Measure recall on a set with known answers; here --data names the folder with memories.jsonl, queries.jsonl and, if
    /// there are edges, edges.jsonl.
    Eval(eval::EvalArgs),
    /// Compare the graph and the vector index.
    Doctor(admin::DoctorArgs),
    /// Build the vector index anew, for example after a change of model; a running service goes on serving.
    Reindex(admin::ReindexArgs),
    /// Look after writes that wait for a graph store that was away.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Manage bearer tokens; works while the service runs.
    #[command(subcommand)]
    Token(admin::TokenCommand),
    /// Print the GraphQL schema, or the MCP tool listing, that the program serves.
    Schema(admin::SchemaArgs),
    /// Print the settings in force.
    Config(admin::ConfigArgs),
    /// Ask a running service whether it is ready; exit 0 if so.
    Healthcheck(admin::HealthcheckArgs),
}

/// What every command gets.
struct Context {
    config: Config,
    json: bool,
}

/// Runs the command line: exit 0 done, 1 failed, 2 wrong usage or config.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are printed too, to standard output and with exit code 0.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let json = cli.json;
    match start(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::failure(&error, json);
            ExitCode::from(if is_usage(&error) { 2 } else { 1 })
        }
    }
}

/// Wrong usage that the argument parser cannot see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// Whether the fault is in how the program was called or set up.
fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<ConfigError>() || error.is::<Usage>()
}

fn start(cli: Cli) -> anyhow::Result<()> {
    let mut config = Config::load(cli.config.as_deref())?;
    if let Some(dir) = cli.data {
        config.data.dir = dir;
    }
    if !matches!(cli.command, Command::Serve(_) | Command::Mcp(_)) {
        // `recollect recall ... | head` ends when its reader does; a service must outlive whoever reads its first lines.
        sigpipe::reset();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(run(Context { config, json: cli.json }, cli.command));
    // A model or store that hangs must not keep the process from ending.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    done
}

async fn run(ctx: Context, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => serve::serve(ctx, args).await,
        Command::Mcp(args) => serve::mcp(ctx, args).await,
        Command::Store(args) => memory::store(ctx, args).await,
        Command::Recall(args) => memory::recall(ctx, args).await,
        Command::Associate(args) => memory::associate(ctx, args).await,
        Command::Get(args) => memory::get(ctx, args).await,
        Command::Update(args) => memory::update(ctx, args).await,
        Command::Forget(args) => memory::forget(ctx, args).await,
        Command::Link(args) => memory::link(ctx, args).await,
        Command::Feedback(args) => memory::feedback(ctx, args).await,
        Command::Observe(args) => memory::observe(ctx, args).await,
        Command::Summarize(args) => memory::summarize(ctx, args).await,
        Command::Explain(args) => memory::explain(ctx, args).await,
        Command::Wiki(command) => wiki::wiki(ctx, command).await,
        Command::Review(command) => review::review(ctx, command).await,
        Command::Import(command) => import::import(ctx, command).await,
        Command::Ontology(command) => ontology::ontology(ctx, command).await,
        Command::Export(args) => moving::export(ctx, args).await,
        Command::Migrate(args) => moving::migrate(ctx, args).await,
        Command::Backup(args) => moving::backup(ctx, args).await,
        Command::Restore(args) => moving::restore(ctx, args).await,
        Command::Eval(args) => eval::eval(ctx, args).await,
        Command::Doctor(args) => admin::doctor(ctx, args).await,
        Command::Reindex(args) => admin::reindex(ctx, args).await,
        Command::Journal(command) => journal::journal(ctx, command).await,
        Command::Token(command) => admin::token(ctx, command).await,
        Command::Schema(args) => admin::schema(&args),
        Command::Config(args) => admin::config(&ctx, &args),
        Command::Healthcheck(args) => admin::healthcheck(&ctx, &args).await,
    }
}
