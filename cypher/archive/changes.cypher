// The change log with what each change did to which memory and which proposal, for an archive.
// Parameters: $after INTEGER, a position; $limit INTEGER
// Returns: seq, at, ops INTEGER; id, actor, use_case STRING; reason STRING or null; memories LIST<MAP {memory, effect, visibility}>;
//   proposals LIST<MAP {proposal, kind, state, author, visibility}>
// Index: constraint change_seq; indexes change_memory_seq, change_proposal_seq
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
OPTIONAL MATCH (move:ChangeProposal)
WHERE move.seq = change.seq AND move.proposal IS NOT NULL
WITH change, memories, move
ORDER BY move.proposal
WITH change, memories, collect(CASE WHEN move IS NULL THEN null
  ELSE {proposal: move.proposal, kind: move.kind, state: move.state, author: move.author, visibility: move.visibility}
  END) AS proposals
RETURN change.seq AS seq, change.id AS id, change.at AS at, change.actor AS actor, change.use_case AS use_case,
  change.reason AS reason, change.ops AS ops, memories, proposals
ORDER BY seq
