// Each state a memory was in, oldest first, the present one last.
// Parameters: $id STRING; $reader MAP (see README)
// Returns: believed_from INTEGER, believed_to INTEGER (null for the present one), body STRING, access_count INTEGER,
//   last_accessed INTEGER or null (both counters null for the others)
// Index: constraint memory_id; index memory_state_memory
MATCH (m:Memory {id: $id})
WHERE ($reader.keys IS NULL OR m.visibility IN $reader.keys)
CALL (m) {
  MATCH (state:MemoryState)
  USING INDEX state:MemoryState(memory, believed_from)
  WHERE state.memory = m.id AND state.believed_from IS NOT NULL AND ($reader.keys IS NULL
    OR state.visibility IN $reader.keys)
  RETURN state.believed_from AS believed_from, state.believed_to AS believed_to, state.seq AS seq, state.body AS body,
    null AS access_count, null AS last_accessed
  UNION ALL
  WITH m
  RETURN m.revised_at AS believed_from, null AS believed_to, null AS seq, m.body AS body,
    m.access_count AS access_count, m.last_accessed AS last_accessed
}
RETURN believed_from, believed_to, body, access_count, last_accessed
ORDER BY believed_to IS NULL, believed_from, seq
