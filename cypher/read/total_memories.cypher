// Number of memories, of any status.
// Parameters: $reader MAP (see README)
// Returns: total INTEGER
// Index: constraint scope_count_key
CALL () {
  UNWIND $reader.keys AS key
  MATCH (count:ScopeCount {key: key})
  RETURN count.memories AS memories
  UNION ALL
  MATCH (count:ScopeCount)
  WHERE $reader.keys IS NULL AND count.key > ''
  RETURN count.memories AS memories
}
RETURN coalesce(sum(memories), 0) AS total
