//! The [`VectorIndex`] on a Qdrant server, over gRPC.
//!
//! Everything that is written waits until the server has applied it, and is in the server's log by then, so a flush has
//! nothing to add. Each call has a deadline; whether the server is worth calling at all is `circuit`'s to know.
//!
//! `client` connects, `collection` makes and switches collections, `mapping` translates, this file has the port.

mod client;
mod collection;
mod error;
mod mapping;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use qdrant_client::qdrant::{
    CountPoints, DenseVector, GetPoints, PayloadIncludeSelector, QuantizationSearchParams, Query, QueryPoints,
    RetrievedPoint, ScrollPoints, SearchParams, UpdateBatchPoints, UpdateStatus, VectorInput, VectorsSelector,
    WithPayloadSelector, WithVectorsSelector, query, vector_input, with_payload_selector, with_vectors_selector,
};
use uuid::Uuid;

use self::{client::Client, error::Fault};
use crate::{
    backends::{
        conditions::VISIBILITY,
        exact::{check_ops, space_of},
    },
    domain::{IndexOp, MemoryId, Payload, Visibility},
    ports::{PortError, Rebuild, Scored, SpaceSpec, VectorIndex, VectorQuery},
};

/// Candidates HNSW keeps while it walks, as in the embedded engine.
const SEARCH_EF: u64 = 256;
/// Among more equal scores than this the order by id is not promised.
const MAX_TIES: usize = 4096;
/// A search for more than this asks first how many there are: the server makes room for as many as it is asked for.
const MANY: usize = 10_000;
/// Beyond so many points their number is the server's estimate, which counts a point twice while it moves: for the exact one
/// the server gathers the ids of all.
const COUNTED: usize = 50_000;
/// Ids of one page.
const PAGE: usize = 1000;
/// Candidates that are found by their quantised vectors, for each that is wanted; their own vectors then decide.
const OVERSAMPLING: f64 = 2.0;

/// How the server is used.
#[derive(Clone)]
pub struct QdrantSettings {
    /// Name of the alias that leads to the collection, and beginning of the names of collections.
    pub collection: String,
    /// What the server asks for, if it does.
    pub api_key: Option<String>,
    /// Deadline of a call that reads, its second try included.
    pub timeout: Duration,
    /// Deadline of a call that writes, its second try included.
    pub write_timeout: Duration,
    /// Links of a point in HNSW.
    pub m: u64,
    /// Candidates kept while HNSW is built.
    pub ef_construct: u64,
    /// Smaller vectors to search by.
    pub quantization: Quantization,
    /// Whether vectors stay on disk.
    pub on_disk: bool,
    /// Shards of a new collection; 0 leaves it to the server.
    pub shards: u32,
    /// Copies of each shard; 0 leaves it to the server.
    pub replicas: u32,
}

impl Default for QdrantSettings {
    fn default() -> Self {
        Self {
            collection: "recollect".to_owned(),
            api_key: None,
            timeout: Duration::from_millis(600),
            write_timeout: Duration::from_secs(30),
            m: 16,
            ef_construct: 100,
            quantization: Quantization::None,
            on_disk: false,
            shards: 0,
            replicas: 0,
        }
    }
}

/// Smaller vectors to search by; those found are weighed by their own vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantization {
    /// None.
    None,
    /// A byte for each number, kept in memory.
    Scalar,
}

/// See the module.
pub struct QdrantIndex(Arc<Inner>);

struct Inner {
    client: Client,
    spaces: Vec<SpaceSpec>,
    settings: QdrantSettings,
    withdrawn: AtomicBool,
}

/// A collection that nothing leads to yet.
struct Beside {
    index: Arc<Inner>,
    collection: String,
}

impl QdrantIndex {
    /// Opens the index on the server at `url`, or makes it where there is none.
    ///
    /// `Unavailable` or `Timeout` if the server does not answer; `Mismatch` if it refuses the key, is too old, or holds the
    /// index for other spaces.
    pub async fn open(url: &str, spaces: &[SpaceSpec], settings: &QdrantSettings) -> Result<Self, PortError> {
        let open = async {
            let inner = Inner::connect(url, spaces, settings, false).await?;
            match collection::serving(&inner.client, &settings.collection).await? {
                Some(name) => collection::check(&inner.client, &name, spaces).await?,
                None => collection::create_first(&inner.client, spaces, settings).await?,
            }
            Ok(Self(Arc::new(inner)))
        };
        open.await.map_err(|fault: Fault| fault.during("open"))
    }

    /// The index on the server at `url`, withdrawn, whatever is there.
    pub async fn open_withdrawn(url: &str, spaces: &[SpaceSpec], settings: &QdrantSettings) -> Result<Self, PortError> {
        let inner = Inner::connect(url, spaces, settings, true).await;
        inner.map(|inner| Self(Arc::new(inner))).map_err(|fault| fault.during("open"))
    }

    /// Removes the alias and every collection of ours from the server.
    pub async fn remove(url: &str, settings: &QdrantSettings) -> Result<(), PortError> {
        let remove = async {
            let client = Client::new(url, settings)?;
            collection::remove_all(&client, &settings.collection).await
        };
        remove.await.map_err(|fault: Fault| fault.during("remove"))
    }
}

impl Inner {
    async fn connect(
        url: &str,
        spaces: &[SpaceSpec],
        settings: &QdrantSettings,
        withdrawn: bool,
    ) -> Result<Self, Fault> {
        let client = Client::new(url, settings)?;
        collection::greet(&client, settings).await?;
        Ok(Self { client, spaces: spaces.to_vec(), settings: settings.clone(), withdrawn: AtomicBool::new(withdrawn) })
    }

    /// The name by which the index is called, if it is whole.
    fn serving(&self) -> Result<String, Fault> {
        if self.withdrawn.load(Ordering::SeqCst) {
            return Err(Fault::Withdrawn);
        }
        Ok(self.settings.collection.clone())
    }

    async fn apply(&self, collection: &str, ops: &[IndexOp]) -> Result<(), Fault> {
        check_ops(&self.spaces, ops)?;
        for operations in mapping::requests(ops, &self.spaces)? {
            let batch = UpdateBatchPoints {
                collection_name: collection.to_owned(),
                wait: Some(true),
                operations,
                ..UpdateBatchPoints::default()
            };
            let done = self.client.write(|it| it.update_points_batch(batch)).await?;
            if done.result.iter().any(|result| result.status() != UpdateStatus::Completed) {
                return Err(Fault::NotApplied);
            }
        }
        Ok(())
    }

    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, Fault> {
        let collection = self.serving()?;
        let VectorQuery { space, vector, filter, limit } = query;
        space_of(&self.spaces, space, vector.len())?;
        if *limit == 0 || sees_nothing(visibility) {
            return Ok(Vec::new());
        }
        let limit = if *limit > MANY { (*limit).min(self.count().await?.max(1)) } else { *limit };
        let rescored = QuantizationSearchParams {
            rescore: Some(true),
            oversampling: Some(OVERSAMPLING),
            ..QuantizationSearchParams::default()
        };
        let params = SearchParams {
            hnsw_ef: Some(SEARCH_EF),
            quantization: (self.settings.quantization == Quantization::Scalar).then_some(rescored),
            ..SearchParams::default()
        };
        let input = VectorInput { variant: Some(vector_input::Variant::Dense(DenseVector { data: vector.clone() })) };
        let request = |limit: usize| QueryPoints {
            collection_name: collection.clone(),
            query: Some(Query { variant: Some(query::Variant::Nearest(input.clone())) }),
            using: Some(space.clone()),
            filter: Some(mapping::filter(filter, visibility)),
            params: Some(params.clone()),
            limit: Some(limit as u64),
            with_payload: Some(payload(false)),
            ..QueryPoints::default()
        };
        // The server cuts equal scores anywhere, so more are asked for until the cut is between two scores.
        let mut wanted = limit + 1;
        let mut found = loop {
            let asked = request(wanted);
            let found = self.client.read(|it| it.query(asked)).await?.result;
            let cut_in_a_tie = found.len() == wanted && found[limit - 1].score == found[wanted - 1].score;
            if !cut_in_a_tie || wanted - limit >= MAX_TIES {
                break found;
            }
            wanted *= 2;
        };
        let mut found: Vec<Scored> = found
            .drain(..)
            .filter_map(|point| Some(Scored { id: mapping::memory_id(point.id)?, score: point.score }))
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found.truncate(limit);
        Ok(found)
    }

    async fn get(
        &self,
        ids: &[MemoryId],
        with_payload: WithPayloadSelector,
        with_vectors: Option<WithVectorsSelector>,
    ) -> Result<Vec<RetrievedPoint>, Fault> {
        let collection = self.serving()?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let request = GetPoints {
            collection_name: collection.clone(),
            ids: ids.iter().copied().map(mapping::point_id).collect(),
            with_payload: Some(with_payload),
            with_vectors,
            ..GetPoints::default()
        };
        Ok(self.client.read(|it| it.get_points(request)).await?.result)
    }

    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, Fault> {
        let include =
            with_vectors_selector::SelectorOptions::Include(VectorsSelector { names: vec![space.to_owned()] });
        let scope = with_payload_selector::SelectorOptions::Include(PayloadIncludeSelector {
            fields: vec![VISIBILITY.to_owned()],
        });
        let points = self
            .get(
                ids,
                WithPayloadSelector { selector_options: Some(scope) },
                Some(WithVectorsSelector { selector_options: Some(include) }),
            )
            .await?;
        let sees = |point: &RetrievedPoint| {
            point.payload.get(VISIBILITY).and_then(|key| key.as_str()).is_some_and(|key| visibility.sees(key))
        };
        let seen = points.into_iter().filter(sees);
        Ok(seen
            .filter_map(|point| {
                let vector = mapping::vector_back(&point, space)?;
                Some((mapping::memory_id(point.id)?, vector))
            })
            .collect())
    }

    async fn payloads(&self, ids: &[MemoryId], visibility: &Visibility) -> Result<HashMap<MemoryId, Payload>, Fault> {
        let mut payloads = HashMap::new();
        for point in self.get(ids, payload(true), None).await? {
            let payload = mapping::payload_back(point.payload)?;
            if let Some(id) = mapping::memory_id(point.id)
                && visibility.sees(&payload.visibility)
            {
                payloads.insert(id, payload);
            }
        }
        Ok(payloads)
    }

    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, Fault> {
        let collection = self.serving()?;
        let mut ids: Vec<MemoryId> = Vec::new();
        let mut after = after;
        while ids.len() < limit && !sees_nothing(visibility) {
            let next = after.map(|id| id.0.as_u128().checked_add(1));
            if next == Some(None) {
                break;
            }
            let page = PAGE.min(limit - ids.len());
            let request = ScrollPoints {
                collection_name: collection.clone(),
                offset: next.flatten().map(|next| mapping::point_id(MemoryId(Uuid::from_u128(next)))),
                limit: Some(page as u32),
                filter: mapping::seen(visibility),
                with_payload: Some(payload(false)),
                ..ScrollPoints::default()
            };
            let found = self.client.read(|it| it.scroll(request)).await?.result;
            let last_page = found.len() < page;
            ids.extend(found.into_iter().filter_map(|point| mapping::memory_id(point.id)));
            after = ids.last().copied();
            if last_page {
                break;
            }
        }
        Ok(ids)
    }

    async fn count(&self) -> Result<usize, Fault> {
        let counted = async |exact| {
            let request =
                CountPoints { collection_name: self.serving()?, exact: Some(exact), ..CountPoints::default() };
            let counted = self.client.read(|it| it.count(request)).await?.result.unwrap_or_default();
            Ok(usize::try_from(counted.count).unwrap_or(usize::MAX))
        };
        match counted(false).await? {
            many if many > COUNTED => Ok(many),
            _ => counted(true).await,
        }
    }
}

#[async_trait]
impl VectorIndex for QdrantIndex {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        let apply = async { self.0.apply(&self.0.serving()?, ops).await };
        apply.await.map_err(|fault| fault.during("apply"))
    }

    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        self.0.search(query, visibility).await.map_err(|fault| fault.during("search"))
    }

    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, PortError> {
        self.0.vectors(space, ids, visibility).await.map_err(|fault| fault.during("vectors"))
    }

    async fn payloads(
        &self,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Payload>, PortError> {
        self.0.payloads(ids, visibility).await.map_err(|fault| fault.during("payloads"))
    }

    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        self.0.ids(after, limit, visibility).await.map_err(|fault| fault.during("ids"))
    }

    async fn count(&self) -> Result<usize, PortError> {
        self.0.count().await.map_err(|fault| fault.during("count"))
    }

    /// What the server has answered is in its log.
    async fn flush(&self) -> Result<(), PortError> {
        self.0.serving().map(drop).map_err(|fault| fault.during("flush"))
    }

    /// The server does it by itself.
    async fn optimize(&self) -> Result<(), PortError> {
        Ok(())
    }

    async fn rebuild(&self) -> Result<Arc<dyn Rebuild>, PortError> {
        let index = self.0.clone();
        let made = collection::create_beside(&index.client, &index.spaces, &index.settings).await;
        let collection = made.map_err(|fault| fault.during("rebuild"))?;
        Ok(Arc::new(Beside { index, collection }))
    }

    async fn withdraw(&self) {
        self.0.withdrawn.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Rebuild for Beside {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        self.index.apply(&self.collection, ops).await.map_err(|fault| fault.during("apply"))
    }

    /// The server does it by itself.
    async fn optimize(&self) -> Result<(), PortError> {
        Ok(())
    }

    async fn switch(&self) -> Result<(), PortError> {
        let Inner { client, settings, withdrawn, .. } = &*self.index;
        let switched = collection::switch(client, &settings.collection, &self.collection).await;
        switched.map_err(|fault| fault.during("switch"))?;
        withdrawn.store(false, Ordering::SeqCst);
        Ok(())
    }
}

fn payload(wanted: bool) -> WithPayloadSelector {
    WithPayloadSelector { selector_options: Some(with_payload_selector::SelectorOptions::Enable(wanted)) }
}

fn sees_nothing(visibility: &Visibility) -> bool {
    visibility.keys().is_some_and(|keys| keys.is_empty())
}
