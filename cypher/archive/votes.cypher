// Votes on some memories, for an archive. A memory without any gives one row without one.
// Parameters: $after STRING, an id; $limit INTEGER, of memories
// Returns: place STRING; principal, note STRING or null; useful BOOLEAN or null; at INTEGER or null
// Index: constraint memory_id; index vote_memory
MATCH (memory:Memory)
WHERE memory.id > $after
WITH memory
ORDER BY memory.id
LIMIT $limit
OPTIONAL MATCH (vote:Vote)
WHERE vote.memory = memory.id
RETURN memory.id AS place, vote.principal AS principal, vote.useful AS useful, vote.note AS note, vote.at AS at
ORDER BY place, principal
