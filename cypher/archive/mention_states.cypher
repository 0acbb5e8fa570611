// What edges from some memories to concepts said before, for an archive. A memory without any gives one row without one.
// Parameters: $after STRING, an id; $limit INTEGER, of memories
// Returns: place STRING; target, kind, visibility, reason, memory_visibility STRING or null; weight FLOAT or null;
//   recorded_at, since, ended_at INTEGER or null
// Index: constraint memory_id; index mention_state_memory
MATCH (memory:Memory)
WHERE memory.id > $after
WITH memory
ORDER BY memory.id
LIMIT $limit
OPTIONAL MATCH (state:MentionState)
WHERE state.memory = memory.id
RETURN memory.id AS place, state.concept AS target, state.kind AS kind, state.visibility AS visibility,
  state.weight AS weight, state.reason AS reason, state.recorded_at AS recorded_at, state.since AS since,
  state.ended_at AS ended_at, state.memory_visibility AS memory_visibility
ORDER BY place, ended_at, target, kind
