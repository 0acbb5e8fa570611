// Adds terms to those that are prepared.
// Parameters: $batch MAP {terms LIST<MAP {iri, properties}>}
// Returns: nothing
// Index: constraint staged_term_iri
UNWIND $batch.terms AS row
MERGE (term:StagedTerm {iri: row.iri})
SET term = row.properties
