// Terms of ontologies as they are and were, for an archive.
// Parameters: $after STRING, a key; $limit INTEGER
// Returns: key, vocabulary, body STRING; since INTEGER; until INTEGER or null; keys LIST<STRING>
// Index: constraint term_key
MATCH (term:Term)
WHERE term.key > $after
RETURN term.key AS key, term.vocabulary AS vocabulary, term.body AS body, term.since AS since, term.until AS until,
  term.keys AS keys
ORDER BY key
LIMIT $limit
