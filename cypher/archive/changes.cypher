// The change log with what each change did to which memory, for an archive.
// Parameters: $after INTEGER, a position; $limit INTEGER
// Returns: seq, at, ops INTEGER; id, actor, use_case STRING; reason STRING or null; memories LIST<MAP {memory, effect, visibility}>
// Index: constraint change_seq; index change_memory_seq
MATCH (change:Change)
WHERE change.seq > $after
WITH change
ORDER BY change.seq
LIMIT $limit
OPTIONAL MATCH (note:ChangeMemory)
WHERE note.seq = change.seq AND note.memory IS NOT NULL
WITH change, note
ORDER BY note.memory
WITH change, collect(CASE WHEN note IS NULL THEN null
  ELSE {memory: note.memory, effect: note.effect, visibility: note.visibility} END) AS memories
RETURN change.seq AS seq, change.id AS id, change.at AS at, change.actor AS actor, change.use_case AS use_case,
  change.reason AS reason, change.ops AS ops, memories
ORDER BY seq
