// Edges that leave some concepts for others, for an archive. A concept without any gives one row without an edge.
// Parameters: $after STRING, an id; $limit INTEGER, of concepts
// Returns: place STRING; target, kind, visibility, reason STRING or null; weight FLOAT or null; recorded_at, since INTEGER or null
// Index: constraint concept_id
MATCH (source:Concept)
WHERE source.id > $after
WITH source
ORDER BY source.id
LIMIT $limit
OPTIONAL MATCH (source)-[edge:BROADER|RELATED]->(target:Concept)
RETURN source.id AS place, target.id AS target, type(edge) AS kind, edge.visibility AS visibility, edge.weight AS weight,
  edge.reason AS reason, edge.recorded_at AS recorded_at, edge.since AS since
ORDER BY place, kind, target
