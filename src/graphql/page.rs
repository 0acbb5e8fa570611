//! Pages as connections.

use async_graphql::{
    Context, Object, ObjectType, OutputType, Result, SimpleObject,
    connection::{
        Connection, ConnectionNameType, DefaultConnectionName, DefaultEdgeName, Edge, EdgeNameType, EmptyFields,
    },
};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    convert::reply,
    loader::{asking, service},
    names::EdgeKind,
    review::Proposal,
    types::{AuditEntry, Concept, Event, Memory, count},
    wiki::{self, Revision},
};
use crate::{
    domain,
    ports::{self, Group},
    read::{
        MemoryRecord,
        browse::{ListRequest, Page, PageRequest},
    },
    review::{PageRecord, ProposalRecord, ProposalsRequest, RevisionRecord},
};

pub(super) type MemoryConnection = Connection<String, Memory, Total>;
pub(super) type ConceptMemoryConnection = Connection<String, Memory, Total, Naming, ConceptMembers, ConceptMembers>;
pub(super) type ConceptConnection = Connection<String, Concept>;
pub(super) type EventConnection = Connection<String, Event>;
pub(super) type RowConnection = Connection<String, AuditEntry>;
pub(super) type PageConnection = Connection<String, wiki::Page>;
pub(super) type RevisionConnection = Connection<String, Revision>;
pub(super) type ProposalConnection = Connection<String, Proposal, Total>;

/// Names the connection of a concept's memories apart from the one of all.
pub(super) struct ConceptMembers;

impl ConnectionNameType for ConceptMembers {
    fn type_name<T: OutputType>() -> String {
        "ConceptMemoryConnection".to_owned()
    }
}

impl EdgeNameType for ConceptMembers {
    fn type_name<T: OutputType>() -> String {
        "ConceptMemoryEdge".to_owned()
    }
}

/// How a memory names a concept.
#[derive(SimpleObject)]
pub(super) struct Naming {
    /// ABOUT or MENTIONS.
    pub naming: EdgeKind,
}

/// Of what a total is; it is counted only when asked for.
pub(super) enum Total {
    Known(i64),
    Listed(ListRequest),
    Members(Group),
    Proposals(ProposalsRequest),
}

/// How many there are in all.
#[Object]
impl Total {
    /// Visible records in all pages together.
    async fn total_count(&self, ctx: &Context<'_>) -> Result<i64> {
        match self {
            Self::Known(total) => Ok(*total),
            Self::Listed(request) => Ok(count(service(ctx)?.list_total(&asking(ctx)?.caller, request).await?)),
            Self::Members(group) => {
                let summary = asking(ctx)?.loader.load_one(group.clone()).await?;
                Ok(summary.map_or(0, |summary| count(summary.memories)))
            }
            Self::Proposals(request) => Ok(count(service(ctx)?.proposals_total(&asking(ctx)?.caller, request).await?)),
        }
    }
}

pub(super) fn page(first: Option<i64>, after: Option<String>) -> PageRequest {
    PageRequest { first, after }
}

/// A connection with a total and edges that say more.
pub(super) fn connection<T>(
    page: Page<T>,
    total: Total,
    node: impl Fn(T) -> Result<(Memory, Naming)>,
) -> Result<ConceptMemoryConnection> {
    let mut connection = Connection::with_additional_fields(false, page.more, total);
    for (cursor, item) in page.items {
        let (node, fields) = node(item)?;
        connection.edges.push(Edge::with_additional_fields(cursor, node, fields));
    }
    Ok(connection)
}

pub(super) fn memories(page: Page<MemoryRecord>, total: Total) -> Result<MemoryConnection> {
    replied(page, total)
}

pub(super) fn pages(page: Page<PageRecord>) -> Result<PageConnection> {
    replied(page, EmptyFields)
}

pub(super) fn revisions(page: Page<RevisionRecord>) -> Result<RevisionConnection> {
    replied(page, EmptyFields)
}

pub(super) fn proposals(page: Page<ProposalRecord>, total: Total) -> Result<ProposalConnection> {
    replied(page, total)
}

/// Of records that the façade replies with.
fn replied<U, F>(page: Page<impl Serialize>, fields: F) -> Result<Connection<String, U, F>>
where
    U: OutputType + DeserializeOwned,
    F: ObjectType,
{
    let mut connection = Connection::with_additional_fields(false, page.more, fields);
    for (cursor, record) in page.items {
        connection.edges.push(Edge::new(cursor, reply(&record)?));
    }
    Ok(connection)
}

pub(super) fn events(page: Page<domain::Event>) -> Result<EventConnection> {
    plain(page)
}

pub(super) fn concepts(page: Page<ports::ConceptUse>) -> Result<ConceptConnection> {
    plain(page)
}

pub(super) fn rows(page: Page<ports::AuditRow>) -> Result<RowConnection> {
    plain(page)
}

fn plain<T, U>(
    page: Page<T>,
) -> Result<Connection<String, U, EmptyFields, EmptyFields, DefaultConnectionName, DefaultEdgeName>>
where
    U: OutputType + TryFrom<T, Error = crate::error::Error>,
{
    let mut connection = Connection::new(false, page.more);
    for (cursor, item) in page.items {
        connection.edges.push(Edge::new(cursor, U::try_from(item)?));
    }
    Ok(connection)
}
