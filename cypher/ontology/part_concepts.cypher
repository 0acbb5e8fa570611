// Takes away the edges that ontologies made from concepts to others.
// Parameters: $batch MAP {iris LIST<STRING>}
// Returns: nothing
// Index: constraint concept_key
UNWIND $batch.iris AS iri
MATCH (:Concept {key: iri})-[edge:BROADER|RELATED]->(:Concept)
WHERE edge.reason = 'ontology'
DELETE edge
