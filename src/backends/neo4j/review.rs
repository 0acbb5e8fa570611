//! The `ReviewStore` port: pages, revisions and proposals are nodes `Record`, found by their names and keys.

use async_trait::async_trait;
use jiff::Timestamp;
use neo4rs::{BoltType, Query};
use serde::{Deserialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    Neo4jStore,
    ask::{alternatives, ask, ask_for, ask_some},
    connection::Connection,
    error::Neo4jError,
    graph_store::named as operation,
    rows::{ids, integer, limited, map, named, optional_time, size, texts, timestamp, uuid},
    statements::{
        HISTORY, PAGES, PAGES_NAMED, PAGES_POINTING, PROPOSAL_CHANGES, QUEUE, QUEUE_TOTAL, QUEUE_TOTAL_WITHIN,
        QUEUE_WITHIN, RECORDS, TALLIES, TEXT, WAITING,
    },
};
use crate::{
    domain::{Page, PageId, Proposal, ProposalId, ProposalState, Record, Revision, Visibility},
    ports::{PageQuery, PortError, ProposalChange, QueueQuery, ReviewStore, Tally},
};

/// A record as statements return it.
#[derive(Deserialize)]
struct BodyRow {
    body: String,
}

/// The records of a statement that gives their bodies.
async fn bodies<T: DeserializeOwned>(connection: &Connection, query: Query) -> Result<Vec<T>, Neo4jError> {
    let rows: Vec<BodyRow> = connection.read(query).await?;
    rows.iter().map(|row| serde_json::from_str(&row.body).map_err(|_| Neo4jError::Unreadable("record"))).collect()
}

#[async_trait]
impl ReviewStore for Neo4jStore {
    async fn records(&self, ids_asked: &[Uuid], visibility: &Visibility) -> Result<Vec<Record>, PortError> {
        #[derive(Deserialize)]
        struct Row {
            kind: String,
            body: String,
        }
        operation("records", async {
            let query = ask_for(&RECORDS, visibility, "ids", ids(ids_asked.iter().copied()));
            let rows: Vec<Row> = self.connection.read(query).await?;
            let record =
                |row: Row| Record::parse(named(&row.kind)?, &row.body).map_err(|_| Neo4jError::Unreadable("record"));
            rows.into_iter().map(record).collect()
        })
        .await
    }

    async fn text(&self, id: Uuid, visibility: &Visibility) -> Result<Option<String>, PortError> {
        #[derive(Deserialize)]
        struct Row {
            text: Option<String>,
        }
        operation("text", async {
            let query = ask(&TEXT, visibility).param("id", id.to_string());
            let rows: Vec<Row> = self.connection.read(query).await?;
            Ok(rows.into_iter().next().and_then(|row| row.text))
        })
        .await
    }

    async fn pages_named(&self, names: &[String], visibility: &Visibility) -> Result<Vec<Page>, PortError> {
        let query = ask_for(&PAGES_NAMED, visibility, "names", texts(names.iter().cloned()));
        operation("pages_named", bodies(&self.connection, query)).await
    }

    async fn pages(
        &self,
        query: &PageQuery,
        after: Option<(String, PageId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Page>, PortError> {
        let (slug, after) = after
            .filter(|(slug, _)| *slug >= query.prefix)
            .map_or((query.prefix.clone(), String::new()), |(slug, id)| (slug, id.0.to_string()));
        let statement = if query.refers_to.is_some() { &PAGES_POINTING } else { &PAGES };
        let mut asked = ask_some(statement, visibility, limit)
            .param("state", if query.deleted { "deleted" } else { "live" })
            .param("prefix", query.prefix.as_str())
            .param("slug", slug)
            .param("after", after);
        if let Some(target) = &query.refers_to {
            asked = asked.param("target", target.as_str());
        }
        operation("pages", bodies(&self.connection, asked)).await
    }

    async fn history(
        &self,
        page: PageId,
        before: Option<u64>,
        until: Option<Timestamp>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Revision>, PortError> {
        let query = ask_some(&HISTORY, visibility, limit)
            .param("page", page.0.to_string())
            .param("before", before.map_or(i64::MAX, integer))
            .param("until", until.map_or(i64::MAX, Timestamp::as_microsecond));
        operation("history", bodies(&self.connection, query)).await
    }

    async fn queue(
        &self,
        query: &QueueQuery,
        after: Option<(Timestamp, ProposalId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Proposal>, PortError> {
        let (at, after) = after.map_or((i64::MIN, String::new()), |(at, id)| (at.as_microsecond(), id.0.to_string()));
        let target = target(query);
        let asked = ask_some(if target.is_some() { &QUEUE_WITHIN } else { &QUEUE }, visibility, limit)
            .param("queue", conditions(query))
            .param("at", at)
            .param("after", after);
        operation("queue", bodies(&self.connection, within(asked, target))).await
    }

    async fn queue_total(&self, query: &QueueQuery, visibility: &Visibility) -> Result<usize, PortError> {
        #[derive(Deserialize)]
        struct Row {
            total: i64,
        }
        let target = target(query);
        let statement = if target.is_some() { &QUEUE_TOTAL_WITHIN } else { &QUEUE_TOTAL };
        let asked = ask(statement, visibility).param("queue", conditions(query));
        operation("queue_total", async {
            let rows: Vec<Row> = self.connection.read(within(asked, target)).await?;
            Ok(rows.first().map_or(0, |row| size(row.total)))
        })
        .await
    }

    async fn tallies(&self, visibility: &Visibility) -> Result<Vec<Tally>, PortError> {
        #[derive(Deserialize)]
        struct Row {
            author: String,
            state: String,
            total: i64,
            decided: i64,
            micros: i64,
        }
        let states = texts(ProposalState::ALL.iter().map(|state| state.name()));
        operation("tallies", async {
            let rows: Vec<Row> = self.connection.read(ask_for(&TALLIES, visibility, "states", states)).await?;
            let tally = |row: Row| {
                Ok(Tally {
                    author: row.author,
                    state: named(&row.state)?,
                    count: size(row.total),
                    decided: size(row.decided),
                    #[expect(clippy::cast_precision_loss, reason = "a sum of durations, for an average")]
                    decision_secs: row.micros as f64 / 1e6,
                })
            };
            rows.into_iter().map(tally).collect()
        })
        .await
    }

    async fn waiting(&self, limit: usize, visibility: &Visibility) -> Result<Vec<Timestamp>, PortError> {
        #[derive(Deserialize)]
        struct Row {
            at: i64,
        }
        let query = ask_some(&WAITING, visibility, limit).param("state", ProposalState::Pending.name());
        operation("waiting", async {
            let rows: Vec<Row> = self.connection.read(query).await?;
            rows.into_iter().map(|row| timestamp(row.at)).collect()
        })
        .await
    }

    async fn proposal_changes(
        &self,
        after: u64,
        limit: usize,
        author: Option<&str>,
        visibility: &Visibility,
    ) -> Result<Vec<ProposalChange>, PortError> {
        #[derive(Deserialize)]
        struct Row {
            seq: i64,
            at: i64,
            actor: String,
            use_case: String,
            proposal: String,
            kind: String,
            state: String,
        }
        let author = author.map(str::to_owned).into();
        let query = ask_for(&PROPOSAL_CHANGES, visibility, "author", author)
            .param("after", integer(after))
            .param("beyond", limited(limit.saturating_sub(1)))
            .param("most", i64::MAX);
        operation("proposal_changes", async {
            let rows: Vec<Row> = self.connection.read(query).await?;
            let change = |row: Row| {
                Ok(ProposalChange {
                    seq: row.seq.cast_unsigned(),
                    at: timestamp(row.at)?,
                    actor: row.actor,
                    use_case: row.use_case,
                    proposal: ProposalId(uuid(&row.proposal)?),
                    kind: named(&row.kind)?,
                    state: named(&row.state)?,
                })
            };
            rows.into_iter().map(change).collect()
        })
        .await
    }
}

/// The key that leads to the fewest proposals, if the conditions name one.
fn target(query: &QueueQuery) -> Option<String> {
    let of = query.of.map(|of| format!("of:{of}"));
    let run = || query.run.as_ref().map(|run| format!("run:{run}"));
    of.or_else(run).or_else(|| query.author.as_ref().map(|author| format!("author:{author}")))
}

fn within(query: Query, target: Option<String>) -> Query {
    match target {
        Some(target) => query.param("target", target),
        None => query,
    }
}

fn conditions(query: &QueueQuery) -> BoltType {
    let states = if query.states.is_empty() { ProposalState::ALL } else { &query.states };
    let (held_by, held_at) = query.held_by.clone().unzip();
    map([
        ("states", texts(states.iter().map(|state| state.name()))),
        ("kinds", alternatives(query.kinds.iter().map(|kind| kind.name()))),
        ("of", query.of.map(|of| of.to_string()).into()),
        ("author", query.author.clone().into()),
        ("run", query.run.clone().into()),
        ("held_by", held_by.into()),
        ("held_at", optional_time(held_at)),
        ("free_at", optional_time(query.free_at)),
        ("flagged", query.flagged.into()),
    ])
}
