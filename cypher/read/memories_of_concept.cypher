// Memories that name a concept: those about it first, the latest first among them.
// Parameters: $name STRING, the key of the concept; $limit INTEGER; $reader MAP (see README)
// Returns: id STRING, kind STRING
// Index: constraint concept_key
MATCH (c:Concept {key: $name})<-[edge:ABOUT|MENTIONS]-(:Memory)
WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys) AND ($reader.keys IS NULL
  OR edge.memory_visibility IN $reader.keys)
RETURN edge.memory AS id, min(type(edge)) AS kind
ORDER BY kind, id DESC
LIMIT $limit
