// Concepts that a memory named at a moment, and how many did, in the order asked.
// Parameters: $ask MAP {names LIST<STRING> of keys of concepts}; $known INTEGER, the moment; $reader MAP (see README)
// Returns: id, key, label, origin STRING; uses, about INTEGER
// Index: constraint concept_key; index mention_state_concept
UNWIND range(0, size($ask.names) - 1) AS place
MATCH (c:Concept {key: $ask.names[place]})
WITH c, min(place) AS place
CALL (c) {
  MATCH (c)<-[edge:ABOUT|MENTIONS]-()
  WHERE coalesce(edge.since, edge.recorded_at) <= $known
    AND ($reader.keys IS NULL OR edge.memory_visibility IN $reader.keys) AND ($reader.keys IS NULL
      OR edge.visibility IN $reader.keys)
  RETURN edge.memory AS memory, type(edge) AS kind
  UNION ALL
  MATCH (state:MentionState)
  USING INDEX state:MentionState(concept)
  WHERE state.concept = c.id AND coalesce(state.since, state.recorded_at) <= $known AND $known < state.ended_at
    AND ($reader.keys IS NULL OR state.memory_visibility IN $reader.keys) AND ($reader.keys IS NULL
      OR state.visibility IN $reader.keys)
  RETURN state.memory AS memory, state.kind AS kind
}
WITH c, place, count(DISTINCT memory) AS uses,
  count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END) AS about
RETURN c.id AS id, c.key AS key, c.label AS label, c.origin AS origin, uses, about
ORDER BY place
