// Terms in force, by vocabulary and IRI.
// Parameters: $after, $end STRING, values of `present` before the first and beyond the last; $limit INTEGER
// Returns: vocabulary, body STRING
// Index: constraint term_present, in its order
MATCH (term:Term)
WHERE term.present > $after AND term.present < $end
RETURN term.vocabulary AS vocabulary, term.body AS body
ORDER BY term.present
LIMIT $limit
