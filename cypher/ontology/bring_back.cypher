// For a rollback: terms that ended are in force again, as terms of the new version.
// Parameters: $batch MAP {terms LIST<MAP {from, key, present}>; number}
// Returns: nothing
// Index: constraint term_key
UNWIND $batch.terms AS row
MATCH (ended:Term {key: row.from})
WITH row, properties(ended) AS kept
CREATE (term:Term)
SET term = kept {.*, key: row.key, present: row.present, since: $batch.number, until: null}
