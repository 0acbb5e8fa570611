// For a rollback: terms that were in force with a version and have ended since. It walks over all terms that there were.
// Parameters: $batch MAP {to, number}
// Returns: vocabulary, iri, key STRING
// Index: constraint term_key
MATCH (term:Term)
WHERE term.key > '' AND term.since <= $batch.to AND term.until > $batch.to
RETURN term.vocabulary AS vocabulary, term.iri AS iri, term.key AS key
