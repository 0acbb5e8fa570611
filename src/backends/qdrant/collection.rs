//! The collections of one index: their names, how they are made, and the alias that says which one serves.
//!
//! A collection is for one set of spaces: `PREFIX-HASH-N`, where the hash is of their names and dimensions and `N` counts the
//! rebuilds. The alias `PREFIX` leads to the one that serves; every call but those of a rebuild goes through it, so all
//! processes on the server see a switch at once.

use std::collections::HashMap;

use qdrant_client::qdrant::{
    CollectionInfo, CreateAlias, CreateCollection, Distance, HnswConfigDiff, QuantizationConfig, QuantizationType,
    ScalarQuantization, VectorParams, VectorParamsMap, VectorsConfig, quantization_config::Quantization as Quantized,
    vectors_config::Config,
};
use sha2::{Digest, Sha256};

use super::{QdrantSettings, Quantization, client::Client, error::Fault, mapping};
use crate::ports::SpaceSpec;

/// The oldest server that answers the calls made here.
const MIN_VERSION: (u32, u32) = (1, 10);

/// Refuses servers that are too old, and those that do not let us in.
pub(super) async fn greet(client: &Client, settings: &QdrantSettings) -> Result<(), Fault> {
    let let_in = |fault: Fault| match (fault.is_about_the_key(), settings.api_key.is_some()) {
        (true, true) => Fault::KeyRefused,
        (true, false) => Fault::KeyMissing,
        (false, _) => Fault::Unreachable(Box::new(fault)),
    };
    let server = client.read(|it| it.health_check()).await.map_err(let_in)?;
    if version(&server.version).is_some_and(|version| version < MIN_VERSION) {
        return Err(Fault::TooOld(server.version));
    }
    // A server may say how it is without asking for a key.
    client.read(|it| it.list_aliases()).await.map(drop).map_err(let_in)
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The collection that the alias leads to.
pub(super) async fn serving(client: &Client, prefix: &str) -> Result<Option<String>, Fault> {
    let aliases = client.read(|it| it.list_aliases()).await?.aliases;
    Ok(aliases.into_iter().find(|alias| alias.alias_name == prefix).map(|alias| alias.collection_name))
}

/// Compares the spaces of a collection with those wanted, and makes the field indexes that it lacks.
pub(super) async fn check(client: &Client, collection: &str, spaces: &[SpaceSpec]) -> Result<(), Fault> {
    let info = client.read(|it| it.collection_info(collection)).await?.result.unwrap_or_default();
    let (stored, wanted) = (stored(&info), wanted(spaces));
    if stored != wanted {
        let name = |spaces: &[(String, u64)]| {
            let names: Vec<String> = spaces.iter().map(|(name, dimension)| format!("{name} ({dimension})")).collect();
            names.join(", ")
        };
        let (stored, wanted) = (name(&stored), name(&wanted));
        return Err(Fault::Spaces { collection: collection.to_owned(), stored, wanted });
    }
    index_fields(client, collection, |field| !info.payload_schema.contains_key(field)).await
}

/// Makes the first collection for these spaces. Processes that start together make the same one, and all may go on.
pub(super) async fn create_first(
    client: &Client,
    spaces: &[SpaceSpec],
    settings: &QdrantSettings,
) -> Result<(), Fault> {
    let name = name(&settings.collection, spaces, 1);
    match create(client, &name, spaces, settings).await {
        Err(fault) if fault.is_there_already() => check(client, &name, spaces).await?,
        created => created?,
    }
    point_to(client, &settings.collection, &name).await
}

/// An empty collection that nothing leads to. What earlier rebuilds left behind is removed first.
pub(super) async fn create_beside(
    client: &Client,
    spaces: &[SpaceSpec],
    settings: &QdrantSettings,
) -> Result<String, Fault> {
    let prefix = &settings.collection;
    let serving = serving(client, prefix).await?;
    let mut last = 0;
    for collection in client.read(|it| it.list_collections()).await?.collections {
        let Some(number) = number_of(prefix, &collection.name) else { continue };
        last = last.max(number);
        if serving.as_ref() != Some(&collection.name) {
            delete(client, &collection.name).await?;
        }
    }
    let name = name(prefix, spaces, last + 1);
    create(client, &name, spaces, settings).await?;
    Ok(name)
}

/// Lets the alias lead to `collection`, at once, and removes the one it led to.
pub(super) async fn switch(client: &Client, prefix: &str, collection: &str) -> Result<(), Fault> {
    let before = serving(client, prefix).await?.filter(|before| before != collection);
    match point_to(client, prefix, collection).await {
        Ok(()) => {}
        // The collections of other rebuilds are removed when one begins.
        Err(fault) if fault.is_not_found() => return Err(Fault::GivenUp),
        // The answer may be lost, and the alias moved all the same.
        Err(fault) if serving(client, prefix).await?.as_deref() != Some(collection) => return Err(fault),
        Err(_) => {}
    }
    if let Some(before) = before
        && let Err(error) = delete(client, &before).await
    {
        tracing::warn!(%error, "collection {before} is no longer used; the next reindex removes it");
    }
    Ok(())
}

/// Removes the alias and all that is ours.
pub(super) async fn remove_all(client: &Client, prefix: &str) -> Result<(), Fault> {
    if serving(client, prefix).await?.is_some() {
        client.write(|it| it.delete_alias(prefix)).await?;
    }
    for collection in client.read(|it| it.list_collections()).await?.collections {
        if number_of(prefix, &collection.name).is_some() {
            delete(client, &collection.name).await?;
        }
    }
    Ok(())
}

/// One operation of the server, also where the alias led elsewhere before.
async fn point_to(client: &Client, prefix: &str, collection: &str) -> Result<(), Fault> {
    let alias = CreateAlias { collection_name: collection.to_owned(), alias_name: prefix.to_owned() };
    match client.write(|it| it.create_alias(alias)).await {
        Err(fault) if fault.is_there_already() => Err(Fault::NameTaken(prefix.to_owned())),
        done => done.map(drop),
    }
}

#[expect(
    deprecated,
    reason = "servers before 1.18 know no other fields for where vectors are kept, and later ones still read these"
)]
async fn create(client: &Client, name: &str, spaces: &[SpaceSpec], settings: &QdrantSettings) -> Result<(), Fault> {
    let vector = |space: &SpaceSpec| {
        let on_disk = Some(settings.on_disk);
        let params = VectorParams {
            size: space.dimension as u64,
            distance: Distance::Cosine.into(),
            on_disk,
            ..VectorParams::default()
        };
        (space.name.clone(), params)
    };
    let map = VectorParamsMap { map: spaces.iter().map(vector).collect::<HashMap<_, _>>() };
    let hnsw =
        HnswConfigDiff { m: Some(settings.m), ef_construct: Some(settings.ef_construct), ..HnswConfigDiff::default() };
    // With vectors on disk the small ones stay in memory, which is the point of having both.
    let scalar = ScalarQuantization {
        r#type: QuantizationType::Int8.into(),
        quantile: Some(0.99),
        always_ram: Some(true),
        ..ScalarQuantization::default()
    };
    let quantized = (settings.quantization == Quantization::Scalar).then_some(Quantized::Scalar(scalar));
    let wanted = CreateCollection {
        collection_name: name.to_owned(),
        vectors_config: Some(VectorsConfig { config: Some(Config::ParamsMap(map)) }),
        hnsw_config: Some(hnsw),
        quantization_config: quantized.map(|it| QuantizationConfig { quantization: Some(it) }),
        shard_number: (settings.shards > 0).then_some(settings.shards),
        replication_factor: (settings.replicas > 0).then_some(settings.replicas),
        ..CreateCollection::default()
    };
    client.write(|it| it.create_collection(wanted)).await?;
    index_fields(client, name, |_| true).await
}

async fn index_fields(client: &Client, collection: &str, lacks: impl Fn(&str) -> bool) -> Result<(), Fault> {
    for index in mapping::field_indexes(collection).filter(|index| lacks(&index.field_name)) {
        client.write(|it| it.create_field_index(index)).await?;
    }
    Ok(())
}

async fn delete(client: &Client, collection: &str) -> Result<(), Fault> {
    match client.write(|it| it.delete_collection(collection)).await {
        Err(fault) if fault.is_not_found() => Ok(()),
        done => done.map(drop),
    }
}

/// The named spaces of a collection with their dimensions, in the order of their names; one that is compared otherwise than
/// by cosine is none of ours.
fn stored(info: &CollectionInfo) -> Vec<(String, u64)> {
    let params = info.config.as_ref().and_then(|config| config.params.as_ref());
    let vectors = params.and_then(|params| params.vectors_config.as_ref()).and_then(|vectors| vectors.config.as_ref());
    let Some(Config::ParamsMap(vectors)) = vectors else { return Vec::new() };
    let cosine = vectors.map.iter().filter(|(_, params)| params.distance() == Distance::Cosine);
    let mut spaces: Vec<_> = cosine.map(|(name, params)| (name.clone(), params.size)).collect();
    spaces.sort_unstable();
    spaces
}

fn wanted(spaces: &[SpaceSpec]) -> Vec<(String, u64)> {
    let mut spaces: Vec<_> = spaces.iter().map(|space| (space.name.clone(), space.dimension as u64)).collect();
    spaces.sort_unstable();
    spaces
}

fn name(prefix: &str, spaces: &[SpaceSpec], number: u64) -> String {
    let mut hash = Sha256::new();
    for (name, dimension) in wanted(spaces) {
        hash.update(format!("{name}\0{dimension}\n"));
    }
    format!("{prefix}-{}-{number}", hex::encode(&hash.finalize()[..4]))
}

/// The number in the name of one of our collections; `None` for those of others.
fn number_of(prefix: &str, name: &str) -> Option<u64> {
    let (hash, number) = name.strip_prefix(prefix)?.strip_prefix('-')?.split_once('-')?;
    let ours = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    number.parse().ok().filter(|_| ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(name: &str, dimension: usize) -> SpaceSpec {
        SpaceSpec { name: name.to_owned(), dimension }
    }

    #[test]
    fn a_name_is_of_the_spaces_in_whatever_order_and_is_known_again() {
        let one = name("memory", &[space("a", 3), space("b", 2)], 4);
        assert_eq!(one, name("memory", &[space("b", 2), space("a", 3)], 4));
        assert_ne!(one, name("memory", &[space("a", 3), space("b", 3)], 4));
        assert_eq!(number_of("memory", &one), Some(4));
        for other in ["memory", "memory-1", "memory-notes-1", "memory2-0a1b2c3d-1", "memory-0a1b2c3d-x"] {
            assert_eq!(number_of("memory", other), None, "{other}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (text, expected) in [
            ("1.9.7", Some((1, 9))),
            ("1.10.0", Some((1, 10))),
            ("v1.15.4-dev", Some((1, 15))),
            ("2.0.0", Some((2, 0))),
            ("unknown", None),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
        assert!((1, 9) < MIN_VERSION && MIN_VERSION <= (1, 10) && (2, 0) > MIN_VERSION);
    }
}
