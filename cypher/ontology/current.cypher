// Number of the version of the ontologies in force.
// Parameters: none
// Returns: number INTEGER; no row before the first version
// Index: constraint ontology_version_number, in its order
MATCH (version:OntologyVersion)
WHERE version.number > 0
RETURN version.number AS number
ORDER BY version.number DESC
LIMIT 1
