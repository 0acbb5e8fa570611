// The states that some memories were in, for an archive. A memory without any gives one row without a state.
// Parameters: $after STRING, an id; $limit INTEGER, of memories
// Returns: place STRING; body STRING or null; believed_from, believed_to INTEGER or null
// Index: constraint memory_id; index memory_state_memory
MATCH (memory:Memory)
WHERE memory.id > $after
WITH memory
ORDER BY memory.id
LIMIT $limit
OPTIONAL MATCH (state:MemoryState)
WHERE state.memory = memory.id AND state.believed_from IS NOT NULL
RETURN memory.id AS place, state.body AS body, state.believed_from AS believed_from, state.believed_to AS believed_to
ORDER BY place, state.seq
