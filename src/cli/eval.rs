//! eval: measures recall on a set, in a temporary store.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::{Context, Usage, output, wire};
use crate::{
    backends::{self, OpenIndex},
    domain::Visibility,
    eval::{self, Plan, Progress, SavedVectors},
    jobs::{Drain, DrainSettings},
    models,
    ontology::ImportRequest,
    ports::Embedder,
    read::{Mode, Profile},
    service::{Parts, Service},
    write::spaces,
};

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    /// Arms: semantic, keyword, hybrid, associative; separated by commas. Default: all four.
    #[arg(long, value_delimiter = ',')]
    mode: Vec<String>,
    /// The ks of Recall@k.
    #[arg(long, value_delimiter = ',', default_value = "5,10")]
    k: Vec<usize>,
    /// Keep the vectors of passages in this folder and use them next time.
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,
    /// Import this vocabulary first, so that memories and queries are linked to its concepts.
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// Rank with the agent profile instead of relevance alone.
    #[arg(long)]
    agent_profile: bool,
}

pub(super) async fn eval(ctx: Context, args: EvalArgs) -> anyhow::Result<()> {
    let config = &ctx.config;
    let modes = if args.mode.is_empty() {
        vec![Mode::Semantic, Mode::Keyword, Mode::Hybrid, Mode::Associative]
    } else {
        args.mode
            .iter()
            .map(|mode| mode.parse())
            .collect::<Result<_, _>>()
            .map_err(|error| Usage(format!("--mode: {error}")))?
    };
    let limit = args.k.iter().copied().max().unwrap_or(0).max(10);
    if args.k.contains(&0) || limit > config.read.max_limit {
        return Err(Usage(format!("--k: values between 1 and {}", config.read.max_limit)).into());
    }
    let set = eval::load(&config.data.dir)?;
    let folder = tempfile::tempdir()?;
    let mut embedders = models::open(&config.models.embedders, &wire::model_options(config)).await?;
    if let Some(dir) = &args.vectors {
        embedders = embedders
            .into_iter()
            .map(|embedder| Ok(Arc::new(SavedVectors::open(embedder, dir)?) as Arc<dyn Embedder>))
            .collect::<anyhow::Result<_>>()?;
    }
    let mut remote = wire::remote(config);
    let graph = backends::open_graph(&config.graph.url, folder.path(), &remote).await?;
    let everything = Visibility::system("a measurement needs a store of its own");
    if graph.store.total_memories(&everything).await? > 0 {
        // Only a server can hold something: the folder is new.
        return Err(
            Usage("config key graph.url: eval needs an empty graph and this one has memories".to_owned()).into()
        );
    }
    // Beside the collection of a service on that server, never in its place.
    remote.qdrant.collection = format!("{}-eval-{}", remote.qdrant.collection, std::process::id());
    let (url, spaces) = (&config.vectors.url, spaces(&embedders));
    let index = backends::open_index(url, folder.path(), &spaces, OpenIndex::Existing, &remote).await?.index;
    let drain = Arc::new(Drain::new(graph.store.clone(), index.clone(), DrainSettings::default()));
    let stop = tokio_util::sync::CancellationToken::new();
    let (draining, stopped) = (drain.clone(), stop.clone());
    let running = tokio::spawn(async move { draining.run(stopped).await });
    let mut read = config.read.clone();
    read.profile = if args.agent_profile { Profile::Agent } else { Profile::Relevance };
    // An answer that is late is left out of a live reply; a measurement waits for it.
    read.deadline_ms = read.deadline_ms.max(60_000);
    let names: Vec<String> = embedders.iter().map(|embedder| embedder.card().id.clone()).collect();
    let clock = Arc::new(backends::SystemClock);
    let parts = Parts {
        graph: graph.store,
        browse: graph.browse,
        reviews: graph.reviews,
        ontology: graph.ontology,
        tokens: graph.tokens,
        index: index.clone(),
        embedders,
        clock,
        drain,
        // A measurement ends when its store is away.
        backlog: None,
    };
    let service = Service::new(parts, read, config.write.clone(), config.review.clone(), config.ontology.clone());

    if let Some(file) = &args.vocabulary {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
        let request = ImportRequest { name, bytes, ..ImportRequest::default() };
        service.import_ontology(&wire::operator(), request).await?;
    }
    let store_bar = output::progress(set.memories.len(), "store");
    let ids = eval::fill(&service, &set, &mut |progress| {
        if let Progress::Stored(done, _) = progress {
            store_bar.set_position(done as u64);
        }
    })
    .await?;
    store_bar.finish_and_clear();
    index.optimize().await?;
    let ask_bar = output::progress(set.queries.len() * modes.len(), "ask");
    let plan = Plan { modes, limit, ks: args.k.clone() };
    let report = eval::ask(&service, &set, &ids, &plan, &mut |progress| {
        if let Progress::Asked(done, _) = progress {
            ask_bar.set_position(done as u64);
        }
    })
    .await?;
    ask_bar.finish_and_clear();
    stop.cancel();
    running.await?;
    backends::remove_index(url, &remote).await?;
    if ctx.json {
        return output::json(
            &json!({"dataset": set.name, "memories": set.memories.len(), "queries": set.queries.len(),
            "embedder": names.join(" + "), "modes": report}),
        );
    }
    println!("{}: {} memories, {} queries, {}", set.name, set.memories.len(), set.queries.len(), names.join(" + "));
    for (mode, categories) in &report {
        for (category, figures) in categories {
            let values: Vec<String> = figures
                .values
                .iter()
                .map(|(name, value)| match name.ends_with("_ms") {
                    true => format!("{name} {value:.1}"),
                    false => format!("{name} {:.1}", value * 100.0),
                })
                .collect();
            println!("{mode:12} {category:24} n {:5}  {}", figures.n, values.join("  "));
        }
    }
    Ok(())
}
