// Rows of the audit log below a position, latest first, each with the memories it touched.
// Parameters: $before INTEGER; $left_out STRING, a use case; $named INTEGER, memories named of each; $limit INTEGER;
//   $reader MAP (see README)
// Returns: seq INTEGER; change STRING; at INTEGER; actor, use_case STRING; reason STRING or null; memories LIST<LIST>
//   of id and effect; total INTEGER
// Index: constraint change_seq, from its end; index change_memory_seq
MATCH (change:Change)
USING INDEX change:Change(seq)
WHERE change.seq < $before AND change.use_case <> $left_out
WITH change
ORDER BY change.seq DESC
LIMIT $limit
CALL (change) {
  MATCH (note:ChangeMemory)
  WHERE note.seq = change.seq AND note.memory IS NOT NULL AND ($reader.keys IS NULL OR note.visibility IN $reader.keys)
  WITH note
  ORDER BY note.memory
  RETURN collect([note.memory, note.effect]) AS memories
}
RETURN change.seq AS seq, change.id AS change, change.at AS at, change.actor AS actor, change.use_case AS use_case,
  CASE WHEN size(memories) > 0 THEN change.reason END AS reason, memories[..$named] AS memories, size(memories) AS total
ORDER BY seq DESC
