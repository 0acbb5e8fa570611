//! A service in this process without faces, over a graph store that can be away: for outages and for several services on
//! one store.

use std::{path::Path, sync::Arc, time::Duration};

use recollect::{
    backends::{self, SystemClock, exact::ExactIndex, sqlite::SqliteStore},
    config::Config,
    domain::{Caller, Memory, MemoryId, Visibility},
    jobs::{Backlog, BacklogSettings, Drain, DrainSettings},
    models::{self, ModelOptions},
    ports::{GraphStore, Journal, VectorIndex},
    service::{Parts, Service},
    write::{StoreReply, StoreRequest, spaces},
};

use super::away::Away;

const CONFIG: &str = r#"
[read]
deadline_ms = 20000
[[models.embedders]]
name = "hashing"
kind = "hashing"
"#;

/// The stores of a data folder, and services on them.
pub struct House {
    pub store: Arc<SqliteStore>,
    pub journal: Arc<dyn Journal>,
    config: Config,
    parts: Parts,
}

/// A service of a house, and the way to its store.
pub struct Tenant {
    pub service: Arc<Service>,
    pub graph: Arc<Away>,
    pub backlog: Arc<Backlog>,
}

pub fn caller() -> Caller {
    Caller::operator("ada")
}

pub fn everything() -> Visibility {
    Visibility::system("a test looks at everything")
}

pub fn says(content: &str) -> StoreRequest {
    StoreRequest { content: content.to_owned(), ..StoreRequest::default() }
}

impl House {
    pub async fn open(dir: &Path) -> Self {
        let file = dir.join("config.toml");
        std::fs::write(&file, CONFIG).expect("config written");
        let config = Config::load(Some(&file)).expect("valid settings");
        let options = ModelOptions { dir: dir.to_owned(), runtime: "".into(), batch: 64, threads: 1, query_cache: 100 };
        let embedders = models::open(&config.models.embedders, &options).await.expect("the hashing embedder");
        let store = Arc::new(SqliteStore::open(dir.join("graph.db")).await.expect("a graph store"));
        let index: Arc<dyn VectorIndex> = Arc::new(ExactIndex::new(&spaces(&embedders)));
        let drain = Arc::new(Drain::new(store.clone(), index.clone(), DrainSettings::default()));
        let journal = backends::open_journal(dir).await.expect("a journal");
        let parts = Parts {
            graph: store.clone(),
            browse: store.clone(),
            reviews: store.clone(),
            index,
            embedders,
            ontology: store.clone(),
            tokens: store.clone(),
            clock: Arc::new(SystemClock),
            drain,
            backlog: None,
        };
        Self { store, journal, config, parts }
    }

    /// The same stores for a process that has its own journal.
    pub fn with_journal(self, journal: Arc<dyn Journal>) -> Self {
        Self { journal, ..self }
    }

    /// One more service, as another process would be: with nothing in common but the stores.
    pub async fn tenant(&self) -> Tenant {
        let graph = Arc::new(Away::new(self.store.clone()));
        let short = Duration::from_millis(5);
        let settings = BacklogSettings {
            tries: 3,
            retry_first: short,
            retry_longest: 4 * short,
            poll_every: 4 * short,
            ..BacklogSettings::default()
        };
        let backlog =
            Backlog::open(self.journal.clone(), graph.clone(), settings).await.expect("a journal that is read");
        let backlog = Arc::new(backlog);
        let parts = Parts { graph: graph.clone(), backlog: Some(backlog.clone()), ..self.parts.clone() };
        let Config { read, write, review, ontology, .. } = self.config.clone();
        let service = Arc::new(Service::new(parts, read, write, review, ontology));
        Tenant { service, graph, backlog }
    }

    pub async fn memory(&self, id: &str) -> Option<Memory> {
        let id: MemoryId = id.parse().expect("an id");
        let found = self.store.memories(&[id], Default::default(), &everything()).await.expect("an answer");
        found.into_iter().next()
    }

    pub async fn memories(&self) -> Vec<Memory> {
        self.store.page(None, usize::MAX >> 1, &everything()).await.expect("memories")
    }
}

impl Tenant {
    pub async fn store(&self, request: StoreRequest) -> StoreReply {
        self.service.store(&caller(), request).await.expect("taken")
    }

    /// Writes what waits.
    pub async fn catch_up(&self) -> usize {
        self.backlog.catch_up(&*self.service).await.expect("the store is there")
    }
}
