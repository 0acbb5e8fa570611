// The part of the graph around some memories as it was at a moment: memories in the state each was in, relationships
// and counts of then. As neighbourhood.cypher otherwise.
// Parameters: $ask MAP {seeds LIST<STRING>; depth INTEGER, 1 to 4; kinds LIST<STRING> of relationships between
//   memories; roles LIST<STRING> of those to concepts; joins LIST<STRING> of those between concepts; all LIST<STRING>,
//   the first two; about, mentions BOOLEAN, whether a role is among them; out, back BOOLEAN, ways along relationships;
//   turns INTEGER of a session on either side of a seed, 0 for none; max_uses INTEGER, more make a concept a hub};
//   $room INTEGER, one more than the memories wanted; $fan_out INTEGER; $joined INTEGER, concepts that edges between
//   concepts reach at most in one hop; $reader MAP (see README); $filter MAP (see README); $known INTEGER, the moment
// Returns: one row: nodes LIST of [id, visibility, session, session_position], nearest first; ends LIST<INTEGER>, how
//   many of them lie before each hop; edges LIST of [id of the memory or concept reached, LIST of [place in nodes,
//   kind, weight, reason, visibility, recorded_at]]; joined LIST of [id, id, kind, weight, reason, visibility,
//   recorded_at], edges between concepts; concepts LIST of [id, key, label, origin, uses, about], those of the seeds,
//   those that lead on and those joined to them; total INTEGER; truncated BOOLEAN
// Index: constraints memory_id, concept_id, scope_count_key; indexes memory_session_key, memory_state_memory,
//   edge_state_source, edge_state_target, mention_state_memory, mention_state_concept, memory_scope_occurred
CALL () {
  UNWIND range(0, size($ask.seeds) - 1) AS place
  MATCH (m:Memory {id: $ask.seeds[place]})
  CALL (m) {
    WITH m
    WHERE m.revised_at <= $known
    RETURN m AS state
    UNION ALL
    WITH m
    WHERE m.revised_at > $known AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
    MATCH (state:MemoryState)
    USING INDEX state:MemoryState(memory, believed_from)
    WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
    RETURN state
  }
  WITH m, place, state
  WHERE ($reader.keys IS NULL OR state.visibility IN $reader.keys)
    AND state.recorded_at <= $known
    AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
      OR (state.status IN ['superseded', 'archived']
        AND (state.retired_at IS NULL OR $known < state.retired_at)))
    AND ($filter.world IS NULL
      OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
        AND (state.valid_to IS NULL OR $filter.world < state.valid_to
          OR (state.status IN ['superseded', 'archived']
        AND (state.retired_at IS NULL OR $known < state.retired_at)))))
    AND CASE WHEN $filter.narrow THEN
      ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
      AND ($filter.types IS NULL OR state.type IN $filter.types)
      AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
      AND ($filter.session IS NULL OR state.session = $filter.session)
      AND ($filter.task IS NULL OR state.task = $filter.task)
      AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
      AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
      AND ($filter.language IS NULL OR state.language = $filter.language)
    ELSE true END
    AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
  WITH m, min(place) AS place
  ORDER BY place
  LIMIT $room
  RETURN collect(m) AS nodes
}
// The kinds of edges between concepts to follow, if there are any such edges: the server counts them while it writes.
CALL (nodes) {
  MATCH ()-[edge:BROADER|RELATED]->()
  WITH count(edge) AS edges
  RETURN CASE WHEN edges > 0 THEN $ask.joins ELSE [] END AS joins
}
WITH nodes, joins, 0 AS first, [] AS ends, [] AS named, [] AS met
// Hop 1.
CALL (nodes, joins, met, first) {
  WITH nodes, joins, met, nodes[first..] AS frontier
  WHERE $ask.depth >= 1 AND size(nodes) < $room
  CALL (frontier, met, joins) {
    CALL (frontier, met) {
      UNWIND frontier AS f
      CALL (f) {
        MATCH (f)-[edge:ABOUT|MENTIONS]->(c)
        WHERE type(edge) IN $ask.roles
          AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
            AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN c
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(memory)
        WHERE state.memory = f.id AND state.kind IN $ask.roles
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        MATCH (c:Concept {id: state.concept})
        RETURN c
      }
      WITH DISTINCT c
      WHERE NOT c IN met
      RETURN collect(c) AS named
    }
    // Concepts that an ontology joins to those, by up to two edges.
    CALL (named, met, joins) {
      UNWIND CASE WHEN size(joins) > 0 THEN named ELSE [] END AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named
      LIMIT $joined
      RETURN collect(other) AS near
    }
    CALL (named, met, joins, near) {
      UNWIND near AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named AND NOT other IN near
      LIMIT $joined
      RETURN collect(other) AS far
    }
    UNWIND named + (near + far)[..$joined] AS c
    CALL (c) {
      CALL (c) {
        MATCH (c)<-[edge:ABOUT|MENTIONS]-()
        WHERE ($reader.keys IS NULL OR edge.memory_visibility IN $reader.keys) AND ($reader.keys IS NULL
          OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN edge.memory AS memory, type(edge) AS kind
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(concept)
        WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.memory_visibility IN $reader.keys)
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        RETURN state.memory AS memory, state.kind AS kind
      }
      RETURN count(DISTINCT memory) AS uses, count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END) AS about
    }
    WITH c, CASE WHEN c IN named THEN 1 ELSE 0 END AS own, uses, about
    ORDER BY uses, c.id
    RETURN collect({concept: c, uses: uses, about: about, own: own, hop: 1}) AS found
  }
  CALL (nodes, frontier, found) {
    CALL (nodes, frontier, found) {
      UNWIND nodes AS m
      RETURN m
      UNION ALL
      UNWIND [f IN frontier WHERE $ask.turns > 0 AND $ask.out AND f.session_position IS NOT NULL |
        {way: 'earlier', node: f}]
        + [f IN frontier WHERE $ask.turns > 0 AND $ask.back AND f.session_position IS NOT NULL |
          {way: 'later', node: f}]
        + [f IN frontier WHERE $ask.out | {way: 'out', node: f}]
        + [f IN frontier WHERE $ask.back | {way: 'in', node: f}]
        + [n IN found WHERE n.uses > n.own AND (($ask.about AND n.about > 0) OR ($ask.mentions
          AND n.uses <= $ask.max_uses)) |
            {way: 'concept', node: n.concept, mentions: $ask.mentions AND n.uses <= $ask.max_uses}] AS source
      CALL (source) {
        CALL (source) {
          WITH source.node.session_key AS session, source.node.session_position AS position, source
          WHERE source.way = 'earlier'
          MATCH (m:Memory)
          WHERE m.session_key = session AND m.session_position >= position - $ask.turns
            AND m.session_position < position
          RETURN m
          ORDER BY m.session_position DESC
          UNION ALL
          WITH source.node.session_key AS session, source.node.session_position AS position, source
          WHERE source.way = 'later'
          MATCH (m:Memory)
          WHERE m.session_key = session AND m.session_position > position
            AND m.session_position <= position + $ask.turns
          RETURN m
          ORDER BY m.session_position
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (f)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(source)
          WHERE state.source = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.target})
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (f)<-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]-(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(target)
          WHERE state.target = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.source})
          RETURN m
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (c)<-[edge:ABOUT|MENTIONS]-(m)
          WHERE type(edge) IN $ask.roles AND (source.mentions OR type(edge) = 'ABOUT')
            AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          ORDER BY type(edge), edge.memory DESC
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (state:MentionState)
          USING INDEX state:MentionState(concept)
          WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
            AND state.kind IN $ask.roles AND (source.mentions OR state.kind = 'ABOUT')
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.memory})
          USING INDEX m:Memory(id)
          RETURN m
          ORDER BY state.kind, state.memory DESC
        }
        CALL (m) {
          WITH m
          WHERE m.revised_at <= $known
          RETURN m AS state
          UNION ALL
          WITH m
          WHERE m.revised_at > $known AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
          MATCH (state:MemoryState)
          USING INDEX state:MemoryState(memory, believed_from)
          WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
          RETURN state
        }
        WITH m, state
        WHERE ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND state.recorded_at <= $known
          AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
            OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))
          AND ($filter.world IS NULL
            OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
              AND (state.valid_to IS NULL OR $filter.world < state.valid_to
                OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))))
          AND CASE WHEN $filter.narrow THEN
            ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
            AND ($filter.types IS NULL OR state.type IN $filter.types)
            AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
            AND ($filter.session IS NULL OR state.session = $filter.session)
            AND ($filter.task IS NULL OR state.task = $filter.task)
            AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
            AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
            AND ($filter.language IS NULL OR state.language = $filter.language)
          ELSE true END
          AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
        RETURN m
        LIMIT $fan_out
      }
      RETURN m
    }
    WITH DISTINCT m
    LIMIT $room
    RETURN collect(m) AS all
  }
  RETURN collect([m IN all WHERE NOT m IN nodes]) AS reached, collect(found) AS found
}
WITH nodes + coalesce(head(reached), []) AS nodes, joins, size(nodes) AS first, ends + size(nodes) AS ends,
  named + coalesce(head(found), []) AS named
WITH nodes, joins, first, ends, named, [n IN named | n.concept] AS met
// Hop 2.
CALL (nodes, joins, met, first) {
  WITH nodes, joins, met, nodes[first..] AS frontier
  WHERE $ask.depth >= 2 AND size(nodes) < $room
  CALL (frontier, met, joins) {
    CALL (frontier, met) {
      UNWIND frontier AS f
      CALL (f) {
        MATCH (f)-[edge:ABOUT|MENTIONS]->(c)
        WHERE type(edge) IN $ask.roles
          AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
            AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN c
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(memory)
        WHERE state.memory = f.id AND state.kind IN $ask.roles
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        MATCH (c:Concept {id: state.concept})
        RETURN c
      }
      WITH DISTINCT c
      WHERE NOT c IN met
      RETURN collect(c) AS named
    }
    // Concepts that an ontology joins to those, by up to two edges.
    CALL (named, met, joins) {
      UNWIND CASE WHEN size(joins) > 0 THEN named ELSE [] END AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named
      LIMIT $joined
      RETURN collect(other) AS near
    }
    CALL (named, met, joins, near) {
      UNWIND near AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named AND NOT other IN near
      LIMIT $joined
      RETURN collect(other) AS far
    }
    UNWIND named + (near + far)[..$joined] AS c
    CALL (c) {
      CALL (c) {
        MATCH (c)<-[edge:ABOUT|MENTIONS]-()
        WHERE ($reader.keys IS NULL OR edge.memory_visibility IN $reader.keys) AND ($reader.keys IS NULL
          OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN edge.memory AS memory, type(edge) AS kind
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(concept)
        WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.memory_visibility IN $reader.keys)
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        RETURN state.memory AS memory, state.kind AS kind
      }
      RETURN count(DISTINCT memory) AS uses, count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END) AS about
    }
    WITH c, CASE WHEN c IN named THEN 1 ELSE 0 END AS own, uses, about
    WHERE own = 0 OR (uses > 1 AND (($ask.about AND about > 0) OR ($ask.mentions AND uses <= $ask.max_uses)))
    WITH c, own, uses, about
    ORDER BY uses, c.id
    RETURN collect({concept: c, uses: uses, about: about, own: own, hop: 2}) AS found
  }
  CALL (nodes, frontier, found) {
    CALL (nodes, frontier, found) {
      UNWIND nodes AS m
      RETURN m
      UNION ALL
      UNWIND [f IN frontier WHERE $ask.out | {way: 'out', node: f}]
        + [f IN frontier WHERE $ask.back | {way: 'in', node: f}]
        + [n IN found WHERE n.uses > n.own AND (($ask.about AND n.about > 0) OR ($ask.mentions
          AND n.uses <= $ask.max_uses)) |
            {way: 'concept', node: n.concept, mentions: $ask.mentions AND n.uses <= $ask.max_uses}] AS source
      CALL (source) {
        CALL (source) {
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (f)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(source)
          WHERE state.source = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.target})
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (f)<-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]-(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(target)
          WHERE state.target = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.source})
          RETURN m
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (c)<-[edge:ABOUT|MENTIONS]-(m)
          WHERE type(edge) IN $ask.roles AND (source.mentions OR type(edge) = 'ABOUT')
            AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          ORDER BY type(edge), edge.memory DESC
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (state:MentionState)
          USING INDEX state:MentionState(concept)
          WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
            AND state.kind IN $ask.roles AND (source.mentions OR state.kind = 'ABOUT')
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.memory})
          USING INDEX m:Memory(id)
          RETURN m
          ORDER BY state.kind, state.memory DESC
        }
        CALL (m) {
          WITH m
          WHERE m.revised_at <= $known
          RETURN m AS state
          UNION ALL
          WITH m
          WHERE m.revised_at > $known AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
          MATCH (state:MemoryState)
          USING INDEX state:MemoryState(memory, believed_from)
          WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
          RETURN state
        }
        WITH m, state
        WHERE ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND state.recorded_at <= $known
          AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
            OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))
          AND ($filter.world IS NULL
            OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
              AND (state.valid_to IS NULL OR $filter.world < state.valid_to
                OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))))
          AND CASE WHEN $filter.narrow THEN
            ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
            AND ($filter.types IS NULL OR state.type IN $filter.types)
            AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
            AND ($filter.session IS NULL OR state.session = $filter.session)
            AND ($filter.task IS NULL OR state.task = $filter.task)
            AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
            AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
            AND ($filter.language IS NULL OR state.language = $filter.language)
          ELSE true END
          AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
        RETURN m
        LIMIT $fan_out
      }
      RETURN m
    }
    WITH DISTINCT m
    LIMIT $room
    RETURN collect(m) AS all
  }
  RETURN collect([m IN all WHERE NOT m IN nodes]) AS reached, collect(found) AS found
}
WITH nodes + coalesce(head(reached), []) AS nodes, joins, size(nodes) AS first, ends + size(nodes) AS ends,
  named + coalesce(head(found), []) AS named
WITH nodes, joins, first, ends, named, [n IN named | n.concept] AS met
// Hop 3.
CALL (nodes, joins, met, first) {
  WITH nodes, joins, met, nodes[first..] AS frontier
  WHERE $ask.depth >= 3 AND size(nodes) < $room
  CALL (frontier, met, joins) {
    CALL (frontier, met) {
      UNWIND frontier AS f
      CALL (f) {
        MATCH (f)-[edge:ABOUT|MENTIONS]->(c)
        WHERE type(edge) IN $ask.roles
          AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
            AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN c
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(memory)
        WHERE state.memory = f.id AND state.kind IN $ask.roles
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        MATCH (c:Concept {id: state.concept})
        RETURN c
      }
      WITH DISTINCT c
      WHERE NOT c IN met
      RETURN collect(c) AS named
    }
    // Concepts that an ontology joins to those, by up to two edges.
    CALL (named, met, joins) {
      UNWIND CASE WHEN size(joins) > 0 THEN named ELSE [] END AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named
      LIMIT $joined
      RETURN collect(other) AS near
    }
    CALL (named, met, joins, near) {
      UNWIND near AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named AND NOT other IN near
      LIMIT $joined
      RETURN collect(other) AS far
    }
    UNWIND named + (near + far)[..$joined] AS c
    CALL (c) {
      CALL (c) {
        MATCH (c)<-[edge:ABOUT|MENTIONS]-()
        WHERE ($reader.keys IS NULL OR edge.memory_visibility IN $reader.keys) AND ($reader.keys IS NULL
          OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN edge.memory AS memory, type(edge) AS kind
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(concept)
        WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.memory_visibility IN $reader.keys)
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        RETURN state.memory AS memory, state.kind AS kind
      }
      RETURN count(DISTINCT memory) AS uses, count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END) AS about
    }
    WITH c, CASE WHEN c IN named THEN 1 ELSE 0 END AS own, uses, about
    WHERE own = 0 OR (uses > 1 AND (($ask.about AND about > 0) OR ($ask.mentions AND uses <= $ask.max_uses)))
    WITH c, own, uses, about
    ORDER BY uses, c.id
    RETURN collect({concept: c, uses: uses, about: about, own: own, hop: 3}) AS found
  }
  CALL (nodes, frontier, found) {
    CALL (nodes, frontier, found) {
      UNWIND nodes AS m
      RETURN m
      UNION ALL
      UNWIND [f IN frontier WHERE $ask.out | {way: 'out', node: f}]
        + [f IN frontier WHERE $ask.back | {way: 'in', node: f}]
        + [n IN found WHERE n.uses > n.own AND (($ask.about AND n.about > 0) OR ($ask.mentions
          AND n.uses <= $ask.max_uses)) |
            {way: 'concept', node: n.concept, mentions: $ask.mentions AND n.uses <= $ask.max_uses}] AS source
      CALL (source) {
        CALL (source) {
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (f)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(source)
          WHERE state.source = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.target})
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (f)<-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]-(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(target)
          WHERE state.target = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.source})
          RETURN m
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (c)<-[edge:ABOUT|MENTIONS]-(m)
          WHERE type(edge) IN $ask.roles AND (source.mentions OR type(edge) = 'ABOUT')
            AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          ORDER BY type(edge), edge.memory DESC
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (state:MentionState)
          USING INDEX state:MentionState(concept)
          WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
            AND state.kind IN $ask.roles AND (source.mentions OR state.kind = 'ABOUT')
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.memory})
          USING INDEX m:Memory(id)
          RETURN m
          ORDER BY state.kind, state.memory DESC
        }
        CALL (m) {
          WITH m
          WHERE m.revised_at <= $known
          RETURN m AS state
          UNION ALL
          WITH m
          WHERE m.revised_at > $known AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
          MATCH (state:MemoryState)
          USING INDEX state:MemoryState(memory, believed_from)
          WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
          RETURN state
        }
        WITH m, state
        WHERE ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND state.recorded_at <= $known
          AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
            OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))
          AND ($filter.world IS NULL
            OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
              AND (state.valid_to IS NULL OR $filter.world < state.valid_to
                OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))))
          AND CASE WHEN $filter.narrow THEN
            ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
            AND ($filter.types IS NULL OR state.type IN $filter.types)
            AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
            AND ($filter.session IS NULL OR state.session = $filter.session)
            AND ($filter.task IS NULL OR state.task = $filter.task)
            AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
            AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
            AND ($filter.language IS NULL OR state.language = $filter.language)
          ELSE true END
          AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
        RETURN m
        LIMIT $fan_out
      }
      RETURN m
    }
    WITH DISTINCT m
    LIMIT $room
    RETURN collect(m) AS all
  }
  RETURN collect([m IN all WHERE NOT m IN nodes]) AS reached, collect(found) AS found
}
WITH nodes + coalesce(head(reached), []) AS nodes, joins, size(nodes) AS first, ends + size(nodes) AS ends,
  named + coalesce(head(found), []) AS named
WITH nodes, joins, first, ends, named, [n IN named | n.concept] AS met
// Hop 4.
CALL (nodes, joins, met, first) {
  WITH nodes, joins, met, nodes[first..] AS frontier
  WHERE $ask.depth >= 4 AND size(nodes) < $room
  CALL (frontier, met, joins) {
    CALL (frontier, met) {
      UNWIND frontier AS f
      CALL (f) {
        MATCH (f)-[edge:ABOUT|MENTIONS]->(c)
        WHERE type(edge) IN $ask.roles
          AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
            AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN c
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(memory)
        WHERE state.memory = f.id AND state.kind IN $ask.roles
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        MATCH (c:Concept {id: state.concept})
        RETURN c
      }
      WITH DISTINCT c
      WHERE NOT c IN met
      RETURN collect(c) AS named
    }
    // Concepts that an ontology joins to those, by up to two edges.
    CALL (named, met, joins) {
      UNWIND CASE WHEN size(joins) > 0 THEN named ELSE [] END AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named
      LIMIT $joined
      RETURN collect(other) AS near
    }
    CALL (named, met, joins, near) {
      UNWIND near AS c
      MATCH (c)-[edge:BROADER|RELATED]-(other)
      WHERE type(edge) IN joins AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      WITH DISTINCT other
      WHERE NOT other IN met AND NOT other IN named AND NOT other IN near
      LIMIT $joined
      RETURN collect(other) AS far
    }
    UNWIND named + (near + far)[..$joined] AS c
    CALL (c) {
      CALL (c) {
        MATCH (c)<-[edge:ABOUT|MENTIONS]-()
        WHERE ($reader.keys IS NULL OR edge.memory_visibility IN $reader.keys) AND ($reader.keys IS NULL
          OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
        RETURN edge.memory AS memory, type(edge) AS kind
        UNION ALL
        MATCH (state:MentionState)
        USING INDEX state:MentionState(concept)
        WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.memory_visibility IN $reader.keys)
          AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
        RETURN state.memory AS memory, state.kind AS kind
      }
      RETURN count(DISTINCT memory) AS uses, count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END) AS about
    }
    WITH c, CASE WHEN c IN named THEN 1 ELSE 0 END AS own, uses, about
    WHERE own = 0 OR (uses > 1 AND (($ask.about AND about > 0) OR ($ask.mentions AND uses <= $ask.max_uses)))
    WITH c, own, uses, about
    ORDER BY uses, c.id
    RETURN collect({concept: c, uses: uses, about: about, own: own, hop: 4}) AS found
  }
  CALL (nodes, frontier, found) {
    CALL (nodes, frontier, found) {
      UNWIND nodes AS m
      RETURN m
      UNION ALL
      UNWIND [f IN frontier WHERE $ask.out | {way: 'out', node: f}]
        + [f IN frontier WHERE $ask.back | {way: 'in', node: f}]
        + [n IN found WHERE n.uses > n.own AND (($ask.about AND n.about > 0) OR ($ask.mentions
          AND n.uses <= $ask.max_uses)) |
            {way: 'concept', node: n.concept, mentions: $ask.mentions AND n.uses <= $ask.max_uses}] AS source
      CALL (source) {
        CALL (source) {
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (f)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'out'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(source)
          WHERE state.source = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.target})
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (f)<-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]-(m)
          WHERE type(edge) IN $ask.kinds AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          UNION ALL
          WITH source.node AS f, source
          WHERE source.way = 'in'
          MATCH (state:EdgeState)
          USING INDEX state:EdgeState(target)
          WHERE state.target = f.id AND state.kind IN $ask.kinds AND ($reader.keys IS NULL
            OR state.visibility IN $reader.keys)
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.source})
          RETURN m
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (c)<-[edge:ABOUT|MENTIONS]-(m)
          WHERE type(edge) IN $ask.roles AND (source.mentions OR type(edge) = 'ABOUT')
            AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
          AND coalesce(edge.since, edge.recorded_at) <= $known
          RETURN m
          ORDER BY type(edge), edge.memory DESC
          UNION ALL
          WITH source.node AS c, source
          WHERE source.way = 'concept'
          MATCH (state:MentionState)
          USING INDEX state:MentionState(concept)
          WHERE state.concept = c.id AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
            AND state.kind IN $ask.roles AND (source.mentions OR state.kind = 'ABOUT')
            AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
          MATCH (m:Memory {id: state.memory})
          USING INDEX m:Memory(id)
          RETURN m
          ORDER BY state.kind, state.memory DESC
        }
        CALL (m) {
          WITH m
          WHERE m.revised_at <= $known
          RETURN m AS state
          UNION ALL
          WITH m
          WHERE m.revised_at > $known AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
          MATCH (state:MemoryState)
          USING INDEX state:MemoryState(memory, believed_from)
          WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
          RETURN state
        }
        WITH m, state
        WHERE ($reader.keys IS NULL OR state.visibility IN $reader.keys)
          AND state.recorded_at <= $known
          AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
            OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))
          AND ($filter.world IS NULL
            OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
              AND (state.valid_to IS NULL OR $filter.world < state.valid_to
                OR (state.status IN ['superseded', 'archived']
              AND (state.retired_at IS NULL OR $known < state.retired_at)))))
          AND CASE WHEN $filter.narrow THEN
            ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
            AND ($filter.types IS NULL OR state.type IN $filter.types)
            AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
            AND ($filter.session IS NULL OR state.session = $filter.session)
            AND ($filter.task IS NULL OR state.task = $filter.task)
            AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
            AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
            AND ($filter.language IS NULL OR state.language = $filter.language)
          ELSE true END
          AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
        RETURN m
        LIMIT $fan_out
      }
      RETURN m
    }
    WITH DISTINCT m
    LIMIT $room
    RETURN collect(m) AS all
  }
  RETURN collect([m IN all WHERE NOT m IN nodes]) AS reached, collect(found) AS found
}
WITH nodes + coalesce(head(reached), []) AS nodes, joins, size(nodes) AS first, ends + size(nodes) AS ends,
  named + coalesce(head(found), []) AS named
WITH nodes, joins, first, ends, named, [n IN named | n.concept] AS met
// What lies between the memories.
WITH nodes[..$room - 1] AS nodes, size(nodes) = $room AS truncated, joins, ends, named, met
WITH nodes, truncated, joins, ends, named, met, nodes + met AS told
CALL (nodes, told) {
  UNWIND range(0, size(nodes) - 1) AS place
  WITH place, nodes[place] AS a, told
  CALL (a, place) {
    MATCH (a)-[edge]->(end)
    WHERE type(edge) IN $ask.all AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      AND coalesce(edge.since, edge.recorded_at) <= $known
    RETURN end, [place, type(edge), edge.weight, edge.reason, edge.visibility, edge.recorded_at] AS edge
    UNION ALL
    MATCH (state:EdgeState)
    USING INDEX state:EdgeState(source)
    WHERE state.source = a.id AND state.kind IN $ask.all AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
      AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
    MATCH (end:Memory {id: state.target})
    RETURN end, [place, state.kind, state.weight, state.reason, state.visibility, state.recorded_at] AS edge
    UNION ALL
    MATCH (state:MentionState)
    USING INDEX state:MentionState(memory)
    WHERE state.memory = a.id AND state.kind IN $ask.all AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
      AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
    MATCH (end:Concept {id: state.concept})
    RETURN end, [place, state.kind, state.weight, state.reason, state.visibility, state.recorded_at] AS edge
  }
  WITH end, edge
  WHERE end IN told
  WITH end, collect(edge) AS edges
  RETURN collect([end.id, edges]) AS edges, collect(CASE WHEN size(edges) > 1 THEN end END) AS shared
}
CALL (nodes) {
  CALL () {
    UNWIND $reader.keys AS scope
    RETURN scope
    UNION ALL
    MATCH (count:ScopeCount)
    WHERE $reader.keys IS NULL AND count.key > ''
    RETURN count.key AS scope
  }
  MATCH (m:Memory)
  USING INDEX m:Memory(visibility, occurred_at, id)
  WHERE m.visibility = scope AND m.occurred_at IS NOT NULL AND m.id IS NOT NULL
    AND (m.revised_at <= $known OR EXISTS {
      MATCH (state:MemoryState)
      USING INDEX state:MemoryState(memory, believed_from)
      WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
    })
  RETURN count(m) AS total
}
CALL (joins, met) {
  UNWIND CASE WHEN size(joins) > 0 THEN met ELSE [] END AS c
  MATCH (c)-[edge:BROADER|RELATED]->(other)
  WHERE type(edge) IN joins AND other IN met AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
  RETURN collect([c.id, other.id, type(edge), edge.weight, edge.reason, edge.visibility, edge.recorded_at]) AS joined
}
RETURN [m IN nodes | [m.id, m.visibility, m.session, m.session_position]] AS nodes, ends, edges, joined,
  [n IN named WHERE n.hop = 1 OR n.own = 0 OR n.concept IN shared |
    [n.concept.id, n.concept.key, n.concept.label, n.concept.origin, n.uses, n.about]] AS concepts, total, truncated
