// Concepts right below one, by label and IRI, with how many are below each.
// Parameters: $parent STRING, an IRI; $label, $uri STRING, those of the one before, or empty; $limit INTEGER
// Returns: iri, label STRING; narrower INTEGER
// Index: constraint concept_key
MATCH (:Concept {key: $parent})<-[:BROADER]-(c:Concept)
WHERE c.label > $label OR (c.label = $label AND c.key > $uri)
WITH c
ORDER BY c.label, c.key
LIMIT $limit
RETURN c.key AS iri, c.label AS label, COUNT { (c)<-[:BROADER]-(:Concept) } AS narrower
ORDER BY label, iri
