// What is prepared for the next version, and whether the process that prepares it may still be at it.
// Parameters: none
// Returns: number INTEGER; vocabulary, source_hash STRING; held BOOLEAN; no row if nothing is prepared
// Index: constraint ontology_staging_number
MATCH (staging:OntologyStaging)
WHERE staging.number > 0
RETURN staging.number AS number, staging.vocabulary AS vocabulary, staging.source_hash AS source_hash,
  staging.held_until > timestamp() AS held
