// Begins a preparation or goes on with it: until `held_until`, by the clock of the server, no other takes its place.
// Parameters: $batch MAP {number; vocabulary, source_hash; held_millis}
// Returns: nothing
// Index: constraint ontology_staging_number
MERGE (staging:OntologyStaging {number: $batch.number})
SET staging.vocabulary = $batch.vocabulary, staging.source_hash = $batch.source_hash,
  staging.held_until = timestamp() + $batch.held_millis
