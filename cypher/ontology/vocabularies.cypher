// Vocabularies that have terms in force, and how many. It walks over all of them.
// Parameters: none
// Returns: vocabulary STRING; terms INTEGER
// Index: constraint term_present
MATCH (term:Term)
WHERE term.present > ''
RETURN term.vocabulary AS vocabulary, count(*) AS terms
ORDER BY vocabulary
