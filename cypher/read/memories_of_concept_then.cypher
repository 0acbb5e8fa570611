// Memories that named a concept at a moment: those about it first, the latest first among them.
// Parameters: $name STRING, the key of the concept; $known INTEGER, the moment; $limit INTEGER; $reader MAP (see
//   README)
// Returns: id STRING, kind STRING
// Index: constraint concept_key; index mention_state_concept
MATCH (c:Concept {key: $name})
CALL (c) {
  MATCH (c)<-[edge:ABOUT|MENTIONS]-(:Memory)
  WHERE coalesce(edge.since, edge.recorded_at) <= $known
    AND ($reader.keys IS NULL OR edge.visibility IN $reader.keys) AND ($reader.keys IS NULL
      OR edge.memory_visibility IN $reader.keys)
  RETURN edge.memory AS id, type(edge) AS kind
  UNION ALL
  MATCH (state:MentionState)
  USING INDEX state:MentionState(concept)
  WHERE state.concept = c.id AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
    AND ($reader.keys IS NULL OR state.visibility IN $reader.keys) AND ($reader.keys IS NULL
      OR state.memory_visibility IN $reader.keys)
  RETURN state.memory AS id, state.kind AS kind
}
RETURN id, min(kind) AS kind
ORDER BY kind, id DESC
LIMIT $limit
