// Terms that are prepared, with their hashes.
// Parameters: none
// Returns: iri, hash STRING
// Index: constraint staged_term_iri
MATCH (term:StagedTerm)
WHERE term.iri > ''
RETURN term.iri AS iri, term.hash AS hash
