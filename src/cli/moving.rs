//! export, import archive, migrate, backup, restore: data that is kept elsewhere, or moves.

use std::{
    collections::BTreeSet,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;

use super::{Context, Usage, admin, output, wire};
use crate::{
    backends::{
        self, Graph, Index, OpenIndex, SystemClock,
        archive::{ArchiveFolder, ArchiveWriter},
    },
    config::Config,
    jobs::{self, Drain, DrainSettings, Moved, Whole},
    models,
    ports::{ArchiveSource, Clock, Embedder, Part, Row, VectorIndex},
    write::spaces,
};

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Folder to write; it must not be there, or be empty.
    dir: PathBuf,
    /// Leave the bearer tokens out (an archive holds hashes of their secrets).
    #[arg(long)]
    without_tokens: bool,
}

#[derive(Debug, Args)]
pub(super) struct ImportArchiveArgs {
    /// A folder that `recollect export` wrote.
    dir: PathBuf,
    /// Leave the vectors out; `recollect reindex` then embeds everything, with the models of the settings.
    #[arg(long)]
    without_vectors: bool,
}

#[derive(Debug, Args)]
pub(super) struct MigrateArgs {
    /// Graph store to read, in the form of graph.url.
    #[arg(long, value_name = "URL")]
    from: String,
    /// Its vector index, in the form of vectors.url; by default `vectors` beside the file of an embedded store.
    #[arg(long, value_name = "URL")]
    from_vectors: Option<String>,
    /// Graph store to fill; it must be empty, or hold a part of this same migration.
    #[arg(long, value_name = "URL")]
    to: String,
    /// Its vector index.
    #[arg(long, value_name = "URL")]
    to_vectors: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// File to write; it must not be there.
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// A file that `recollect backup` wrote.
    file: PathBuf,
    /// Put it in the place of data that is there, which is kept beside.
    #[arg(long)]
    force: bool,
}

/// A graph store and its index, without a service on them.
struct Stores {
    graph: Graph,
    /// `None` for one that starts empty each time.
    index: Option<Arc<dyn VectorIndex>>,
}

impl Stores {
    /// Stores to read.
    async fn open(
        config: &Config,
        graph: &str,
        vectors: &str,
        embedders: &[Arc<dyn Embedder>],
    ) -> anyhow::Result<Self> {
        let graph = backends::open_graph(graph, &config.data.dir, &wire::remote(config)).await?;
        let opened = Self::index(config, vectors, embedders).await?;
        if let Some(why) = opened.damaged {
            anyhow::bail!("the vector index {vectors} cannot be read ({why}); run `recollect reindex`");
        }
        Ok(Self { graph, index: (!opened.volatile).then_some(opened.index) })
    }

    /// Stores to fill.
    async fn open_target(
        config: &Config,
        graph: &str,
        vectors: &str,
        embedders: &[Arc<dyn Embedder>],
    ) -> anyhow::Result<Self> {
        let graph = backends::open_graph(graph, &config.data.dir, &wire::remote(config)).await?;
        let Index { index, volatile, damaged } = Self::index(config, vectors, embedders).await?;
        if damaged.is_some() {
            // An earlier try was killed while it made or filled the index; an empty one is filled from the start.
            index.rebuild().await?.switch().await?;
        }
        Ok(Self { graph, index: (!volatile).then_some(index) })
    }

    async fn index(config: &Config, vectors: &str, embedders: &[Arc<dyn Embedder>]) -> anyhow::Result<Index> {
        let (dir, spaces) = (&config.data.dir, spaces(embedders));
        Ok(backends::open_index(vectors, dir, &spaces, OpenIndex::Existing, &wire::remote(config)).await?)
    }

    /// Everything in it: what waits for the index is brought there first, and nothing waits for the graph store.
    async fn settled(&self, url: &str, embedders: &[Arc<dyn Embedder>]) -> anyhow::Result<()> {
        wire::refuse_unfinished(&*self.graph.store, url).await?;
        wire::check_models(&*self.graph.store, &wire::models_named(embedders), wire::Models::MustMatch).await?;
        if let Some(journal) = &self.graph.journal {
            let (waiting, dead) = journal.lengths().await?;
            anyhow::ensure!(
                waiting == 0,
                "{waiting} changes wait for the graph store; start the service until they are written"
            );
            if dead > 0 {
                eprintln!(
                    "{dead} changes could never be written to the graph store and stay behind; see `recollect journal list`"
                );
            }
        }
        if let Some(index) = &self.index {
            let drain = Drain::new(self.graph.store.clone(), index.clone(), DrainSettings::default());
            drain.catch_up().await.context("catch the vector index up")?;
        }
        Ok(())
    }

    fn whole(&self) -> Whole<'_> {
        Whole { store: &*self.graph.store, archive: &*self.graph.archive, index: self.index.as_deref() }
    }
}

pub(super) async fn export(ctx: Context, args: ExportArgs) -> anyhow::Result<()> {
    let config = &ctx.config;
    let _lock = wire::lock(&config.data.dir)?;
    let embedders = models::open(&config.models.embedders, &wire::model_options(config)).await?;
    let stores = Stores::open(config, &config.graph.url, &config.vectors.url, &embedders).await?;
    stores.settled(&config.graph.url, &embedders).await?;
    let whole = stores.whole();
    let parts = parts(|part| match part {
        Part::Tokens => !args.without_tokens,
        Part::Vectors => stores.index.is_some(),
        _ => true,
    });
    let mut archive = ArchiveWriter::create(&args.dir, &parts).await?;
    let bar = output::progress(rows(&whole, &parts).await?, "export");
    let moved = jobs::read_all(&whole, &parts, async |part, rows: Vec<Row>| {
        bar.inc(rows.len() as u64);
        archive.add(part, &rows).await.map_err(anyhow::Error::from)
    })
    .await?;
    archive.finish(whole.identity().await?, SystemClock.now()).await?;
    bar.finish_and_clear();
    let place = args.dir.display();
    report(
        &ctx,
        "exported",
        &moved,
        &format!("in {place}; it holds memories of all scopes, so keep it as safe as the data"),
    )
}

pub(super) async fn import_archive(ctx: Context, args: ImportArchiveArgs) -> anyhow::Result<()> {
    let config = &ctx.config;
    let bar = output::progress(0, "verify");
    let archive = ArchiveFolder::open(&args.dir, |done, total| show(&bar, done, total)).await?;
    bar.finish_and_clear();
    let _lock = wire::lock(&config.data.dir)?;
    let embedders = models::open(&config.models.embedders, &wire::model_options(config)).await?;
    let stores = Stores::open_target(config, &config.graph.url, &config.vectors.url, &embedders).await?;
    let with_vectors = !args.without_vectors && stores.index.is_some();
    let parts = parts(|part| archive.manifest().parts.contains_key(&part) && (part != Part::Vectors || with_vectors));
    if parts.contains(&Part::Vectors) {
        same_models(&archive, &embedders).await.context("or leave the vectors out with --without-vectors")?;
    }
    let moved = carry(&archive, &stores, &parts, "import").await?;
    let after =
        if parts.contains(&Part::Vectors) || stores.index.is_none() { "" } else { "now run `recollect reindex`" };
    report(&ctx, "imported", &moved, after)
}

pub(super) async fn migrate(ctx: Context, args: MigrateArgs) -> anyhow::Result<()> {
    let config = &ctx.config;
    let vectors = |flag: &str, graph: &str, vectors: Option<String>| {
        vectors.or_else(|| vectors_beside(graph)).ok_or_else(|| Usage(format!("--{flag}: must be given for {graph}")))
    };
    let from_vectors = vectors("from-vectors", &args.from, args.from_vectors)?;
    let to_vectors = vectors("to-vectors", &args.to, args.to_vectors)?;
    if backends::graph_file(&args.from, &config.data.dir).is_some_and(|file| !file.exists()) {
        return Err(Usage(format!("--from: {} is not there", args.from)).into());
    }
    for (flag, from, to) in [("to", &args.from, &args.to), ("to-vectors", &from_vectors, &to_vectors)] {
        if from == to && from != "memory:" {
            return Err(Usage(format!("--{flag}: is what the data comes from")).into());
        }
    }
    let _locks = lock_all(config, [&args.from, &args.to])?;
    let embedders = models::open(&config.models.embedders, &wire::model_options(config)).await?;
    let from = Stores::open(config, &args.from, &from_vectors, &embedders).await.context("--from")?;
    from.settled(&args.from, &embedders).await.context("--from")?;
    let to = Stores::open_target(config, &args.to, &to_vectors, &embedders).await.context("--to")?;
    let parts = parts(|part| part != Part::Vectors || (from.index.is_some() && to.index.is_some()));
    let moved = carry(&from.whole(), &to, &parts, "migrate").await?;
    let (graph, vectors) = (&args.to, &to_vectors);
    report(&ctx, "migrated", &moved, &format!("the settings are now graph.url = {graph:?}, vectors.url = {vectors:?}"))
}

pub(super) async fn backup(ctx: Context, args: BackupArgs) -> anyhow::Result<()> {
    backends::backup_graph(&ctx.config.graph.url, &ctx.config.data.dir, &args.file).await?;
    let size_bytes = std::fs::metadata(&args.file)?.len();
    if ctx.json {
        return output::json(&json!({"file": args.file, "size_bytes": size_bytes}));
    }
    println!("{} written, {size_bytes} bytes; vectors are not in it", args.file.display());
    Ok(())
}

pub(super) async fn restore(ctx: Context, args: RestoreArgs) -> anyhow::Result<()> {
    let config = &ctx.config;
    let dir = &config.data.dir;
    let lock = wire::lock(dir)?;
    let file = backends::graph_file(&config.graph.url, dir);
    if let Some(file) = file.filter(|file| file.exists() && !args.force) {
        anyhow::bail!("{} is there; --force puts the backup in its place and keeps it beside", file.display());
    }
    let keep = args.force.then(|| format!(".before-{}", SystemClock.now().strftime("%Y%m%dT%H%M%SZ")));
    let kept = backends::restore_graph(&config.graph.url, dir, &args.file, keep, jobs::reindex_is_due()).await?;
    drop(lock);
    // The index is of the data that was there before.
    let indexed = admin::reindex_folder(&ctx)
        .await
        .context("the data is restored, its vectors are not: run `recollect reindex`")?;
    if ctx.json {
        return output::json(&json!({"restored": args.file, "kept": kept, "indexed": indexed}));
    }
    println!("{} is restored, {indexed} memories indexed", args.file.display());
    if let Some(kept) = &kept {
        println!("what was there is kept as {}", kept.display());
    }
    Ok(())
}

fn parts(wanted: impl Fn(Part) -> bool) -> Vec<Part> {
    Part::ALL.iter().copied().filter(|part| wanted(*part)).collect()
}

async fn rows(of: &dyn ArchiveSource, parts: &[Part]) -> anyhow::Result<usize> {
    let mut rows = 0;
    for &part in parts {
        rows += of.count(part).await?;
    }
    Ok(usize::try_from(rows)?)
}

fn show(bar: &ProgressBar, done: u64, total: u64) {
    bar.set_length(total);
    bar.set_position(done);
}

async fn carry(from: &dyn ArchiveSource, to: &Stores, parts: &[Part], what: &'static str) -> anyhow::Result<Moved> {
    let bar = output::progress(0, what);
    let moved = jobs::carry(from, &to.whole(), parts, |done, total| show(&bar, done, total)).await?;
    bar.finish_and_clear();
    Ok(moved)
}

/// An error if the vectors of an archive are of other models than the settings name.
async fn same_models(archive: &ArchiveFolder, embedders: &[Arc<dyn Embedder>]) -> anyhow::Result<()> {
    let settings = archive.rows(Part::Meta, None, usize::MAX).await?.rows;
    let stored = settings.iter().find_map(|row| match row {
        Row::Meta(meta) if meta.key == wire::MODELS_KEY => Some(&meta.value),
        _ => None,
    });
    stored.map_or(Ok(()), |stored| wire::same_models(stored, &wire::models_named(embedders)))
}

/// The index of an embedded store, where it is by default.
fn vectors_beside(graph: &str) -> Option<String> {
    let path = Path::new(graph.strip_prefix("sqlite:")?);
    Some(format!("edge:{}", path.with_file_name("vectors").display()))
}

/// The data folder, and those of embedded stores elsewhere.
fn lock_all<'a>(config: &Config, graphs: impl IntoIterator<Item = &'a String>) -> anyhow::Result<Vec<File>> {
    let dir = &config.data.dir;
    let files = graphs.into_iter().filter_map(|url| backends::graph_file(url, dir));
    let mut folders = BTreeSet::from([dir.clone()]);
    folders.extend(files.filter_map(|file| file.parent().map(Path::to_owned)));
    folders.iter().map(|folder| wire::lock(folder)).collect()
}

fn report(ctx: &Context, what: &str, moved: &Moved, after: &str) -> anyhow::Result<()> {
    if ctx.json {
        let rows: serde_json::Map<String, serde_json::Value> =
            moved.iter().map(|(part, rows)| (part.name().to_owned(), json!(rows))).collect();
        return output::json(&json!({ what: rows }));
    }
    let rows = |wanted: Part| moved.iter().find(|(part, _)| *part == wanted).map_or(0, |(_, rows)| *rows);
    println!(
        "{what}: {} memories, {} edges, {} concepts, {} events, {} changes, {} vectors",
        rows(Part::Memories),
        rows(Part::Edges) + rows(Part::Mentions),
        rows(Part::Concepts),
        rows(Part::Events),
        rows(Part::Changes),
        rows(Part::Vectors)
    );
    if !after.is_empty() {
        println!("{after}");
    }
    Ok(())
}
