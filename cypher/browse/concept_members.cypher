// Memories that name a concept, with how: those about it first, newest id first.
// Parameters: $concept STRING, an id; $kind STRING and $after STRING, kind and id of the one before, or empty; $limit
//   INTEGER; $reader MAP (see README)
// Returns: body STRING, access_count INTEGER, last_accessed INTEGER or null, kind STRING
// Index: constraint concept_id
MATCH (c:Concept {id: $concept})<-[edge:ABOUT|MENTIONS]-(m:Memory)
WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys) AND ($reader.keys IS NULL
  OR edge.memory_visibility IN $reader.keys)
WITH m, edge.memory AS id, min(type(edge)) AS kind
WHERE kind > $kind OR (kind = $kind AND id < $after)
WITH m, id, kind
ORDER BY kind, id DESC
LIMIT $limit
RETURN m.body AS body, m.access_count AS access_count, m.last_accessed AS last_accessed, kind
ORDER BY kind, m.id DESC
