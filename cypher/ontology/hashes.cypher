// The hash of each term in force, of one vocabulary or of all.
// Parameters: $vocabulary STRING, the beginning of `present`
// Returns: vocabulary, iri, hash STRING
// Index: constraint term_present
MATCH (term:Term)
WHERE term.present STARTS WITH $vocabulary
RETURN term.vocabulary AS vocabulary, term.iri AS iri, term.hash AS hash
