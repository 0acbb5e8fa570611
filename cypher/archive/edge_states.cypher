// What edges that left some memories for others said before, for an archive. A memory without any gives one row without one.
// Parameters: $after STRING, an id; $limit INTEGER, of memories
// Returns: place STRING; target, kind, visibility, reason STRING or null; weight FLOAT or null;
//   recorded_at, since, ended_at INTEGER or null
// Index: constraint memory_id; index edge_state_source
MATCH (source:Memory)
WHERE source.id > $after
WITH source
ORDER BY source.id
LIMIT $limit
OPTIONAL MATCH (state:EdgeState)
WHERE state.source = source.id
RETURN source.id AS place, state.target AS target, state.kind AS kind, state.visibility AS visibility,
  state.weight AS weight, state.reason AS reason, state.recorded_at AS recorded_at, state.since AS since,
  state.ended_at AS ended_at
ORDER BY place, ended_at, kind, target
