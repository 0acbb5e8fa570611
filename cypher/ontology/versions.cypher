// Versions of the ontologies, the latest first.
// Parameters: $before, $limit INTEGER
// Returns: body STRING
// Index: constraint ontology_version_number, in its order
MATCH (version:OntologyVersion)
WHERE version.number < $before
RETURN version.body AS body
ORDER BY version.number DESC
LIMIT $limit
