// Concepts there are, with their names as they are searched.
// Parameters: $batch MAP {iris LIST<STRING>}
// Returns: iri STRING; keys LIST<STRING>
// Index: constraint concept_key
UNWIND $batch.iris AS iri
MATCH (concept:Concept {key: iri})
RETURN iri, coalesce(concept.keys, []) AS keys
