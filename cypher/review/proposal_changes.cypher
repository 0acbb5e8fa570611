// What became of proposals in the changes above a position, in order: so many rows, and all of the last change.
// Parameters: $after INTEGER; $beyond INTEGER, rows wanted less one; $most INTEGER, the largest position there can be; $ask MAP
//   {author STRING or null}; $reader MAP (see README)
// Returns: seq, at INTEGER; actor, use_case, proposal, kind, state STRING
// Index: index change_proposal_seq, in its order; constraint change_seq
CALL () {
  MATCH (note:ChangeProposal)
  USING INDEX note:ChangeProposal(seq, proposal)
  WHERE note.seq > $after AND note.proposal IS NOT NULL AND ($ask.author IS NULL OR note.author = $ask.author)
    AND ($reader.keys IS NULL OR note.visibility IN $reader.keys)
  WITH note.seq AS seq
  ORDER BY seq
  SKIP $beyond
  LIMIT 1
  RETURN coalesce(max(seq), $most) AS last
}
MATCH (note:ChangeProposal)
USING INDEX note:ChangeProposal(seq, proposal)
WHERE note.seq > $after AND note.seq <= last AND note.proposal IS NOT NULL
  AND ($ask.author IS NULL OR note.author = $ask.author)
  AND ($reader.keys IS NULL OR note.visibility IN $reader.keys)
MATCH (change:Change {seq: note.seq})
RETURN note.seq AS seq, change.at AS at, change.actor AS actor, change.use_case AS use_case, note.proposal AS proposal,
  note.kind AS kind, note.state AS state
ORDER BY seq, proposal
