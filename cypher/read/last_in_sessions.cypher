// The last members of these sessions of one scope, by recording order. The order names the whole key of the index, which then gives the last one first.
// Parameters: $batch MAP {groups LIST<MAP {name, key}>}, the key being scope and name
// Returns: name STRING, id STRING
// Index: memory_session_key
UNWIND $batch.groups AS row
CALL (row) {
  MATCH (memory:Memory {session_key: row.key})
  WHERE memory.session_position > 0
  RETURN memory.id AS id
  ORDER BY memory.session_key DESC, memory.session_position DESC
  LIMIT 1
}
RETURN row.name AS name, id
