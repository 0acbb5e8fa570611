// Edges that leave some memories for others, for an archive. A memory without any gives one row without an edge.
// Parameters: $after STRING, an id; $limit INTEGER, of memories
// Returns: place STRING; target, kind, visibility, reason STRING or null; weight FLOAT or null; recorded_at, since INTEGER or null
// Index: constraint memory_id
MATCH (source:Memory)
WHERE source.id > $after
WITH source
ORDER BY source.id
LIMIT $limit
OPTIONAL MATCH (source)
  -[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(target:Memory)
RETURN source.id AS place, target.id AS target, type(edge) AS kind, edge.visibility AS visibility, edge.weight AS weight,
  edge.reason AS reason, edge.recorded_at AS recorded_at, edge.since AS since
ORDER BY place, kind, target
