// Concepts, for an archive.
// Parameters: $after STRING, an id; $limit INTEGER
// Returns: id, key, label, origin STRING
// Index: constraint concept_id
MATCH (concept:Concept)
WHERE concept.id > $after
RETURN concept.id AS id, concept.key AS key, concept.label AS label, concept.origin AS origin
ORDER BY id
LIMIT $limit
