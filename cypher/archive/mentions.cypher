// Edges from some memories to concepts, for an archive. A memory without any gives one row without an edge.
// Parameters: $after STRING, an id; $limit INTEGER, of memories
// Returns: place STRING; target, kind, visibility, reason, memory_visibility STRING or null; weight FLOAT or null;
//   recorded_at, since INTEGER or null
// Index: constraint memory_id
MATCH (memory:Memory)
WHERE memory.id > $after
WITH memory
ORDER BY memory.id
LIMIT $limit
OPTIONAL MATCH (memory)-[edge:ABOUT|MENTIONS]->(concept:Concept)
RETURN memory.id AS place, concept.id AS target, type(edge) AS kind, edge.visibility AS visibility,
  edge.weight AS weight, edge.reason AS reason, edge.recorded_at AS recorded_at, edge.since AS since,
  edge.memory_visibility AS memory_visibility
ORDER BY place, target, kind
