// What became of memories in the changes above a position, in order: so many rows, and all of the last change.
// Parameters: $after INTEGER; $beyond INTEGER, rows wanted less one; $most INTEGER, the largest position there can be;
//   $reader MAP (see README)
// Returns: seq INTEGER; at INTEGER; memory, effect STRING
// Index: index change_memory_seq, in its order; constraint change_seq
CALL () {
  MATCH (note:ChangeMemory)
  USING INDEX note:ChangeMemory(seq, memory)
  WHERE note.seq > $after AND note.memory IS NOT NULL AND ($reader.keys IS NULL OR note.visibility IN $reader.keys)
  WITH note.seq AS seq
  ORDER BY seq
  SKIP $beyond
  LIMIT 1
  RETURN coalesce(max(seq), $most) AS last
}
MATCH (note:ChangeMemory)
USING INDEX note:ChangeMemory(seq, memory)
WHERE note.seq > $after AND note.seq <= last AND note.memory IS NOT NULL AND ($reader.keys IS NULL
  OR note.visibility IN $reader.keys)
MATCH (change:Change {seq: note.seq})
RETURN note.seq AS seq, change.at AS at, note.memory AS memory, note.effect AS effect
ORDER BY seq, memory
