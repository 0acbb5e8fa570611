// Terms in force end with a version.
// Parameters: $batch MAP {present LIST<STRING> of keys; number}
// Returns: nothing
// Index: constraint term_present
UNWIND $batch.present AS key
MATCH (term:Term {present: key})
SET term.until = $batch.number
REMOVE term.present
