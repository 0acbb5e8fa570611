// Drops what was prepared.
// Parameters: none
// Returns: nothing
// Index: constraints ontology_staging_number, staged_term_iri
CALL () {
  MATCH (term:StagedTerm)
  WHERE term.iri > ''
  DELETE term
}
CALL () {
  MATCH (staging:OntologyStaging)
  WHERE staging.number > 0
  DELETE staging
}
