// Concepts of ontologies below none, by label and IRI, with how many are below each.
// Parameters: $label, $uri STRING, those of the one before, or empty; $limit INTEGER
// Returns: iri, label STRING; narrower INTEGER
// Index: index resource_label, in its order
MATCH (c:Resource)
USING INDEX c:Resource(label, uri)
WHERE c.label >= $label AND c.uri IS NOT NULL AND (c.label > $label OR c.uri > $uri)
  AND c:Concept AND NOT EXISTS { (c)-[:BROADER]->(:Concept) }
WITH c
ORDER BY c.label, c.uri
LIMIT $limit
RETURN c.uri AS iri, c.label AS label, COUNT { (c)<-[:BROADER]-(:Concept) } AS narrower
ORDER BY label, iri
