// Adds terms, in force or as they were, from an archive. One whose key is there becomes a conflict.
// Parameters: $batch MAP {terms LIST<MAP> of properties}
// Returns: nothing
// Index: constraints term_key, term_present
UNWIND $batch.terms AS properties
CREATE (term:Term)
SET term = properties
