// The latest memories as they were at a moment, newest first.
// Parameters: $limit INTEGER; $reader MAP (see README); $known INTEGER, the moment; $filter MAP (see README)
// Returns: id STRING, at INTEGER, when it happened
// Index: index memory_scope_occurred, scope by scope in its order; index memory_state_ended; constraints memory_id,
//   scope_count_key
CALL () {
  CALL () {
    UNWIND $reader.keys AS scope
    RETURN scope
    UNION ALL
    MATCH (count:ScopeCount)
    WHERE $reader.keys IS NULL AND count.key > ''
    RETURN count.key AS scope
  }
  CALL (scope) {
    MATCH (m:Memory)
    USING INDEX m:Memory(visibility, occurred_at, id)
    WHERE m.visibility = scope AND m.occurred_at IS NOT NULL AND m.id IS NOT NULL AND m.revised_at <= $known
      AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
      AND m.recorded_at <= $known
      AND (m.status = 'active' OR ($filter.superseded AND m.status = 'superseded')
        OR (m.status IN ['superseded', 'archived']
          AND (m.retired_at IS NULL OR $known < m.retired_at)))
      AND ($filter.world IS NULL
        OR ((m.valid_from IS NULL OR m.valid_from <= $filter.world)
          AND (m.valid_to IS NULL OR $filter.world < m.valid_to
            OR (m.status IN ['superseded', 'archived']
          AND (m.retired_at IS NULL OR $known < m.retired_at)))))
      AND ($filter.kinds IS NULL OR m.kind IN $filter.kinds)
      AND ($filter.types IS NULL OR m.type IN $filter.types)
      AND ($filter.tags IS NULL OR any(tag IN m.tags WHERE tag IN $filter.tags))
      AND ($filter.session IS NULL OR m.session = $filter.session)
      AND ($filter.task IS NULL OR m.task = $filter.task)
      AND ($filter.since IS NULL OR m.occurred_at >= $filter.since)
      AND ($filter.until IS NULL OR m.occurred_at < $filter.until)
      AND ($filter.language IS NULL OR m.language = $filter.language)
      AND ($filter.now IS NULL OR m.expires_at IS NULL OR $filter.now < m.expires_at)
    RETURN m.id AS id, m.occurred_at AS at
    ORDER BY m.visibility DESC, m.occurred_at DESC, m.id DESC
    LIMIT $limit
  }
  RETURN id, at
  UNION ALL
  MATCH (state:MemoryState)
  USING INDEX state:MemoryState(believed_to)
  WHERE $known < state.believed_to AND state.believed_from <= $known
    AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
    AND state.recorded_at <= $known
    AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
      OR (state.status IN ['superseded', 'archived']
        AND (state.retired_at IS NULL OR $known < state.retired_at)))
    AND ($filter.world IS NULL
      OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
        AND (state.valid_to IS NULL OR $filter.world < state.valid_to
          OR (state.status IN ['superseded', 'archived']
        AND (state.retired_at IS NULL OR $known < state.retired_at)))))
    AND ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
    AND ($filter.types IS NULL OR state.type IN $filter.types)
    AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
    AND ($filter.session IS NULL OR state.session = $filter.session)
    AND ($filter.task IS NULL OR state.task = $filter.task)
    AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
    AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
    AND ($filter.language IS NULL OR state.language = $filter.language)
    AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
  MATCH (m:Memory {id: state.memory})
  USING INDEX m:Memory(id)
  WHERE ($reader.keys IS NULL OR m.visibility IN $reader.keys)
  RETURN m.id AS id, state.occurred_at AS at
}
RETURN id, at
ORDER BY at DESC, id DESC
LIMIT $limit
