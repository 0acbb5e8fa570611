// Memories that meet conditions, latest first.
// Parameters: $listing MAP {statuses, kinds, types, tags LIST<STRING>; session, task STRING; since, until INTEGER; each
//   or null}; $at INTEGER and $after STRING, time and id of the one before, or the largest; $limit INTEGER; $reader MAP
//   (see README)
// Returns: body STRING, access_count INTEGER, last_accessed INTEGER or null
// Index: index memory_scope_occurred, scope by scope in its order, no further than the limit; constraint
//   scope_count_key
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
  WHERE m.visibility = scope AND m.occurred_at <= $at AND m.id IS NOT NULL
    AND (m.occurred_at < $at OR m.id < $after)
    AND ($listing.statuses IS NULL OR m.status IN $listing.statuses)
    AND ($listing.kinds IS NULL OR m.kind IN $listing.kinds)
    AND ($listing.types IS NULL OR m.type IN $listing.types)
    AND ($listing.tags IS NULL OR any(tag IN m.tags WHERE tag IN $listing.tags))
    AND ($listing.session IS NULL OR m.session = $listing.session)
    AND ($listing.task IS NULL OR m.task = $listing.task)
    AND ($listing.since IS NULL OR m.occurred_at >= $listing.since)
    AND ($listing.until IS NULL OR m.occurred_at < $listing.until)
  RETURN m
  ORDER BY m.visibility DESC, m.occurred_at DESC, m.id DESC
  LIMIT $limit
}
WITH m
ORDER BY m.occurred_at DESC, m.id DESC
LIMIT $limit
RETURN m.body AS body, m.access_count AS access_count, m.last_accessed AS last_accessed
ORDER BY m.occurred_at DESC, m.id DESC
