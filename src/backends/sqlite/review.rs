//! Pages, revisions and proposals: the rows of `record`, and the `ReviewStore` port over them.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params, params};
use uuid::Uuid;

use super::{
    SqliteStore,
    apply::scope_id,
    error::SqliteError,
    read::{limited, size},
    rows::{Params, Scopes, Seen, alternatives, bind, integer, named, texts, timestamp, uuid, visible},
};
use crate::{
    domain::{Page, PageId, Proposal, ProposalId, ProposalState, Record, RecordKind, Revision, Visibility},
    ports::{DecidedRow, PageQuery, PortError, ProposalChange, QueueQuery, ReviewStore, Tally},
};

const PUT: &str = "
    INSERT INTO record (id, kind, scope, version, state, class, of, number, at, slug, author, run, claimed_by,
        claimed_until, decided_at, flagged, body, text)
    VALUES (:id, :kind, :scope, :version, :state, :class, :of, :number, :at, :slug, :author, :run, :claimed_by,
        :claimed_until, :decided_at, :flagged, :body, :text)
    ON CONFLICT (id) DO UPDATE SET scope = :scope, version = :version, state = :state, class = :class, of = :of,
        number = :number, at = :at, slug = :slug, author = :author, run = :run, claimed_by = :claimed_by,
        claimed_until = :claimed_until, decided_at = :decided_at, flagged = :flagged, body = :body,
        text = ifnull(:text, text)
    RETURNING rowid";

/// Writes a record in place of the version expected. `seq` is the change it belongs to.
pub(super) fn put(
    transaction: &Transaction<'_>,
    seq: i64,
    record: &Record,
    text: Option<&str>,
    expected: u64,
) -> Result<(), SqliteError> {
    let stored: Option<i64> = transaction
        .prepare_cached("SELECT version FROM record WHERE id = ?1")?
        .query_row([record.id().as_bytes()], |row| row.get(0))
        .optional()?;
    if stored.unwrap_or(0) != integer(expected) {
        return Err(SqliteError::Conflict("record"));
    }
    write(transaction, record, text)?;
    if let Record::Proposal(proposal) = record {
        let decided = DecidedRow {
            proposal: proposal.id,
            kind: proposal.subject.kind(),
            state: proposal.state,
            author: proposal.author.clone(),
            scope: proposal.scope.clone(),
        };
        add_decided(transaction, seq, &decided)?;
    }
    Ok(())
}

/// Adds a record of another store; one that is there already is a conflict.
pub(super) fn add(transaction: &Transaction<'_>, record: &Record, text: Option<&str>) -> Result<(), SqliteError> {
    if transaction.prepare_cached("SELECT 1 FROM record WHERE id = ?1")?.exists([record.id().as_bytes()])? {
        return Err(SqliteError::Conflict("record"));
    }
    write(transaction, record, text)
}

/// What a change did to proposals, by id.
pub(super) fn decided(
    connection: &Connection,
    seq: i64,
    scopes: &mut Scopes<'_>,
) -> Result<Vec<DecidedRow>, SqliteError> {
    connection
        .prepare_cached(
            "SELECT proposal, kind, state, author, scope FROM change_proposal WHERE seq = ?1 ORDER BY proposal",
        )?
        .query_and_then([seq], |row| {
            Ok(DecidedRow {
                proposal: ProposalId(uuid(row, 0)?),
                kind: named(row, 1)?,
                state: named(row, 2)?,
                author: row.get(3)?,
                scope: scopes.get(row.get(4)?)?.clone(),
            })
        })?
        .collect()
}

/// Notes what change `seq` did to a proposal; of two notes of one change the later stands.
pub(super) fn add_decided(transaction: &Transaction<'_>, seq: i64, row: &DecidedRow) -> Result<(), SqliteError> {
    transaction
        .prepare_cached(
            "INSERT INTO change_proposal (seq, proposal, kind, state, author, scope) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state",
        )?
        .execute(params![
            seq,
            row.proposal.0.as_bytes(),
            row.kind.name(),
            row.state.name(),
            row.author,
            scope_id(transaction, &row.scope)?
        ])?;
    Ok(())
}

/// Writes the row of a record with its names and references.
pub(super) fn write(transaction: &Transaction<'_>, record: &Record, text: Option<&str>) -> Result<(), SqliteError> {
    let keys = record.keys();
    let scope = scope_id(transaction, record.scope())?;
    let (claimed_by, claimed_until) = keys.claim.unzip();
    let rowid: i64 = transaction.prepare_cached(PUT)?.query_row(
        named_params! {
            ":id": record.id().as_bytes(),
            ":kind": record.kind().name(),
            ":scope": scope,
            ":version": integer(record.version()),
            ":state": keys.state,
            ":class": keys.class,
            ":of": keys.of.map(Uuid::into_bytes),
            ":number": integer(keys.number),
            ":at": keys.at.as_microsecond(),
            ":slug": keys.slug,
            ":author": keys.author,
            ":run": keys.run,
            ":claimed_by": claimed_by,
            ":claimed_until": claimed_until.map(Timestamp::as_microsecond),
            ":decided_at": keys.decided_at.map(Timestamp::as_microsecond),
            ":flagged": keys.flagged,
            ":body": record.body().map_err(|_| SqliteError::Unwritable("record"))?,
            ":text": text,
        },
        |row| row.get(0),
    )?;
    transaction.prepare_cached("DELETE FROM record_name WHERE record = ?1")?.execute([rowid])?;
    transaction.prepare_cached("DELETE FROM record_ref WHERE record = ?1")?.execute([rowid])?;
    let mut name = transaction.prepare_cached("INSERT INTO record_name (name, scope, record) VALUES (?1, ?2, ?3)")?;
    for taken in keys.names {
        name.execute(params![taken, scope, rowid])?;
    }
    let mut target =
        transaction.prepare_cached("INSERT INTO record_ref (target, record) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for pointed in keys.refs {
        target.execute(params![pointed, rowid])?;
    }
    Ok(())
}

#[async_trait]
impl ReviewStore for SqliteStore {
    async fn records(&self, ids: &[Uuid], visibility: &Visibility) -> Result<Vec<Record>, PortError> {
        let (ids, visibility) = (ids.to_vec(), visibility.clone());
        self.read("records", move |connection| records(connection, &ids, &visibility)).await
    }

    async fn text(&self, id: Uuid, visibility: &Visibility) -> Result<Option<String>, PortError> {
        let visibility = visibility.clone();
        self.read("text", move |connection| text(connection, id, &visibility)).await
    }

    async fn pages_named(&self, names: &[String], visibility: &Visibility) -> Result<Vec<Page>, PortError> {
        let (names, visibility) = (names.to_vec(), visibility.clone());
        self.read("pages_named", move |connection| pages_named(connection, &names, &visibility)).await
    }

    async fn pages(
        &self,
        query: &PageQuery,
        after: Option<(String, PageId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Page>, PortError> {
        let (query, visibility) = (query.clone(), visibility.clone());
        self.read("pages", move |connection| pages(connection, &query, after, limit, &visibility)).await
    }

    async fn history(
        &self,
        page: PageId,
        before: Option<u64>,
        until: Option<Timestamp>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Revision>, PortError> {
        let visibility = visibility.clone();
        self.read("history", move |connection| history(connection, page, before, until, limit, &visibility)).await
    }

    async fn queue(
        &self,
        query: &QueueQuery,
        after: Option<(Timestamp, ProposalId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Proposal>, PortError> {
        let (query, visibility) = (query.clone(), visibility.clone());
        self.read("queue", move |connection| queue(connection, &query, after, limit, &visibility)).await
    }

    async fn queue_total(&self, query: &QueueQuery, visibility: &Visibility) -> Result<usize, PortError> {
        let (query, visibility) = (query.clone(), visibility.clone());
        self.read("queue_total", move |connection| queue_total(connection, &query, &visibility)).await
    }

    async fn tallies(&self, visibility: &Visibility) -> Result<Vec<Tally>, PortError> {
        let visibility = visibility.clone();
        self.read("tallies", move |connection| tallies(connection, &visibility)).await
    }

    async fn waiting(&self, limit: usize, visibility: &Visibility) -> Result<Vec<Timestamp>, PortError> {
        let visibility = visibility.clone();
        self.read("waiting", move |connection| waiting(connection, limit, &visibility)).await
    }

    async fn proposal_changes(
        &self,
        after: u64,
        limit: usize,
        author: Option<&str>,
        visibility: &Visibility,
    ) -> Result<Vec<ProposalChange>, PortError> {
        let (author, visibility) = (author.map(str::to_owned), visibility.clone());
        self.read("proposal_changes", move |connection| {
            proposal_changes(connection, after, limit, author.as_deref(), &visibility)
        })
        .await
    }
}

/// A record from its kind and body.
pub(super) fn record(kind: RecordKind, body: &str) -> Result<Record, SqliteError> {
    Record::parse(kind, body).map_err(|_| SqliteError::Unreadable("record"))
}

fn page(row: &Row<'_>) -> Result<Page, SqliteError> {
    serde_json::from_str(body(row)?).map_err(|_| SqliteError::Unreadable("page"))
}

fn proposal(row: &Row<'_>) -> Result<Proposal, SqliteError> {
    serde_json::from_str(body(row)?).map_err(|_| SqliteError::Unreadable("proposal"))
}

fn body<'a>(row: &'a Row<'_>) -> Result<&'a str, SqliteError> {
    row.get_ref(0)?.as_str().map_err(|_| SqliteError::Unreadable("record"))
}

fn records(connection: &Connection, ids: &[Uuid], visibility: &Visibility) -> Result<Vec<Record>, SqliteError> {
    let mut statement =
        connection.prepare_cached(concat!("SELECT body, kind FROM record WHERE id = :id AND ", visible!("scope")))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    let mut found = Vec::new();
    for id in ids {
        bind(&mut statement, &vec![(":id", id.as_bytes())])?;
        let mut rows = statement.raw_query();
        if let Some(row) = rows.next()? {
            found.push(record(named(row, 1)?, body(row)?)?);
        }
    }
    Ok(found)
}

fn text(connection: &Connection, id: Uuid, visibility: &Visibility) -> Result<Option<String>, SqliteError> {
    let mut statement =
        connection.prepare_cached(concat!("SELECT text FROM record WHERE id = :id AND ", visible!("scope")))?;
    let seen = Seen::of(connection, visibility)?;
    let mut params = seen.params();
    params.push((":id", id.as_bytes()));
    Ok(statement.query_row(&*params, |row| row.get::<_, Option<String>>(0)).optional()?.flatten())
}

fn pages_named(connection: &Connection, names: &[String], visibility: &Visibility) -> Result<Vec<Page>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT DISTINCT r.body FROM record_name n JOIN record r ON r.rowid = n.record
         WHERE n.name IN (SELECT value FROM rarray(:names)) AND ",
        visible!("r.scope")
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":names", &texts(names))])?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(page(row)?);
    }
    Ok(found)
}

/// Whether a page is listed, and the order of lists.
macro_rules! listed {
    () => {
        concat!(
            "r.kind = 'page' AND r.slug >= :slug AND (r.slug > :slug OR r.id > :after)
             AND substr(r.slug, 1, length(:prefix)) = :prefix AND r.state = :state AND ",
            visible!("r.scope"),
            " ORDER BY r.slug, r.id LIMIT :limit"
        )
    };
}

fn pages(
    connection: &Connection,
    query: &PageQuery,
    after: Option<(String, PageId)>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Page>, SqliteError> {
    // By what points there, or by slug: each from its index.
    let mut statement = connection.prepare_cached(match query.refers_to {
        Some(_) => concat!(
            "SELECT r.body FROM record_ref f CROSS JOIN record r ON r.rowid = f.record WHERE f.target = :target AND ",
            listed!()
        ),
        None => concat!("SELECT r.body FROM record r WHERE ", listed!()),
    })?;
    let (slug, after) = after.map_or((query.prefix.clone(), Vec::new()), |(slug, id)| {
        if slug < query.prefix { (query.prefix.clone(), Vec::new()) } else { (slug, id.0.into_bytes().to_vec()) }
    });
    let state = if query.deleted { "deleted" } else { "live" };
    let limit = limited(limit);
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(
        &mut statement,
        &vec![
            (":slug", &slug),
            (":after", &after),
            (":prefix", &query.prefix),
            (":state", &state),
            (":target", &query.refers_to),
            (":limit", &limit),
        ],
    )?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(page(row)?);
    }
    Ok(found)
}

fn history(
    connection: &Connection,
    page: PageId,
    before: Option<u64>,
    until: Option<Timestamp>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Revision>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT body FROM record WHERE kind = 'revision' AND of = :page AND number < :before AND at <= :until AND ",
        visible!("scope"),
        " ORDER BY number DESC LIMIT :limit"
    ))?;
    let (page, before) = (page.0.into_bytes(), before.map_or(i64::MAX, integer));
    let (until, limit) = (until.map_or(i64::MAX, Timestamp::as_microsecond), limited(limit));
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":page", &page), (":before", &before), (":until", &until), (":limit", &limit)])?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(serde_json::from_str(body(row)?).map_err(|_| SqliteError::Unreadable("revision"))?);
    }
    Ok(found)
}

/// A statement over proposals that meet the conditions of [`Queued`], in four forms: each begins with what has an index of its
/// own, and the narrowest that is asked for is taken.
macro_rules! queued {
    ($query:expr, $select:literal, $rest:literal) => {
        match $query {
            QueueQuery { of: Some(_), .. } => queued!(@ $select, "of = :of AND state = :state", $rest),
            QueueQuery { run: Some(_), .. } => queued!(@ $select, "run = :run AND state = :state", $rest),
            QueueQuery { author: Some(_), .. } => queued!(@ $select, "author = :author AND state = :state", $rest),
            _ => queued!(@ $select, "state = :state", $rest),
        }
    };
    (@ $select:literal, $first:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM record WHERE kind = 'proposal' AND ",
            $first,
            " AND (:classes IS NULL OR class IN (SELECT value FROM json_each(:classes)))
              AND (:of IS NULL OR of = :of) AND (:author IS NULL OR author = :author) AND (:run IS NULL OR run = :run)
              AND (:held_by IS NULL OR (claimed_by = :held_by AND claimed_until > :held_at))
              AND (:free_at IS NULL OR claimed_until IS NULL OR claimed_until <= :free_at)
              AND (:flagged IS NULL OR flagged = :flagged) AND ",
            visible!("scope"),
            $rest
        )
    };
}

/// A [`QueueQuery`] in the form in which `queued!` binds it.
struct Queued {
    classes: Option<String>,
    of: Option<[u8; 16]>,
    author: Option<String>,
    run: Option<String>,
    held_by: Option<String>,
    held_at: Option<i64>,
    free_at: Option<i64>,
    flagged: Option<bool>,
}

impl Queued {
    fn of(query: &QueueQuery) -> Self {
        let (held_by, held_at) = query.held_by.clone().unzip();
        Self {
            classes: alternatives(query.kinds.iter().map(|kind| kind.name())),
            of: query.of.map(Uuid::into_bytes),
            author: query.author.clone(),
            run: query.run.clone(),
            held_by,
            held_at: held_at.map(Timestamp::as_microsecond),
            free_at: query.free_at.map(Timestamp::as_microsecond),
            flagged: query.flagged,
        }
    }

    fn params(&self) -> Params<'_> {
        vec![
            (":classes", &self.classes),
            (":of", &self.of),
            (":author", &self.author),
            (":run", &self.run),
            (":held_by", &self.held_by),
            (":held_at", &self.held_at),
            (":free_at", &self.free_at),
            (":flagged", &self.flagged),
        ]
    }
}

fn states(query: &QueueQuery) -> &[ProposalState] {
    if query.states.is_empty() { ProposalState::ALL } else { &query.states }
}

fn queue(
    connection: &Connection,
    query: &QueueQuery,
    after: Option<(Timestamp, ProposalId)>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Proposal>, SqliteError> {
    // State by state, so that each is read from an index and no further than the limit.
    let mut statement = connection.prepare_cached(queued!(
        query,
        "body, at, id",
        " AND at >= :at AND (at > :at OR id > :after) ORDER BY at, id LIMIT :limit"
    ))?;
    let (at, after) =
        after.map_or((i64::MIN, Vec::new()), |(at, id)| (at.as_microsecond(), id.0.into_bytes().to_vec()));
    let limit_bound = limited(limit);
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &Queued::of(query).params())?;
    bind(&mut statement, &vec![(":at", &at), (":after", &after), (":limit", &limit_bound)])?;
    let mut found: Vec<(i64, Uuid, Proposal)> = Vec::new();
    for state in states(query) {
        bind(&mut statement, &vec![(":state", &state.name())])?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            found.push((row.get(1)?, uuid(row, 2)?, proposal(row)?));
        }
    }
    found.sort_by_key(|(at, id, _)| (*at, *id));
    found.truncate(limit);
    Ok(found.into_iter().map(|(.., proposal)| proposal).collect())
}

fn queue_total(connection: &Connection, query: &QueueQuery, visibility: &Visibility) -> Result<usize, SqliteError> {
    let mut statement = connection.prepare_cached(queued!(query, "count(*)", ""))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &Queued::of(query).params())?;
    let mut total = 0;
    for state in states(query) {
        bind(&mut statement, &vec![(":state", &state.name())])?;
        let mut rows = statement.raw_query();
        let row = rows.next()?.ok_or(SqliteError::Unreadable("count"))?;
        total += row.get::<_, i64>(0)?;
    }
    Ok(size(total))
}

fn tallies(connection: &Connection, visibility: &Visibility) -> Result<Vec<Tally>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT author, state, count(*), count(decided_at), ifnull(sum(decided_at - at), 0) / 1e6 FROM record
         WHERE kind = 'proposal' AND ",
        visible!("scope"),
        " GROUP BY author, state"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Tally {
            author: row.get(0)?,
            state: named(row, 1)?,
            count: size(row.get(2)?),
            decided: size(row.get(3)?),
            decision_secs: row.get(4)?,
        });
    }
    Ok(found)
}

fn waiting(connection: &Connection, limit: usize, visibility: &Visibility) -> Result<Vec<Timestamp>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT at FROM record WHERE kind = 'proposal' AND state = 'pending' AND ",
        visible!("scope"),
        " ORDER BY at, id LIMIT :limit"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":limit", &limited(limit))])?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(timestamp(row.get(0)?)?);
    }
    Ok(found)
}

fn proposal_changes(
    connection: &Connection,
    after: u64,
    limit: usize,
    author: Option<&str>,
    visibility: &Visibility,
) -> Result<Vec<ProposalChange>, SqliteError> {
    let seen = Seen::of(connection, visibility)?;
    let mut last = connection.prepare_cached(concat!(
        "SELECT seq FROM change_proposal WHERE seq > :after AND (:author IS NULL OR author = :author) AND ",
        visible!("scope"),
        " ORDER BY seq LIMIT 1 OFFSET :limit"
    ))?;
    let (after, beyond) = (integer(after), limited(limit.saturating_sub(1)));
    let mut params = seen.params();
    params.extend::<Params<'_>>(vec![(":after", &after), (":author", &author), (":limit", &beyond)]);
    let last: i64 = last.query_row(&*params, |row| row.get(0)).optional()?.unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(concat!(
        "SELECT p.seq, c.at, c.actor, c.use_case, p.proposal, p.kind, p.state
         FROM change_proposal p JOIN change c ON c.seq = p.seq
         WHERE p.seq > :after AND p.seq <= :last AND (:author IS NULL OR p.author = :author) AND ",
        visible!("p.scope"),
        " ORDER BY p.seq, p.proposal"
    ))?;
    bind(&mut statement, &seen.params())?;
    bind(&mut statement, &vec![(":after", &after), (":author", &author), (":last", &last)])?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(ProposalChange {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            at: timestamp(row.get(1)?)?,
            actor: row.get(2)?,
            use_case: row.get(3)?,
            proposal: ProposalId(uuid(row, 4)?),
            kind: named(row, 5)?,
            state: named(row, 6)?,
        });
    }
    Ok(found)
}
