// What is no concept any longer lets go of everything that names it or is joined to it.
// Parameters: $batch MAP {iris LIST<STRING>}
// Returns: nothing
// Index: constraint concept_key; indexes mention_state_concept, concept_use_concept
UNWIND $batch.iris AS iri
MATCH (concept:Concept {key: iri})
CALL (concept) {
  MATCH (concept)-[edge:ABOUT|MENTIONS|BROADER|RELATED]-()
  DELETE edge
}
CALL (concept) {
  MATCH (state:MentionState {concept: concept.id})
  DELETE state
}
CALL (concept) {
  MATCH (count:ConceptUse {concept: concept.id})
  DELETE count
}
