// For a rollback: terms in force that came after a version end. It walks over all that are in force.
// Parameters: $batch MAP {to, number}
// Returns: vocabulary, iri STRING
// Index: constraint term_present
MATCH (term:Term)
WHERE term.present > '' AND term.since > $batch.to
WITH collect(term) AS terms
UNWIND terms AS term
SET term.until = $batch.number
REMOVE term.present
RETURN term.vocabulary AS vocabulary, term.iri AS iri
