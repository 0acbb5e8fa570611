// Memories in the state each was in at a moment, in the order asked; those that were not there then are left out. A
// state may have had a narrower scope than the memory has now.
// Parameters: $ask MAP {ids LIST<STRING>}; $reader MAP (see README); $known INTEGER, the moment
// Returns: present BOOLEAN, whether it is still in that state; body STRING
// Index: constraint memory_id; index memory_state_memory
UNWIND range(0, size($ask.ids) - 1) AS place
MATCH (m:Memory {id: $ask.ids[place]})
WHERE ($reader.keys IS NULL OR m.visibility IN $reader.keys)
CALL (m) {
  WITH m
  WHERE m.revised_at <= $known
  RETURN true AS present, m.body AS body
  UNION ALL
  WITH m
  WHERE m.revised_at > $known
  MATCH (state:MemoryState)
  USING INDEX state:MemoryState(memory, believed_from)
  WHERE state.memory = m.id AND state.believed_from <= $known AND $known < state.believed_to
    AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
  RETURN false AS present, state.body AS body
}
RETURN present, body
ORDER BY place
