// The visible memories with these external ids.
// Parameters: $batch MAP {names LIST<STRING>; keys LIST<STRING> of scopes, null for all}
// Returns: name STRING, id STRING
// Index: memory_external_id
UNWIND $batch.names AS name
MATCH (memory:Memory {external_id: name})
WHERE $batch.keys IS NULL OR memory.visibility IN $batch.keys
RETURN name, memory.id AS id
ORDER BY id
