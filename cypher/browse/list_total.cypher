// How many memories meet conditions. It reads all of the reader's scopes.
// Parameters: $listing MAP {statuses, kinds, types, tags LIST<STRING>; session, task STRING; since, until INTEGER; each
//   or null}; $reader MAP (see README)
// Returns: total INTEGER
// Index: index memory_scope_occurred, scope by scope; constraint scope_count_key
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
  AND ($listing.statuses IS NULL OR m.status IN $listing.statuses)
  AND ($listing.kinds IS NULL OR m.kind IN $listing.kinds)
  AND ($listing.types IS NULL OR m.type IN $listing.types)
  AND ($listing.tags IS NULL OR any(tag IN m.tags WHERE tag IN $listing.tags))
  AND ($listing.session IS NULL OR m.session = $listing.session)
  AND ($listing.task IS NULL OR m.task = $listing.task)
  AND ($listing.since IS NULL OR m.occurred_at >= $listing.since)
  AND ($listing.until IS NULL OR m.occurred_at < $listing.until)
RETURN count(m) AS total
