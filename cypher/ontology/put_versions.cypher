// Writes versions of the ontologies. One with a number that is there becomes a conflict.
// Parameters: $batch MAP {versions LIST<MAP {number, body}>}
// Returns: nothing
// Index: constraint ontology_version_number
UNWIND $batch.versions AS row
CREATE (version:OntologyVersion {number: row.number, body: row.body})
