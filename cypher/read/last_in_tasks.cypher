// The last members of these tasks of one scope, by recording order. The order names the whole key of the index, which then gives the last one first.
// Parameters: $batch MAP {groups LIST<MAP {name, key}>}, the key being scope and name
// Returns: name STRING, id STRING
// Index: memory_task_key
UNWIND $batch.groups AS row
CALL (row) {
  MATCH (memory:Memory {task_key: row.key})
  WHERE memory.task_position > 0
  RETURN memory.id AS id
  ORDER BY memory.task_key DESC, memory.task_position DESC
  LIMIT 1
}
RETURN row.name AS name, id
