// The latest memories of some types, newest first.
// Parameters: $limit INTEGER; $reader MAP (see README); $filter MAP (see README); $filter.types is not null
// Returns: id STRING, at INTEGER, when it happened
// Index: index memory_scope_type, scope by scope and type by type in its order, no further than the limit; constraint
//   scope_count_key
CALL () {
  UNWIND $reader.keys AS scope
  RETURN scope
  UNION ALL
  MATCH (count:ScopeCount)
  WHERE $reader.keys IS NULL AND count.key > ''
  RETURN count.key AS scope
}
UNWIND $filter.types AS type
CALL (scope, type) {
  MATCH (m:Memory)
  USING INDEX m:Memory(visibility, type, occurred_at, id)
  WHERE m.visibility = scope AND m.type = type AND m.occurred_at IS NOT NULL AND m.id IS NOT NULL
    AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
    AND (m.status = 'active' OR ($filter.superseded AND m.status = 'superseded'))
    AND ($filter.world IS NULL
      OR ((m.valid_from IS NULL OR m.valid_from <= $filter.world)
        AND (m.valid_to IS NULL OR $filter.world < m.valid_to)))
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
  ORDER BY m.visibility DESC, m.type DESC, m.occurred_at DESC, m.id DESC
  LIMIT $limit
}
RETURN id, at
ORDER BY at DESC, id DESC
LIMIT $limit
