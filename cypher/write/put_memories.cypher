// Writes memories as they are now, their counters, the states that ended, and how many memories each scope has.
// Parameters: $batch MAP {released LIST<STRING> of ids of memories whose keys others may take; memories LIST<MAP {id, properties}>;
//   counters LIST<MAP {id, access_count, last_accessed}>; states LIST<MAP> of properties;
//   scopes LIST<MAP {key, by}>}
// Returns: nothing
// Index: constraints memory_id, scope_count_key
CALL () {
  UNWIND $batch.released AS id
  MATCH (memory:Memory {id: id})
  REMOVE memory.external_key, memory.active_key
}
CALL () {
  UNWIND $batch.memories AS row
  MERGE (memory:Memory {id: row.id})
  SET memory = row.properties
}
CALL () {
  UNWIND $batch.counters AS row
  MATCH (memory:Memory {id: row.id})
  SET memory.access_count = row.access_count, memory.last_accessed = row.last_accessed
}
CALL () {
  UNWIND $batch.states AS properties
  CREATE (state:MemoryState)
  SET state = properties
}
CALL () {
  UNWIND $batch.scopes AS row
  MERGE (count:ScopeCount {key: row.key})
  ON CREATE SET count.memories = row.by
  ON MATCH SET count.memories = count.memories + row.by
}
