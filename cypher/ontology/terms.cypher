// Terms in force by IRI, one for each vocabulary that describes it, in the order asked.
// Parameters: $batch MAP {iris LIST<STRING>}
// Returns: vocabulary, body STRING; keys LIST<STRING>
// Index: index term_iri
UNWIND range(0, size($batch.iris) - 1) AS place
MATCH (term:Term)
USING INDEX term:Term(iri)
WHERE term.iri = $batch.iris[place] AND term.present IS NOT NULL
RETURN term.vocabulary AS vocabulary, term.body AS body, term.keys AS keys
ORDER BY place, vocabulary
