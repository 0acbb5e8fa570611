// What is no concept any longer lets go of everything that names it; of one whose names change, the links that ontologies made
// end. Uses are counted anew.
// Parameters: $batch MAP {gone LIST<STRING> of IRIs; named LIST<MAP {iri, keys}>; at INTEGER;
//   separator STRING, between the parts of a key}
// Returns: nothing
// Index: constraint concept_key; indexes mention_state_concept, concept_use_concept
CALL () {
  UNWIND $batch.gone AS iri
  MATCH (concept:Concept {key: iri})
  CALL (concept) {
    MATCH (concept)<-[edge:ABOUT|MENTIONS]-(:Memory)
    DELETE edge
  }
  CALL (concept) {
    MATCH (concept)-[edge:BROADER|RELATED]-(:Concept)
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
}
CALL () {
  UNWIND $batch.named AS row
  MATCH (concept:Concept {key: row.iri})
  WHERE coalesce(concept.keys, []) <> row.keys
  MATCH (concept)<-[edge:ABOUT|MENTIONS]-(memory:Memory)
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
  WITH concept
  MATCH (concept)<-[edge:ABOUT|MENTIONS]-(memory:Memory)
  WITH concept, edge.memory_visibility AS memory_visibility, edge.visibility AS visibility,
    count(DISTINCT memory) AS uses, count(CASE type(edge) WHEN 'ABOUT' THEN 1 END) AS about
  CREATE (:ConceptUse {
    key: concept.id + $batch.separator + memory_visibility + $batch.separator + visibility, concept: concept.id,
    memory_visibility: memory_visibility, visibility: visibility, uses: uses, about: about
  })
}
