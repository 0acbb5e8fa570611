// Of concepts whose names change, the links that ontologies made end; uses are counted anew.
// Parameters: $batch MAP {iris LIST<STRING>; at INTEGER; separator STRING, between the parts of a key}
// Returns: nothing
// Index: constraint concept_key; index concept_use_concept
UNWIND $batch.iris AS iri
MATCH (concept:Concept {key: iri})<-[edge:ABOUT|MENTIONS]-(memory:Memory)
WHERE edge.reason = 'ontology'
CREATE (state:MentionState)
SET state = properties(edge), state.memory = memory.id, state.concept = concept.id, state.kind = type(edge),
  state.ended_at = $batch.at
DELETE edge
WITH DISTINCT concept
CALL (concept) {
  MATCH (count:ConceptUse {concept: concept.id})
  DELETE count
}
MATCH (concept)<-[edge:ABOUT|MENTIONS]-(memory:Memory)
WITH concept, edge.memory_visibility AS memory_visibility, edge.visibility AS visibility,
  count(DISTINCT memory) AS uses, count(CASE type(edge) WHEN 'ABOUT' THEN 1 END) AS about
CREATE (:ConceptUse {
  key: concept.id + $batch.separator + memory_visibility + $batch.separator + visibility, concept: concept.id,
  memory_visibility: memory_visibility, visibility: visibility, uses: uses, about: about
})
