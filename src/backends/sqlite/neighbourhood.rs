//! The walk over the graph: breadth first, bounded, and blind to what the reader may not see.
//!
//! A level is expanded in the order in which one would cut it: turns of the seeds' sessions, edges between memories, then
//! shared concepts, the rarest first. Reading stops as soon as the walk is full.

use std::{
    collections::{HashMap, HashSet},
    iter,
};

use rusqlite::{CachedStatement, Connection, Row};
use uuid::Uuid;

use super::{
    error::SqliteError,
    read::{concept, mentions_then, size},
    rows::{self, Conditions, Scopes, Seen, bind, edge, held, matching, retired_since, then_matching, visible},
};
use crate::{
    domain::{Direction, Edge, EdgeKind, MemoryId, Visibility},
    ports::{ConceptUse, Neighbourhood, NeighbourhoodQuery, NodeRef},
};

/// Edges followed from one memory in one direction, and memories reached over one concept. A hub costs no more.
const FAN_OUT: i64 = 200;
/// Steps from concept to concept, and concepts that one level of the walk reaches so at most.
const CONCEPT_STEPS: usize = 2;
const JOINED: usize = 400;
/// Turns of a session on either side of a seed that count as one hop.
const TURNS: i64 = 3;

macro_rules! node_columns {
    () => {
        "m.rowid, m.id, m.session, m.session_position, m.scope"
    };
}

/// A statement over edges: as they are, and as they were at `:known`.
struct Timed {
    now: &'static str,
    then: &'static str,
}

/// Both forms of a statement that reads from edges or from mentions, between what comes before and after.
macro_rules! over_edges {
    ([$($before:expr),+], [$($after:expr),+]) => {
        Timed {
            now: concat!($($before,)+ "edge", $($after),+),
            then: concat!(
                $($before,)+
                "(SELECT source, kind, target, scope, weight, reason, recorded_at FROM edge
                    WHERE ifnull(since, recorded_at) <= :known
                  UNION ALL SELECT source, kind, target, scope, weight, reason, recorded_at FROM edge_state
                    WHERE ifnull(since, recorded_at) <= :known AND :known < ended_at)",
                $($after),+
            ),
        }
    };
}
macro_rules! over_mentions {
    ([$($before:expr),+], [$($after:expr),+]) => {
        Timed {
            now: concat!($($before,)+ "mention", $($after),+),
            then: concat!($($before,)+ mentions_then!(), $($after),+),
        }
    };
}

const SEEDS: &str = concat!(
    "SELECT ",
    node_columns!(),
    " FROM rarray(:seeds) seed CROSS JOIN memory m ON m.id = seed.value WHERE ",
    then_matching!(),
    " ORDER BY seed.rowid"
);
const TURNS_EARLIER: &str = concat!(
    "SELECT ",
    node_columns!(),
    " FROM memory m WHERE m.scope = :scope AND m.session = :of_session
     AND m.session_position < :position AND m.session_position >= :position - :turns AND ",
    then_matching!(),
    " ORDER BY m.session_position DESC"
);
const TURNS_LATER: &str = concat!(
    "SELECT ",
    node_columns!(),
    " FROM memory m WHERE m.scope = :scope AND m.session = :of_session
     AND m.session_position > :position AND m.session_position <= :position + :turns AND ",
    then_matching!(),
    " ORDER BY m.session_position"
);
const NEIGHBOURS_OUT: Timed = over_edges!(
    ["SELECT ", node_columns!(), " FROM "],
    [
        " e JOIN memory m ON m.rowid = e.target
         WHERE e.source = :node AND e.kind IN (SELECT value FROM rarray(:edge_kinds)) AND ",
        visible!("e.scope"),
        " AND ",
        then_matching!(),
        " LIMIT :fan_out"
    ]
);
const NEIGHBOURS_IN: Timed = over_edges!(
    ["SELECT ", node_columns!(), " FROM "],
    [
        " e JOIN memory m ON m.rowid = e.source
         WHERE e.target = :node AND e.kind IN (SELECT value FROM rarray(:edge_kinds)) AND ",
        visible!("e.scope"),
        " AND ",
        then_matching!(),
        " LIMIT :fan_out"
    ]
);
const NAMED_CONCEPTS: Timed = over_mentions!(
    ["SELECT e.concept FROM rarray(:nodes) node CROSS JOIN "],
    [
        " e ON e.memory = node.value
         WHERE ((:about AND e.kind = 'ABOUT') OR (:mentions AND e.kind = 'MENTIONS')) AND ",
        visible!("e.scope")
    ]
);
/// What names `:concepts` and did at `:known`, from one table of mentions.
macro_rules! uses_then {
    ($mentions:literal, $held:literal) => {
        concat!(
            "SELECT e.concept, e.memory, e.kind FROM rarray(:concepts) asked CROSS JOIN ",
            $mentions,
            " e ON e.concept = asked.value WHERE ifnull(e.since, e.recorded_at) <= :known",
            $held,
            " AND ",
            visible!("e.memory_scope"),
            " AND ",
            visible!("e.scope")
        )
    };
}
const USES: Timed = Timed {
    now: concat!(
        "SELECT asked.value, sum(u.uses), sum(u.about)
         FROM rarray(:concepts) asked CROSS JOIN concept_use u ON u.concept = asked.value WHERE ",
        visible!("u.memory_scope"),
        " AND ",
        visible!("u.scope"),
        " GROUP BY asked.value"
    ),
    then: concat!(
        "SELECT concept, count(DISTINCT memory), count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END) FROM (",
        uses_then!("mention", ""),
        " UNION ALL ",
        uses_then!("mention_state", " AND :known < e.ended_at"),
        ") GROUP BY concept"
    ),
};
/// About first: 'ABOUT' sorts before 'MENTIONS'. The latest first among them.
const NAMING_MEMORIES: Timed = over_mentions!(
    ["SELECT ", node_columns!(), " FROM "],
    [
        " e JOIN memory m ON m.rowid = e.memory
         WHERE e.concept = :concept AND e.kind IN (SELECT value FROM rarray(:mention_kinds)) AND ",
        visible!("e.scope"),
        " AND ",
        then_matching!(),
        " ORDER BY e.kind, e.memory DESC LIMIT :fan_out"
    ]
);
const EDGES: Timed = over_edges!(
    [
        "SELECT e.source, e.target, e.kind, e.weight, e.reason, e.scope, e.recorded_at FROM rarray(:nodes) node CROSS JOIN "
    ],
    [" e ON e.source = node.value WHERE e.kind IN (SELECT value FROM rarray(:edge_kinds)) AND ", visible!("e.scope")]
);
const MENTIONS: Timed = over_mentions!(
    ["SELECT e.memory, e.concept, e.kind, e.weight, e.reason, e.scope, e.recorded_at
      FROM rarray(:nodes) node CROSS JOIN "],
    [
        " e ON e.memory = node.value
         WHERE ((:about AND e.kind = 'ABOUT') OR (:mentions AND e.kind = 'MENTIONS')) AND ",
        visible!("e.scope")
    ]
);
/// Concepts that are joined to others, either way.
const JOINED_CONCEPTS: &str = concat!(
    "SELECT e.target FROM rarray(:concepts) asked CROSS JOIN concept_edge e ON e.source = asked.value
     WHERE e.kind IN (SELECT value FROM rarray(:concept_kinds)) AND ",
    visible!("e.scope"),
    " UNION ALL
     SELECT e.source FROM rarray(:concepts) asked CROSS JOIN concept_edge e ON e.target = asked.value
     WHERE e.kind IN (SELECT value FROM rarray(:concept_kinds)) AND ",
    visible!("e.scope")
);
const CONCEPT_EDGES: &str = concat!(
    "SELECT e.source, e.target, e.kind, e.weight, e.reason, e.scope, e.recorded_at
     FROM rarray(:concepts) asked CROSS JOIN concept_edge e ON e.source = asked.value
     WHERE e.kind IN (SELECT value FROM rarray(:concept_kinds)) AND e.target IN (SELECT value FROM rarray(:concepts)) AND ",
    visible!("e.scope")
);
const CONCEPTS: &str = "SELECT c.id, c.key, c.label, c.origin, c.rowid
    FROM rarray(:concepts) asked CROSS JOIN concept c ON c.rowid = asked.value";
const TOTAL: Timed = Timed {
    now: concat!("SELECT ifnull(sum(memories), 0) FROM scope WHERE ", visible!("id")),
    then: concat!(
        "SELECT count(*) FROM memory m WHERE ",
        visible!("m.scope"),
        " AND (m.revised_at <= :known OR EXISTS (SELECT 1 FROM memory_state r WHERE r.memory = m.rowid AND ",
        held!(),
        "))"
    ),
};

pub(super) fn neighbourhood(
    connection: &Connection,
    query: &NeighbourhoodQuery,
    visibility: &Visibility,
) -> Result<Neighbourhood, SqliteError> {
    let conditions = Conditions::of(&query.filter, Seen::of(connection, visibility)?);
    let mut walk = Walk::of(connection, query, &conditions)?;
    walk.start(query)?;
    let mut frontier: Vec<usize> = (0..walk.nodes.len()).collect();
    for distance in 1..=query.depth {
        if frontier.is_empty() {
            break;
        }
        let first = walk.nodes.len();
        walk.expand(&frontier, distance, query)?;
        frontier = (first..walk.nodes.len()).collect();
    }
    walk.finish()
}

/// A memory that was reached.
struct Node {
    rowid: i64,
    scope: i64,
    node: NodeRef,
}

/// A concept on the way and the visible memories that name it and are about it.
#[derive(Clone, Copy)]
struct Met {
    rowid: i64,
    uses: usize,
    about: usize,
}

struct Walk<'a> {
    connection: &'a Connection,
    conditions: &'a Conditions,
    nodes: Vec<Node>,
    reached: HashMap<i64, usize>,
    max_nodes: usize,
    truncated: bool,
    about: bool,
    mentions: bool,
    edge_kinds: rows::List,
    /// Kinds of edges between concepts.
    concept_kinds: rows::List,
    /// Whether the walk goes through the graph of an earlier moment.
    looks_back: bool,
    /// Concepts met so far; each is crossed at most once, from the level that meets it first.
    met: HashSet<i64>,
    /// Those to report, in the order met.
    concepts: Vec<Met>,
}

impl<'a> Walk<'a> {
    fn of(
        connection: &'a Connection,
        query: &NeighbourhoodQuery,
        conditions: &'a Conditions,
    ) -> Result<Self, SqliteError> {
        let joins = connection.prepare_cached("SELECT 1 FROM concept_edge LIMIT 1")?.exists([])?;
        let names = |wanted: &dyn Fn(EdgeKind) -> bool| -> rows::List {
            let kinds = query.edges.iter().filter(|kind| wanted(**kind)).map(|kind| kind.name().to_owned().into());
            kinds.collect::<Vec<_>>().into()
        };
        Ok(Self {
            connection,
            conditions,
            nodes: Vec::new(),
            reached: HashMap::new(),
            max_nodes: query.max_nodes,
            truncated: false,
            about: query.edges.contains(&EdgeKind::About),
            mentions: query.edges.contains(&EdgeKind::Mentions),
            edge_kinds: names(&|kind| !kind.to_concept() && !kind.between_concepts()),
            concept_kinds: if joins { names(&EdgeKind::between_concepts) } else { rows::List::default() },
            looks_back: query.filter.as_of.known.is_some(),
            met: HashSet::new(),
            concepts: Vec::new(),
        })
    }

    /// A statement with the filter and everything else that does not change during the walk bound.
    fn statement(&self, sql: &'static str) -> Result<CachedStatement<'a>, SqliteError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, &self.conditions.params())?;
        let fixed: rows::Params<'_> = vec![
            (":edge_kinds", &self.edge_kinds),
            (":concept_kinds", &self.concept_kinds),
            (":about", &self.about),
            (":mentions", &self.mentions),
            (":fan_out", &FAN_OUT),
            (":turns", &TURNS),
        ];
        bind(&mut statement, &fixed)?;
        Ok(statement)
    }

    fn timed(&self, sql: &Timed) -> Result<CachedStatement<'a>, SqliteError> {
        self.statement(if self.looks_back { sql.then } else { sql.now })
    }

    fn start(&mut self, query: &NeighbourhoodQuery) -> Result<(), SqliteError> {
        let mut statement = self.statement(SEEDS)?;
        bind(&mut statement, &vec![(":seeds", &rows::ids(query.seeds.iter().map(|id| id.0)))])?;
        self.admit_all(&mut statement, 0)
    }

    fn expand(&mut self, frontier: &[usize], distance: u32, query: &NeighbourhoodQuery) -> Result<(), SqliteError> {
        let (out, back) = (query.direction != Direction::In, query.direction != Direction::Out);
        // An edge of a session leads to the turn before, so the earlier turns lie along the arrow.
        if distance == 1 && query.edges.contains(&EdgeKind::SameSession) {
            for sql in iter::chain(out.then_some(TURNS_EARLIER), back.then_some(TURNS_LATER)) {
                self.expand_turns(sql, frontier)?;
            }
        }
        if !self.edge_kinds.is_empty() {
            for sql in iter::chain(out.then_some(&NEIGHBOURS_OUT), back.then_some(&NEIGHBOURS_IN)) {
                let mut statement = self.timed(sql)?;
                for node in frontier {
                    bind(&mut statement, &vec![(":node", &self.nodes[*node].rowid)])?;
                    self.admit_all(&mut statement, distance)?;
                }
            }
        }
        if self.about || self.mentions {
            self.expand_concepts(frontier, distance, query.max_concept_uses)?;
        }
        Ok(())
    }

    fn expand_turns(&mut self, sql: &'static str, seeds: &[usize]) -> Result<(), SqliteError> {
        let mut statement = self.statement(sql)?;
        for seed in seeds {
            let Node { scope, node, .. } = &self.nodes[*seed];
            let (Some((_, session)), Some(position)) = (&node.session, node.session_position) else { continue };
            let position = rows::integer(position);
            bind(&mut statement, &vec![(":scope", scope), (":of_session", session), (":position", &position)])?;
            self.admit_all(&mut statement, 1)?;
        }
        Ok(())
    }

    fn expand_concepts(&mut self, frontier: &[usize], distance: u32, max_uses: usize) -> Result<(), SqliteError> {
        let mut named = self.newly_named(frontier)?;
        let named_itself: HashSet<i64> = named.iter().map(|met| met.rowid).collect();
        if !self.concept_kinds.is_empty() {
            let joined = self.newly_joined(&named)?;
            named.extend(joined);
        }
        named.sort_unstable_by_key(|met| (met.uses, met.rowid));
        let mut statement = self.timed(&NAMING_MEMORIES)?;
        for met in named {
            let mentions = self.mentions && met.uses <= max_uses;
            let kinds = iter::chain(
                (self.about && met.about > 0).then_some(EdgeKind::About),
                mentions.then_some(EdgeKind::Mentions),
            );
            let kinds: rows::List = kinds.map(|kind| kind.name().to_owned().into()).collect::<Vec<_>>().into();
            // One use of a concept that is named is the memory one comes from.
            let own = usize::from(named_itself.contains(&met.rowid));
            let crossed = met.uses > own && !kinds.is_empty() && !self.truncated;
            if crossed {
                bind(&mut statement, &vec![(":concept", &met.rowid), (":mention_kinds", &kinds)])?;
                self.admit_all(&mut statement, distance)?;
            }
            if crossed || distance == 1 || own == 0 {
                self.concepts.push(met);
            }
        }
        Ok(())
    }

    /// Concepts that the frontier names and no earlier level did, with their visible uses.
    fn newly_named(&mut self, frontier: &[usize]) -> Result<Vec<Met>, SqliteError> {
        let mut statement = self.timed(&NAMED_CONCEPTS)?;
        bind(&mut statement, &vec![(":nodes", &rows::rowids(frontier.iter().map(|node| self.nodes[*node].rowid)))])?;
        let mut rows = statement.raw_query();
        let mut new = Vec::new();
        while let Some(row) = rows.next()? {
            let concept: i64 = row.get(0)?;
            if self.met.insert(concept) {
                new.push(concept);
            }
        }
        self.uses_of(&new)
    }

    fn uses_of(&self, concepts: &[i64]) -> Result<Vec<Met>, SqliteError> {
        let mut statement = self.timed(&USES)?;
        bind(&mut statement, &vec![(":concepts", &rows::rowids(concepts.iter().copied()))])?;
        let mut rows = statement.raw_query();
        let mut met = Vec::new();
        while let Some(row) = rows.next()? {
            met.push(Met { rowid: row.get(0)?, uses: size(row.get(1)?), about: size(row.get(2)?) });
        }
        Ok(met)
    }

    /// Concepts that an ontology joins to these, by up to two edges, and that no earlier level met.
    fn newly_joined(&mut self, named: &[Met]) -> Result<Vec<Met>, SqliteError> {
        let mut level: Vec<i64> = named.iter().map(|met| met.rowid).collect();
        let mut joined = Vec::new();
        for _ in 0..CONCEPT_STEPS {
            let mut statement = self.statement(JOINED_CONCEPTS)?;
            bind(&mut statement, &vec![(":concepts", &rows::rowids(level.iter().copied()))])?;
            let mut rows = statement.raw_query();
            level.clear();
            while let Some(row) = rows.next()?
                && joined.len() + level.len() < JOINED
            {
                let concept: i64 = row.get(0)?;
                if self.met.insert(concept) {
                    level.push(concept);
                }
            }
            joined.extend(&level);
        }
        let mut used = self.uses_of(&joined)?;
        let known: HashSet<i64> = used.iter().map(|met| met.rowid).collect();
        // Those that nobody names lead on to others.
        let unused = joined.iter().filter(|rowid| !known.contains(rowid));
        used.extend(unused.map(|rowid| Met { rowid: *rowid, uses: 0, about: 0 }));
        Ok(used)
    }

    /// Takes in what the statement gives, until the walk is full.
    fn admit_all(&mut self, statement: &mut CachedStatement<'_>, distance: u32) -> Result<(), SqliteError> {
        let mut rows = statement.raw_query();
        while !self.truncated
            && let Some(row) = rows.next()?
        {
            self.admit(row, distance)?;
        }
        Ok(())
    }

    fn admit(&mut self, row: &Row<'_>, distance: u32) -> Result<(), SqliteError> {
        let rowid = row.get(0)?;
        if self.reached.contains_key(&rowid) {
            return Ok(());
        }
        if self.nodes.len() >= self.max_nodes {
            self.truncated = true;
            return Ok(());
        }
        let node = NodeRef {
            id: MemoryId(rows::uuid(row, 1)?),
            distance,
            // The scope's key is put before the name when the walk is over.
            session: row.get::<_, Option<String>>(2)?.map(|name| (String::new(), name)),
            session_position: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
        };
        self.reached.insert(rowid, self.nodes.len());
        self.nodes.push(Node { rowid, scope: row.get(4)?, node });
        Ok(())
    }

    fn finish(mut self) -> Result<Neighbourhood, SqliteError> {
        let mut scopes = Scopes::of(self.connection);
        for Node { scope, node, .. } in &mut self.nodes {
            if let Some((key, _)) = &mut node.session {
                *key = scopes.get(*scope)?.key();
            }
        }
        let (concepts, concept_ids) = self.reported_concepts()?;
        let mut edges =
            self.edges(&EDGES, &mut scopes, |to| self.reached.get(&to).map(|node| self.nodes[*node].node.id.0))?;
        edges.extend(self.edges(&MENTIONS, &mut scopes, |to| concept_ids.get(&to).copied())?);
        if !self.concept_kinds.is_empty() {
            edges.extend(self.concept_edges(&mut scopes, &concept_ids)?);
        }
        let mut total = self.timed(&TOTAL)?;
        let total_memories = total.raw_query().next()?.map(|row| row.get(0)).transpose()?.map_or(0, size);
        drop(total);
        Ok(Neighbourhood {
            nodes: self.nodes.into_iter().map(|node| node.node).collect(),
            edges,
            concepts,
            total_memories,
            truncated: self.truncated,
        })
    }

    fn reported_concepts(&self) -> Result<(Vec<ConceptUse>, HashMap<i64, Uuid>), SqliteError> {
        let mut statement = self.statement(CONCEPTS)?;
        bind(&mut statement, &vec![(":concepts", &rows::rowids(self.concepts.iter().map(|met| met.rowid)))])?;
        let met: HashMap<i64, Met> = self.concepts.iter().map(|met| (met.rowid, *met)).collect();
        let mut rows = statement.raw_query();
        let (mut reported, mut ids) = (Vec::with_capacity(met.len()), HashMap::with_capacity(met.len()));
        while let Some(row) = rows.next()? {
            let (concept, rowid) = (concept(row)?, row.get(4)?);
            ids.insert(rowid, concept.id.0);
            if let Some(Met { uses, about, .. }) = met.get(&rowid).copied() {
                reported.push(ConceptUse { concept, uses, about });
            }
        }
        Ok((reported, ids))
    }

    /// The edges between reported concepts.
    fn concept_edges(&self, scopes: &mut Scopes<'_>, ids: &HashMap<i64, Uuid>) -> Result<Vec<Edge>, SqliteError> {
        let mut statement = self.statement(CONCEPT_EDGES)?;
        bind(&mut statement, &vec![(":concepts", &rows::rowids(ids.keys().copied()))])?;
        let mut rows = statement.raw_query();
        let mut edges = Vec::new();
        while let Some(row) = rows.next()? {
            if let (Some(from), Some(to)) = (ids.get(&row.get(0)?), ids.get(&row.get(1)?)) {
                edges.push(edge(row, 2, *from, *to, scopes)?);
            }
        }
        Ok(edges)
    }

    /// The edges that leave the nodes and whose other end `end` knows.
    fn edges(
        &self,
        sql: &Timed,
        scopes: &mut Scopes<'_>,
        end: impl Fn(i64) -> Option<Uuid>,
    ) -> Result<Vec<Edge>, SqliteError> {
        let mut statement = self.timed(sql)?;
        bind(&mut statement, &vec![(":nodes", &rows::rowids(self.nodes.iter().map(|node| node.rowid)))])?;
        let mut rows = statement.raw_query();
        let mut edges = Vec::new();
        while let Some(row) = rows.next()? {
            let from: i64 = row.get(0)?;
            if let (Some(from), Some(to)) = (self.reached.get(&from), end(row.get(1)?)) {
                edges.push(edge(row, 2, self.nodes[*from].node.id.0, to, scopes)?);
            }
        }
        Ok(edges)
    }
}
