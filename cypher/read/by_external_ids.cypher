// The visible memories with these external ids.
// Parameters: $names LIST<STRING>; $keys LIST<STRING> of scopes, null for all
// Returns: name STRING, id STRING
// Index: memory_external_id
UNWIND $names AS name
MATCH (memory:Memory {external_id: name})
WHERE $keys IS NULL OR memory.visibility IN $keys
RETURN name, memory.id AS id
ORDER BY id
