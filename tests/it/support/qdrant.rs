//! A Qdrant server of our own: the gRPC services of the real one, as far as recollect calls them, over the embedded engine.
//!
//! Each collection is a shard of the engine in a temporary folder. What is not called here answers `unimplemented`. Faults
//! of the network are `proxy`'s; this can ask for a key, say that it is an old version, and counts what it is asked.
//! `RECOLLECT_TEST_QDRANT` names a real server for the contract suite, which then keeps to collections of its own.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use qdrant_client::qdrant::{
    AliasDescription, ChangeAliases, ChangeAliases as Aliases, ClearPayloadPoints, CollectionClusterInfoRequest,
    CollectionClusterInfoResponse, CollectionConfig, CollectionDescription, CollectionExistsRequest,
    CollectionExistsResponse, CollectionInfo, CollectionOperationResponse, CollectionParams, CountPoints,
    CountResponse, CountResult, CreateCollection, CreateFieldIndexCollection, CreateShardKeyRequest,
    CreateShardKeyResponse, CreateVectorNameRequest, DeleteCollection, DeleteFieldIndexCollection, DeletePayloadPoints,
    DeletePointVectors, DeletePoints, DeleteShardKeyRequest, DeleteShardKeyResponse, DeleteVectorNameRequest,
    DenseVector, DiscoverBatchPoints, DiscoverBatchResponse, DiscoverPoints, DiscoverResponse, FacetCounts,
    FacetResponse, GetCollectionInfoRequest, GetCollectionInfoResponse, GetPoints, GetResponse, HealthCheckReply,
    HealthCheckRequest, ListAliasesRequest, ListAliasesResponse, ListCollectionAliasesRequest, ListCollectionsRequest,
    ListCollectionsResponse, ListShardKeysRequest, ListShardKeysResponse, ListValue, NamedVectorsOutput,
    PayloadSchemaInfo, PointId, PointsOperationResponse, PointsSelector, PointsUpdateOperation, QueryBatchPoints,
    QueryBatchResponse, QueryGroupsResponse, QueryPointGroups, QueryPoints, QueryResponse, RecommendBatchPoints,
    RecommendBatchResponse, RecommendGroupsResponse, RecommendPointGroups, RecommendPoints, RecommendResponse,
    RetrievedPoint, ScoredPoint, ScrollPoints, ScrollResponse, SearchBatchPoints, SearchBatchResponse,
    SearchGroupsResponse, SearchMatrixOffsetsResponse, SearchMatrixPairsResponse, SearchMatrixPoints,
    SearchPointGroups, SearchPoints, SearchResponse, SetPayloadPoints, UpdateBatchPoints, UpdateBatchResponse,
    UpdateCollection, UpdateCollectionClusterSetupRequest, UpdateCollectionClusterSetupResponse, UpdatePointVectors,
    UpdateResult, UpdateStatus, UpsertPoints, Value, VectorOutput, VectorsOutput,
    alias_operations::Action,
    collections_server::{Collections as CollectionsService, CollectionsServer},
    condition::ConditionOneOf,
    r#match::MatchValue,
    point_id::PointIdOptions,
    points_selector::PointsSelectorOneOf,
    points_server::{Points as PointsService, PointsServer},
    points_update_operation::Operation,
    qdrant_server::{Qdrant as RootService, QdrantServer as RootServer},
    query, value, vector_input, vector_output, vectors, vectors_config, vectors_output, with_payload_selector,
    with_vectors_selector,
};
use qdrant_edge::{
    CountRequest, CreateIndex, Distance, EdgeConfig, EdgeShard, EdgeVectorParams, FieldIndexOperations, Filter,
    HnswIndexConfig, IntegerIndexParams, JsonPath, KeywordIndexParams, NamedQuery, OperationError, Payload,
    PayloadFieldSchema, PayloadOps, PayloadSchemaParams, PointId as EngineId, PointInsertOperations, PointOperations,
    PointStructPersisted, QueryEnum, Record, ScrollRequest, SearchParams, SearchRequest, SetPayloadOp, UpdateOperation,
    VectorInternal, VectorOperations, VectorPersisted, VectorStructInternal, VectorStructPersisted,
    WithPayloadInterface, WithVector,
};
use recollect::backends::qdrant::{QdrantIndex, QdrantSettings};
use serde_json::{Map, Value as Json, json};
use tokio::task::JoinHandle;
use tonic::{
    Request, Response, Status,
    service::Interceptor,
    transport::{Identity, Server, ServerTlsConfig},
};
use uuid::Uuid;

/// A server that lives as long as this, on a free port.
pub struct QdrantServer {
    pub address: SocketAddr,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

/// How a server is.
#[derive(Debug, Clone)]
pub struct Nature {
    pub version: &'static str,
    pub api_key: Option<&'static str>,
    pub tls: Option<Certificate>,
}

impl Default for Nature {
    fn default() -> Self {
        Self { version: "1.15.4", api_key: None, tls: None }
    }
}

/// A certificate for `localhost` and the authority that gave it, which nobody else knows.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub authority: PathBuf,
    identity: (Vec<u8>, Vec<u8>),
}

impl Certificate {
    /// Made by `openssl` in `dir`; where there is none the test is skipped, and under CI it fails.
    pub fn new(dir: &Path) -> Option<Self> {
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout";
        std::fs::write(dir.join("names"), "subjectAltName=DNS:localhost\n").expect("written");
        for command in [
            format!("req -x509 {key} ca.key -out ca.pem -days 2 -subj /CN=authority"),
            format!("req {key} key.pem -out request.pem -subj /CN=localhost"),
            "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -out cert.pem -days 2 -extfile names".to_owned(),
        ] {
            let Ok(made) = Command::new("openssl").args(command.split(' ')).current_dir(dir).output() else {
                assert!(std::env::var_os("CI").is_none(), "under CI openssl must be there");
                println!("skipped: no openssl");
                return None;
            };
            assert!(made.status.success(), "{command}: {made:?}");
        }
        let read = |name: &str| std::fs::read(dir.join(name)).expect("made above");
        Some(Self { authority: dir.join("ca.pem"), identity: (read("cert.pem"), read("key.pem")) })
    }
}

impl QdrantServer {
    pub async fn start() -> Self {
        Self::start_as(Nature::default()).await
    }

    pub async fn start_as(nature: Nature) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            version: nature.version,
            folder: tempfile::tempdir().expect("temporary folder"),
            content: Mutex::default(),
            calls: Mutex::default(),
        });
        let key = Key(nature.api_key);
        let points = PointsServer::new(Points(state.clone())).max_decoding_message_size(usize::MAX);
        let mut builder = Server::builder();
        if let Some(Certificate { identity: (certificate, key), .. }) = nature.tls {
            let tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
            builder = builder.tls_config(tls).expect("a certificate");
        }
        let server = builder
            .add_service(tonic::service::interceptor::InterceptedService::new(points, key.clone()))
            .add_service(CollectionsServer::with_interceptor(Collections(state.clone()), key))
            .add_service(RootServer::new(Root(state.clone())))
            .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
        let serving = tokio::spawn(async move { server.await.expect("it serves") });
        Self { address, state, serving }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often a method was called.
    pub fn calls(&self, method: &str) -> usize {
        self.state.calls.lock().expect("calls").get(method).copied().unwrap_or(0)
    }

    /// Names of the collections.
    pub fn collections(&self) -> Vec<String> {
        self.state.content().collections.keys().cloned().collect()
    }

    /// How a collection was asked to be.
    pub fn made_as(&self, name: &str) -> CreateCollection {
        self.state.content().collections[name].made_as.clone()
    }

    /// Fields of a collection that have an index.
    pub fn indexed_fields(&self, name: &str) -> BTreeSet<String> {
        self.state.content().collections[name].fields.clone()
    }

    /// Removes a collection behind the back of whoever uses it.
    pub fn lose(&self, name: &str) {
        self.state.content().collections.remove(name).expect("a collection of this name");
    }
}

impl Drop for QdrantServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Where an index of a contract test lives: on a server of our own, or beside others on the real one that is named.
pub struct QdrantHome {
    pub url: String,
    pub settings: QdrantSettings,
    _server: Option<QdrantServer>,
}

impl QdrantHome {
    pub async fn new() -> Self {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let settings = QdrantSettings {
            collection: format!("recollect-test-{}-{number}", std::process::id()),
            ..patient(std::env::var("RECOLLECT_TEST_QDRANT_API_KEY").ok())
        };
        match std::env::var("RECOLLECT_TEST_QDRANT") {
            Ok(url) => Self { url, settings, _server: None },
            Err(_) => {
                let server = QdrantServer::start().await;
                Self { url: server.url(), settings, _server: Some(server) }
            }
        }
    }

    pub async fn remove(self) {
        QdrantIndex::remove(&self.url, &self.settings).await.expect("removed");
    }
}

/// Settings for a machine on which much else runs.
pub fn patient(api_key: Option<String>) -> QdrantSettings {
    let long = std::time::Duration::from_secs(30);
    QdrantSettings { api_key, timeout: long, write_timeout: long, ..QdrantSettings::default() }
}

struct State {
    version: &'static str,
    content: Mutex<Content>,
    calls: Mutex<BTreeMap<&'static str, usize>>,
    /// After the shards: they flush when they are dropped, and panic where they cannot.
    folder: tempfile::TempDir,
}

#[derive(Default)]
struct Content {
    collections: BTreeMap<String, Collection>,
    aliases: BTreeMap<String, String>,
    /// Folders made so far.
    made: usize,
}

#[derive(Clone)]
struct Collection {
    made_as: CreateCollection,
    fields: BTreeSet<String>,
    shard: Arc<EdgeShard>,
}

/// Refuses calls without the key.
#[derive(Clone)]
struct Key(Option<&'static str>);

impl Interceptor for Key {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let given = request.metadata().get("api-key").and_then(|key| key.to_str().ok());
        match self.0 {
            Some(_) if given.is_none() => Err(Status::unauthenticated("Must provide an API key")),
            Some(key) if given != Some(key) => Err(Status::permission_denied("Invalid API key")),
            _ => Ok(request),
        }
    }
}

struct Points(Arc<State>);
struct Collections(Arc<State>);
struct Root(Arc<State>);

impl State {
    fn content(&self) -> std::sync::MutexGuard<'_, Content> {
        self.content.lock().expect("content")
    }

    fn collection(&self, name: &str) -> Result<Collection, Status> {
        let content = self.content();
        let real = content.aliases.get(name).map_or(name, String::as_str);
        let missing = || Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"));
        content.collections.get(real).cloned().ok_or_else(missing)
    }

    fn health(&self, _: HealthCheckRequest) -> Result<HealthCheckReply, Status> {
        Ok(HealthCheckReply { title: "a test".to_owned(), version: self.version.to_owned(), commit: None })
    }

    fn create(&self, wanted: CreateCollection) -> Result<CollectionOperationResponse, Status> {
        let mut content = self.content();
        let name = wanted.collection_name.clone();
        if content.collections.contains_key(&name) {
            return Err(Status::already_exists(format!("Wrong input: Collection `{name}` already exists!")));
        }
        let spaces = match wanted.vectors_config.clone().and_then(|vectors| vectors.config) {
            Some(vectors_config::Config::ParamsMap(vectors)) => vectors.map,
            _ => return Err(Status::invalid_argument("this server has named vectors only")),
        };
        let vectors = spaces
            .into_iter()
            .map(|(name, params)| (name, EdgeVectorParams::builder(params.size as usize, Distance::Cosine).build()));
        let hnsw = wanted.hnsw_config.unwrap_or_default();
        let hnsw = HnswIndexConfig {
            m: hnsw.m.unwrap_or(16) as usize,
            ef_construct: hnsw.ef_construct.unwrap_or(100) as usize,
            ..HnswIndexConfig::default()
        };
        let config = EdgeConfig::builder().vectors(vectors.collect()).hnsw_config(hnsw).build();
        content.made += 1;
        let folder = self.folder.path().join(content.made.to_string());
        std::fs::create_dir(&folder).expect("a folder");
        let shard = Arc::new(EdgeShard::new(&folder, config).map_err(refused)?);
        content.collections.insert(name, Collection { made_as: wanted, fields: BTreeSet::new(), shard });
        Ok(done())
    }

    fn info(&self, asked: GetCollectionInfoRequest) -> Result<GetCollectionInfoResponse, Status> {
        let collection = self.collection(&asked.collection_name)?;
        let params =
            CollectionParams { vectors_config: collection.made_as.vectors_config, ..CollectionParams::default() };
        let config = CollectionConfig { params: Some(params), ..CollectionConfig::default() };
        let schema = collection.fields.into_iter().map(|field| (field, PayloadSchemaInfo::default()));
        let info =
            CollectionInfo { config: Some(config), payload_schema: schema.collect(), ..CollectionInfo::default() };
        Ok(GetCollectionInfoResponse { result: Some(info), ..GetCollectionInfoResponse::default() })
    }

    fn list(&self, _: ListCollectionsRequest) -> Result<ListCollectionsResponse, Status> {
        let names = self.content().collections.keys().cloned().collect::<Vec<_>>();
        let collections = names.into_iter().map(|name| CollectionDescription { name }).collect();
        Ok(ListCollectionsResponse { collections, ..ListCollectionsResponse::default() })
    }

    fn delete_collection(&self, asked: DeleteCollection) -> Result<CollectionOperationResponse, Status> {
        let mut content = self.content();
        content.collections.remove(&asked.collection_name);
        content.aliases.retain(|_, collection| *collection != asked.collection_name);
        Ok(done())
    }

    fn change_aliases(&self, asked: Aliases) -> Result<CollectionOperationResponse, Status> {
        let mut content = self.content();
        for action in asked.actions.into_iter().filter_map(|it| it.action) {
            match action {
                Action::CreateAlias(it) if content.collections.contains_key(&it.alias_name) => {
                    return Err(Status::invalid_argument(format!(
                        "Wrong input: Collection `{}` already exists!",
                        it.alias_name
                    )));
                }
                Action::CreateAlias(it) if !content.collections.contains_key(&it.collection_name) => {
                    return Err(Status::not_found("Not found: no such collection"));
                }
                Action::CreateAlias(it) => drop(content.aliases.insert(it.alias_name, it.collection_name)),
                Action::DeleteAlias(it) => drop(content.aliases.remove(&it.alias_name)),
                Action::RenameAlias(_) => return Err(Status::unimplemented("renaming is not part of this server")),
            }
        }
        Ok(done())
    }

    fn aliases(&self, _: ListAliasesRequest) -> Result<ListAliasesResponse, Status> {
        let aliases = self.content().aliases.clone().into_iter();
        let aliases = aliases.map(|(alias_name, collection_name)| AliasDescription { alias_name, collection_name });
        Ok(ListAliasesResponse { aliases: aliases.collect(), ..ListAliasesResponse::default() })
    }

    fn index_field(&self, asked: CreateFieldIndexCollection) -> Result<PointsOperationResponse, Status> {
        use qdrant_client::qdrant::payload_index_params::IndexParams;
        let collection = self.collection(&asked.collection_name)?;
        let params = asked.field_index_params.and_then(|params| params.index_params);
        let params = match params {
            Some(IndexParams::KeywordIndexParams(it)) => PayloadSchemaParams::Keyword(KeywordIndexParams {
                is_tenant: it.is_tenant,
                enable_hnsw: it.enable_hnsw,
                ..KeywordIndexParams::default()
            }),
            Some(IndexParams::IntegerIndexParams(it)) => PayloadSchemaParams::Integer(IntegerIndexParams {
                lookup: it.lookup,
                range: it.range,
                enable_hnsw: it.enable_hnsw,
                ..IntegerIndexParams::default()
            }),
            _ => return Err(Status::unimplemented("only keywords and integers are part of this server")),
        };
        let create = CreateIndex {
            field_name: JsonPath::try_from(asked.field_name.as_str())
                .map_err(|()| Status::invalid_argument("field"))?,
            field_schema: Some(PayloadFieldSchema::FieldParams(params)),
        };
        let create = UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(create));
        collection.shard.update(create).map_err(refused)?;
        let mut content = self.content();
        let name = content.aliases.get(&asked.collection_name).cloned().unwrap_or(asked.collection_name);
        content.collections.get_mut(&name).expect("it was there above").fields.insert(asked.field_name);
        Ok(PointsOperationResponse { result: Some(completed()), ..PointsOperationResponse::default() })
    }

    fn update(&self, asked: UpdateBatchPoints) -> Result<UpdateBatchResponse, Status> {
        let collection = self.collection(&asked.collection_name)?;
        let mut result = Vec::new();
        for PointsUpdateOperation { operation } in asked.operations {
            for update in updates(operation.ok_or_else(|| Status::invalid_argument("no operation"))?)? {
                collection.shard.update(update).map_err(refused)?;
            }
            result.push(completed());
        }
        Ok(UpdateBatchResponse { result, ..UpdateBatchResponse::default() })
    }

    fn query(&self, asked: QueryPoints) -> Result<QueryResponse, Status> {
        let collection = self.collection(&asked.collection_name)?;
        let nearest = asked.query.and_then(|query| query.variant);
        let Some(query::Variant::Nearest(input)) = nearest else {
            return Err(Status::unimplemented("only nearest neighbours are part of this server"));
        };
        let Some(vector_input::Variant::Dense(vector)) = input.variant else {
            return Err(Status::unimplemented("only dense vectors are part of this server"));
        };
        let params = asked.params.unwrap_or_default();
        let request = SearchRequest {
            query: QueryEnum::Nearest(NamedQuery { query: VectorInternal::Dense(vector.data), using: asked.using }),
            filter: asked.filter.map(filter).transpose()?,
            params: Some(SearchParams { hnsw_ef: params.hnsw_ef.map(|ef| ef as usize), ..SearchParams::default() }),
            limit: asked.limit.unwrap_or(10) as usize,
            offset: 0,
            with_payload: None,
            with_vector: None,
            score_threshold: None,
        };
        let found = collection.shard.search(request).map_err(refused)?.into_iter();
        let found = found.map(|point| ScoredPoint {
            id: Some(id(point.id)),
            score: point.score,
            version: point.version,
            ..ScoredPoint::default()
        });
        Ok(QueryResponse { result: found.collect(), ..QueryResponse::default() })
    }

    fn get(&self, asked: GetPoints) -> Result<GetResponse, Status> {
        let collection = self.collection(&asked.collection_name)?;
        let ids = asked.ids.into_iter().map(engine_id).collect::<Result<Vec<_>, _>>()?;
        let vectors = match asked.with_vectors.and_then(|it| it.selector_options) {
            None => WithVector::Bool(false),
            Some(with_vectors_selector::SelectorOptions::Enable(all)) => WithVector::Bool(all),
            Some(with_vectors_selector::SelectorOptions::Include(some)) => WithVector::Selector(some.names),
        };
        let fields = asked.with_payload.and_then(|it| it.selector_options);
        let all = Some(WithPayloadInterface::Bool(true));
        let records = collection.shard.retrieve(&ids, all, Some(vectors)).map_err(refused)?;
        let points = records.into_iter().map(|record| retrieved(record, fields.as_ref()));
        Ok(GetResponse { result: points.collect(), ..GetResponse::default() })
    }

    fn scroll(&self, asked: ScrollPoints) -> Result<ScrollResponse, Status> {
        let collection = self.collection(&asked.collection_name)?;
        let request = ScrollRequest {
            offset: asked.offset.map(engine_id).transpose()?,
            limit: Some(asked.limit.unwrap_or(10) as usize),
            filter: asked.filter.map(filter).transpose()?,
            with_payload: Some(WithPayloadInterface::Bool(false)),
            with_vector: WithVector::Bool(false),
            order_by: None,
        };
        let (records, next) = collection.shard.scroll(request).map_err(refused)?;
        let result = records.into_iter().map(|record| retrieved(record, None)).collect();
        Ok(ScrollResponse { result, next_page_offset: next.map(id), ..ScrollResponse::default() })
    }

    fn count(&self, asked: CountPoints) -> Result<CountResponse, Status> {
        let collection = self.collection(&asked.collection_name)?;
        let filter = asked.filter.map(filter).transpose()?;
        let count =
            collection.shard.count(CountRequest { filter, exact: asked.exact.unwrap_or(true) }).map_err(refused)?;
        Ok(CountResponse { result: Some(CountResult { count: count as u64 }), ..CountResponse::default() })
    }
}

/// A service whose methods are functions of [`State`]; the others answer that they are not there.
macro_rules! service {
    ($service:ident for $type:ident {
        $(fn $name:ident($asked:ident) -> $answer:ident = $does:ident;)+
    } without {
        $(fn $missing:ident($refused:ident) -> $never:ident;)*
    }) => {
        #[async_trait::async_trait]
        impl $service for $type {
            $(async fn $name(&self, request: Request<$asked>) -> Result<Response<$answer>, Status> {
                let state = self.0.clone();
                *state.calls.lock().expect("calls").entry(stringify!($does)).or_default() += 1;
                // The engine blocks.
                let work = tokio::task::spawn_blocking(move || state.$does(request.into_inner()));
                work.await.map_err(|error| Status::internal(error.to_string()))?.map(Response::new)
            })+
            $(async fn $missing(&self, _: Request<$refused>) -> Result<Response<$never>, Status> {
                Err(Status::unimplemented(concat!(stringify!($missing), " is not part of this server")))
            })*
        }
    };
}

service!(RootService for Root {
    fn health_check(HealthCheckRequest) -> HealthCheckReply = health;
} without {});

service!(CollectionsService for Collections {
    fn get(GetCollectionInfoRequest) -> GetCollectionInfoResponse = info;
    fn list(ListCollectionsRequest) -> ListCollectionsResponse = list;
    fn create(CreateCollection) -> CollectionOperationResponse = create;
    fn delete(DeleteCollection) -> CollectionOperationResponse = delete_collection;
    fn update_aliases(ChangeAliases) -> CollectionOperationResponse = change_aliases;
    fn list_aliases(ListAliasesRequest) -> ListAliasesResponse = aliases;
} without {
    fn update(UpdateCollection) -> CollectionOperationResponse;
    fn list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
    fn collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
    fn collection_exists(CollectionExistsRequest) -> CollectionExistsResponse;
    fn update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
    fn create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
    fn delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
    fn list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
});

service!(PointsService for Points {
    fn get(GetPoints) -> GetResponse = get;
    fn create_field_index(CreateFieldIndexCollection) -> PointsOperationResponse = index_field;
    fn scroll(ScrollPoints) -> ScrollResponse = scroll;
    fn count(CountPoints) -> CountResponse = count;
    fn update_batch(UpdateBatchPoints) -> UpdateBatchResponse = update;
    fn query(QueryPoints) -> QueryResponse = query;
} without {
    fn upsert(UpsertPoints) -> PointsOperationResponse;
    fn delete(DeletePoints) -> PointsOperationResponse;
    fn update_vectors(UpdatePointVectors) -> PointsOperationResponse;
    fn delete_vectors(DeletePointVectors) -> PointsOperationResponse;
    fn set_payload(SetPayloadPoints) -> PointsOperationResponse;
    fn overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
    fn delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
    fn clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
    fn delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
    fn create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
    fn delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
    fn search(SearchPoints) -> SearchResponse;
    fn search_batch(SearchBatchPoints) -> SearchBatchResponse;
    fn search_groups(SearchPointGroups) -> SearchGroupsResponse;
    fn recommend(RecommendPoints) -> RecommendResponse;
    fn recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
    fn recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
    fn discover(DiscoverPoints) -> DiscoverResponse;
    fn discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
    fn query_batch(QueryBatchPoints) -> QueryBatchResponse;
    fn query_groups(QueryPointGroups) -> QueryGroupsResponse;
    fn facet(FacetCounts) -> FacetResponse;
    fn search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
    fn search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
});

fn done() -> CollectionOperationResponse {
    CollectionOperationResponse { result: true, time: 0.0 }
}

fn completed() -> UpdateResult {
    UpdateResult { operation_id: None, status: UpdateStatus::Completed.into() }
}

fn refused(error: OperationError) -> Status {
    Status::invalid_argument(format!("Wrong input: {error}"))
}

/// An operation as the engine knows it.
fn updates(operation: Operation) -> Result<Vec<UpdateOperation>, Status> {
    Ok(vec![match operation {
        Operation::Upsert(list) => {
            let points = list.points.into_iter().map(point).collect::<Result<_, _>>()?;
            let insert = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
            UpdateOperation::PointOperation(insert)
        }
        Operation::DeletePoints(it) => UpdateOperation::PointOperation(match selected(it.points)? {
            Selected::Ids(ids) => PointOperations::DeletePoints { ids },
            Selected::Filter(filter) => PointOperations::DeletePointsByFilter(filter),
        }),
        Operation::SetPayload(it) => {
            UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set(it.payload, it.points_selector)?))
        }
        Operation::OverwritePayload(it) => {
            UpdateOperation::PayloadOperation(PayloadOps::OverwritePayload(set(it.payload, it.points_selector)?))
        }
        Operation::DeleteVectors(it) => {
            let names = it.vectors.unwrap_or_default().names;
            UpdateOperation::VectorOperation(match selected(it.points_selector)? {
                Selected::Ids(ids) => VectorOperations::DeleteVectors(ids.into(), names),
                Selected::Filter(filter) => VectorOperations::DeleteVectorsByFilter(filter, names),
            })
        }
        _ => return Err(Status::unimplemented("this operation is not part of this server")),
    }])
}

fn set(payload: HashMap<String, Value>, selector: Option<PointsSelector>) -> Result<SetPayloadOp, Status> {
    let payload = Payload(payload.into_iter().map(|(name, value)| (name, json_of(value))).collect());
    let (points, filter) = match selected(selector)? {
        Selected::Ids(ids) => (Some(ids), None),
        Selected::Filter(filter) => (None, Some(filter)),
    };
    Ok(SetPayloadOp { payload, points, filter, key: None })
}

enum Selected {
    Ids(Vec<EngineId>),
    Filter(Filter),
}

fn selected(selector: Option<PointsSelector>) -> Result<Selected, Status> {
    match selector.and_then(|it| it.points_selector_one_of) {
        Some(PointsSelectorOneOf::Points(list)) => {
            Ok(Selected::Ids(list.ids.into_iter().map(engine_id).collect::<Result<_, _>>()?))
        }
        Some(PointsSelectorOneOf::Filter(told)) => Ok(Selected::Filter(filter(told)?)),
        None => Err(Status::invalid_argument("PointsSelector is required")),
    }
}

fn point(point: qdrant_client::qdrant::PointStruct) -> Result<PointStructPersisted, Status> {
    let Some(vectors::VectorsOptions::Vectors(named)) = point.vectors.and_then(|it| it.vectors_options) else {
        return Err(Status::invalid_argument("this server has named vectors only"));
    };
    #[expect(deprecated, reason = "the field that every version of the server reads")]
    let named = named.vectors.into_iter().map(|(name, vector)| (name, VectorPersisted::Dense(vector.data)));
    Ok(PointStructPersisted {
        id: engine_id(point.id.ok_or_else(|| Status::invalid_argument("a point without an id"))?)?,
        vector: VectorStructPersisted::Named(named.collect()),
        payload: Some(Payload(point.payload.into_iter().map(|(name, value)| (name, json_of(value))).collect())),
    })
}

fn engine_id(id: PointId) -> Result<EngineId, Status> {
    match id.point_id_options {
        Some(PointIdOptions::Uuid(text)) => {
            Uuid::parse_str(&text).map(EngineId::Uuid).map_err(|_| Status::invalid_argument("not a UUID"))
        }
        Some(PointIdOptions::Num(number)) => Ok(EngineId::NumId(number)),
        None => Err(Status::invalid_argument("an empty id")),
    }
}

fn id(id: EngineId) -> PointId {
    let options = match id {
        EngineId::Uuid(id) => PointIdOptions::Uuid(id.to_string()),
        EngineId::NumId(number) => PointIdOptions::Num(number),
    };
    PointId { point_id_options: Some(options) }
}

fn retrieved(record: Record, fields: Option<&with_payload_selector::SelectorOptions>) -> RetrievedPoint {
    let wanted = |name: &String| match fields {
        None | Some(with_payload_selector::SelectorOptions::Enable(false)) => false,
        Some(with_payload_selector::SelectorOptions::Enable(true)) => true,
        Some(with_payload_selector::SelectorOptions::Include(some)) => some.fields.contains(name),
        Some(with_payload_selector::SelectorOptions::Exclude(some)) => !some.fields.contains(name),
    };
    let payload = record.payload.unwrap_or_default().0.into_iter().filter(|(name, _)| wanted(name));
    let vectors = match record.vector {
        Some(VectorStructInternal::Named(named)) => {
            let named = named.into_iter().filter_map(|(name, vector)| match vector {
                VectorInternal::Dense(data) => {
                    let vector = Some(vector_output::Vector::Dense(DenseVector { data }));
                    Some((name, VectorOutput { vector, ..VectorOutput::default() }))
                }
                _ => None,
            });
            let named = NamedVectorsOutput { vectors: named.collect() };
            Some(VectorsOutput { vectors_options: Some(vectors_output::VectorsOptions::Vectors(named)) })
        }
        _ => None,
    };
    RetrievedPoint {
        id: Some(id(record.id)),
        payload: payload.map(|(name, value)| (name, value_of(value))).collect(),
        vectors,
        ..RetrievedPoint::default()
    }
}

/// By way of the words of Qdrant's REST interface, which the engine reads.
fn filter(filter: qdrant_client::qdrant::Filter) -> Result<Filter, Status> {
    serde_json::from_value(in_words(filter)?).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn in_words(filter: qdrant_client::qdrant::Filter) -> Result<Json, Status> {
    let mut words = Map::new();
    for (name, conditions) in [("must", filter.must), ("should", filter.should), ("must_not", filter.must_not)] {
        if !conditions.is_empty() {
            let conditions = conditions.into_iter().map(|it| condition(it.condition_one_of));
            words.insert(name.to_owned(), conditions.collect::<Result<Vec<_>, _>>()?.into());
        }
    }
    Ok(words.into())
}

fn condition(condition: Option<ConditionOneOf>) -> Result<Json, Status> {
    let unknown = || Status::unimplemented("this condition is not part of this server");
    Ok(match condition.ok_or_else(unknown)? {
        ConditionOneOf::Filter(filter) => in_words(filter)?,
        ConditionOneOf::HasId(it) => {
            let ids = it.has_id.into_iter().map(|id| match id.point_id_options {
                Some(PointIdOptions::Uuid(id)) => json!(id),
                Some(PointIdOptions::Num(number)) => json!(number),
                None => Json::Null,
            });
            json!({"has_id": ids.collect::<Vec<_>>()})
        }
        ConditionOneOf::Field(field) => {
            if let Some(range) = field.range {
                json!({"key": field.key, "range": {"lt": range.lt, "lte": range.lte, "gt": range.gt, "gte": range.gte}})
            } else {
                let matched = match field.r#match.and_then(|it| it.match_value) {
                    Some(MatchValue::Keyword(word)) => json!({"value": word}),
                    Some(MatchValue::Keywords(words)) => json!({"any": words.strings}),
                    _ => return Err(unknown()),
                };
                json!({"key": field.key, "match": matched})
            }
        }
        _ => return Err(unknown()),
    })
}

fn json_of(value: Value) -> Json {
    match value.kind {
        None | Some(value::Kind::NullValue(_)) => Json::Null,
        Some(value::Kind::BoolValue(flag)) => flag.into(),
        Some(value::Kind::IntegerValue(whole)) => whole.into(),
        Some(value::Kind::DoubleValue(number)) => number.into(),
        Some(value::Kind::StringValue(text)) => text.into(),
        Some(value::Kind::ListValue(list)) => list.values.into_iter().map(json_of).collect(),
        Some(value::Kind::StructValue(fields)) => {
            fields.fields.into_iter().map(|(name, value)| (name, json_of(value))).collect::<Map<_, _>>().into()
        }
    }
}

fn value_of(json: Json) -> Value {
    let kind = match json {
        Json::Null => value::Kind::NullValue(0),
        Json::Bool(flag) => value::Kind::BoolValue(flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => value::Kind::IntegerValue(whole),
            None => value::Kind::DoubleValue(number.as_f64().expect("a number")),
        },
        Json::String(text) => value::Kind::StringValue(text),
        Json::Array(list) => value::Kind::ListValue(ListValue { values: list.into_iter().map(value_of).collect() }),
        Json::Object(_) => unreachable!("filter fields are flat"),
    };
    Value { kind: Some(kind) }
}
