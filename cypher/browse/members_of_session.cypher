// Members of a session by id, which is the order of recording.
// Parameters: $suffix STRING, what follows the scope in a session_key; $after STRING, an id or empty; $limit INTEGER;
//   $reader MAP (see README)
// Returns: body STRING, access_count INTEGER, last_accessed INTEGER or null
// Index: index memory_session_key; constraint scope_count_key
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
  WHERE m.session_key = scope + $suffix AND m.session_position IS NOT NULL AND m.id > $after
  RETURN m
  ORDER BY m.id
  LIMIT $limit
}
WITH m
ORDER BY m.id
LIMIT $limit
RETURN m.body AS body, m.access_count AS access_count, m.last_accessed AS last_accessed
ORDER BY m.id
