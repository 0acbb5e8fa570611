// The last members of a task, in the scopes the reader sees, by the time they were recorded, latest first.
// Parameters: $suffix STRING, what follows the scope in a task_key; $limit INTEGER; $reader MAP (see README)
// Returns: id STRING
// Index: index memory_task_key, scope by scope from its end; constraint scope_count_key
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
  WHERE m.task_key = scope + $suffix AND m.task_position IS NOT NULL
  RETURN m.id AS id
  ORDER BY m.task_key DESC, m.task_position DESC
  LIMIT $limit
}
RETURN id
ORDER BY id DESC
LIMIT $limit
