//! Between the types of the schema and the requests and replies of the façade: by field name, in this one place.
//!
//! Both sides name their fields alike in snake_case; a field that only one side has fails the tests below or the request
//! itself. Ids are global in the schema (base64 of `Type:uuid`) and plain in the façade.

use async_graphql::ID;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;
use uuid::Uuid;

use crate::error::{Error, ErrorCode};

/// What a global id is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeType {
    Memory,
    Concept,
    Event,
    Session,
    Task,
    Page,
    Proposal,
}

impl NodeType {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Memory, "Memory"),
        (Self::Concept, "Concept"),
        (Self::Event, "Event"),
        (Self::Session, "Session"),
        (Self::Task, "Task"),
        (Self::Page, "Page"),
        (Self::Proposal, "Proposal"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(node, _)| *node == self).expect("every type has its name").1
    }
}

/// The global id of a record.
pub(super) fn global(node: NodeType, key: impl std::fmt::Display) -> ID {
    ID(STANDARD.encode(format!("{}:{key}", node.name())))
}

/// The global id of a memory or a concept, as paths and edges name both. Ids of concepts are made from their names
/// (UUIDv5), all others from the time.
pub(super) fn global_of(id: Uuid) -> ID {
    let node = if id.get_version_num() == 5 { NodeType::Concept } else { NodeType::Memory };
    global(node, id)
}

/// What a global id stands for; `None` if it is not one of ours.
pub(super) fn parts(id: &str) -> Option<(NodeType, String)> {
    let text = String::from_utf8(STANDARD.decode(id).ok()?).ok()?;
    let (name, key) = text.split_once(':')?;
    let (node, _) = NodeType::ALL.into_iter().find(|(_, known)| *known == name)?;
    Some((node, key.to_owned()))
}

/// The plain id of a record of this type. What is no global id of it passes as it is: it may be plain already, and if not,
/// the use case says which field is wrong.
pub(super) fn plain(node: NodeType, id: &str) -> String {
    match parts(id) {
        Some((found, key)) if found == node => key,
        _ => id.to_owned(),
    }
}

/// A request of the façade from an input of the schema. Null is the same as absent.
pub(super) fn request<T: DeserializeOwned>(input: &impl Serialize) -> Result<T, Error> {
    let mut value = serde_json::to_value(input).map_err(|_| fault())?;
    drop_nulls(&mut value);
    crate::input::read_json(value)
}

/// A type of the schema from a reply of the façade. By way of text, so that a score of 0.8 stays 0.8 and does not become
/// the nearest double of its float.
pub(super) fn reply<T: DeserializeOwned>(reply: &impl Serialize) -> Result<T, Error> {
    let text = serde_json::to_string(reply).map_err(|_| fault())?;
    serde_json::from_str(&text).map_err(|error| {
        tracing::error!(%error, "a reply does not fit the schema");
        fault()
    })
}

/// A value of a closed list from its name in the façade.
pub(super) fn named<T: DeserializeOwned>(name: &str) -> Result<T, Error> {
    reply(&name)
}

fn fault() -> Error {
    Error::new(ErrorCode::Internal, "internal fault")
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

pub(super) fn plain_id<S: Serializer>(id: &ID, serializer: S) -> Result<S::Ok, S::Error> {
    plain(NodeType::Memory, id).serialize(serializer)
}

pub(super) fn plain_ids<S: Serializer>(ids: &Option<Vec<ID>>, serializer: S) -> Result<S::Ok, S::Error> {
    let ids: Option<Vec<String>> = ids.as_ref().map(|ids| ids.iter().map(|id| plain(NodeType::Memory, id)).collect());
    ids.serialize(serializer)
}

pub(super) fn plain_optional_id<S: Serializer>(id: &Option<ID>, serializer: S) -> Result<S::Ok, S::Error> {
    id.as_ref().map(|id| plain(NodeType::Memory, id)).serialize(serializer)
}

pub(super) fn plain_proposal<S: Serializer>(id: &ID, serializer: S) -> Result<S::Ok, S::Error> {
    plain(NodeType::Proposal, id).serialize(serializer)
}

pub(super) fn plain_optional_proposal<S: Serializer>(id: &Option<ID>, serializer: S) -> Result<S::Ok, S::Error> {
    id.as_ref().map(|id| plain(NodeType::Proposal, id)).serialize(serializer)
}

pub(super) fn memory_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ID, D::Error> {
    Ok(global(NodeType::Memory, String::deserialize(deserializer)?))
}

pub(super) fn memory_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ID>, D::Error> {
    let ids = Vec::<String>::deserialize(deserializer)?;
    Ok(ids.into_iter().map(|id| global(NodeType::Memory, id)).collect())
}

pub(super) fn node_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ID, D::Error> {
    Ok(global_of(Uuid::deserialize(deserializer)?))
}

/// `expected_revision` as the schema spells it.
pub(super) fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.extend(letters);
        name
    })
}
