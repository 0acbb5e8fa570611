// The active memories of one scope with these content hashes.
// Parameters: $batch MAP {active LIST<MAP {hash, key}>}, the key being scope and hash
// Returns: name STRING (the hash), id STRING
// Index: constraint memory_active
UNWIND $batch.active AS row
MATCH (memory:Memory {active_key: row.key})
RETURN row.hash AS name, memory.id AS id
