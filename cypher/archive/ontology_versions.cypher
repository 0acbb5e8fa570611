// Versions of the ontologies, for an archive.
// Parameters: $after INTEGER, a number; $limit INTEGER
// Returns: number INTEGER; body STRING
// Index: constraint ontology_version_number
MATCH (version:OntologyVersion)
WHERE version.number > $after
RETURN version.number AS number, version.body AS body
ORDER BY number
LIMIT $limit
