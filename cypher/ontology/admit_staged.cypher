// Prepared terms become terms in force.
// Parameters: $batch MAP {terms LIST<MAP {iri, present}>}
// Returns: nothing
// Index: constraint staged_term_iri
UNWIND $batch.terms AS row
MATCH (term:StagedTerm {iri: row.iri})
SET term:Term, term.present = row.present
REMOVE term:StagedTerm
