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

use std::{collections::HashMap, sync::Arc, time::Duration};

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
    ports::{PortError, Scored, SpaceSpec, VectorIndex, VectorQuery},
};

/// Candidates HNSW keeps while it walks, as in the embedded engine.
const SEARCH_EF: u64 = 256;
/// Among more equal scores than this the order by id is not promised.
const MAX_TIES: usize = 4096;
/// A search for more than this asks first how many there are: the server makes room for as many as it is asked for.
const MANY: usize = 10_000;
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
pub struct QdrantIndex {
    client: Arc<Client>,
    spaces: Vec<SpaceSpec>,
    settings: QdrantSettings,
}

impl QdrantIndex {
    /// Opens the index on the server at `url`, or makes it where there is none.
    ///
    /// `Unavailable` or `Timeout` if the server does not answer; `Mismatch` if it refuses the key, is too old, or holds the
    /// index for other spaces.
    pub async fn open(url: &str, spaces: &[SpaceSpec], settings: &QdrantSettings) -> Result<Self, PortError> {
        let open = async {
            let client = Arc::new(Client::new(url, settings)?);
            collection::greet(&client, settings).await?;
            match collection::serving(&client, &settings.collection).await? {
                Some(name) => collection::check(&client, &name, spaces).await?,
                None => drop(collection::create_first(&client, spaces, settings).await?),
            }
            Ok(Self { client, spaces: spaces.to_vec(), settings: settings.clone() })
        };
        open.await.map_err(|fault: Fault| fault.during("open"))
    }

    /// An empty index, whatever was there.
    pub async fn recreate(url: &str, spaces: &[SpaceSpec], settings: &QdrantSettings) -> Result<Self, PortError> {
        let recreate = async {
            let client = Arc::new(Client::new(url, settings)?);
            collection::greet(&client, settings).await?;
            let index = Self { client, spaces: spaces.to_vec(), settings: settings.clone() };
            index.renew().await?;
            Ok(index)
        };
        recreate.await.map_err(|fault: Fault| fault.during("recreate"))
    }

    /// Removes the alias and every collection of ours from the server.
    pub async fn remove(url: &str, settings: &QdrantSettings) -> Result<(), PortError> {
        let remove = async {
            let client = Client::new(url, settings)?;
            collection::remove_all(&client, &settings.collection).await
        };
        remove.await.map_err(|fault: Fault| fault.during("remove"))
    }

    /// Puts an empty collection in the place of the one that serves.
    async fn renew(&self) -> Result<(), Fault> {
        let fresh = collection::create_beside(&self.client, &self.spaces, &self.settings).await?;
        collection::switch(&self.client, &self.settings.collection, &fresh).await
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
            collection_name: self.settings.collection.clone(),
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
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let request = GetPoints {
            collection_name: self.settings.collection.clone(),
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
        let mut ids: Vec<MemoryId> = Vec::new();
        let mut after = after;
        while ids.len() < limit && !sees_nothing(visibility) {
            let next = after.map(|id| id.0.as_u128().checked_add(1));
            if next == Some(None) {
                break;
            }
            let page = PAGE.min(limit - ids.len());
            let request = ScrollPoints {
                collection_name: self.settings.collection.clone(),
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
        let request = CountPoints {
            collection_name: self.settings.collection.clone(),
            exact: Some(true),
            ..CountPoints::default()
        };
        let counted = self.client.read(|it| it.count(request)).await?.result.unwrap_or_default();
        Ok(usize::try_from(counted.count).unwrap_or(usize::MAX))
    }
}

#[async_trait]
impl VectorIndex for QdrantIndex {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        self.apply(&self.settings.collection, ops).await.map_err(|fault| fault.during("apply"))
    }

    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        self.search(query, visibility).await.map_err(|fault| fault.during("search"))
    }

    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, PortError> {
        self.vectors(space, ids, visibility).await.map_err(|fault| fault.during("vectors"))
    }

    async fn payloads(
        &self,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Payload>, PortError> {
        self.payloads(ids, visibility).await.map_err(|fault| fault.during("payloads"))
    }

    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        self.ids(after, limit, visibility).await.map_err(|fault| fault.during("ids"))
    }

    async fn count(&self) -> Result<usize, PortError> {
        self.count().await.map_err(|fault| fault.during("count"))
    }

    /// What the server has answered is in its log.
    async fn flush(&self) -> Result<(), PortError> {
        Ok(())
    }

    /// The server does it by itself.
    async fn optimize(&self) -> Result<(), PortError> {
        Ok(())
    }

    async fn clear(&self) -> Result<(), PortError> {
        self.renew().await.map_err(|fault| fault.during("clear"))
    }
}

fn payload(wanted: bool) -> WithPayloadSelector {
    WithPayloadSelector { selector_options: Some(with_payload_selector::SelectorOptions::Enable(wanted)) }
}

fn sees_nothing(visibility: &Visibility) -> bool {
    visibility.keys().is_some_and(|keys| keys.is_empty())
}
