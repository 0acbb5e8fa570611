// Proposals that meet conditions, oldest first.
// Parameters: $queue MAP {states LIST<STRING>; kinds LIST<STRING>, of, author, run, held_by STRING, held_at,
//   free_at INTEGER, flagged BOOLEAN, each or null}; $at INTEGER and $after STRING, time and id of the one before, or the least;
//   $limit INTEGER; $reader MAP (see README)
// Returns: body STRING
// Index: index proposal_queue, state by state in its order, no further than the limit
UNWIND $queue.states AS state
CALL (state) {
  MATCH (proposal:Proposal)
  USING INDEX proposal:Proposal(state, at, id)
  WHERE proposal.state = state AND proposal.at >= $at AND proposal.id IS NOT NULL
    AND (proposal.at > $at OR proposal.id > $after)
    AND ($queue.kinds IS NULL OR proposal.class IN $queue.kinds)
    AND ($queue.of IS NULL OR proposal.of = $queue.of)
    AND ($queue.author IS NULL OR proposal.author = $queue.author)
    AND ($queue.run IS NULL OR proposal.run = $queue.run)
    AND ($queue.held_by IS NULL
      OR (proposal.claimed_by = $queue.held_by AND proposal.claimed_until > $queue.held_at))
    AND ($queue.free_at IS NULL OR proposal.claimed_until IS NULL OR proposal.claimed_until <= $queue.free_at)
    AND ($queue.flagged IS NULL OR proposal.flagged = $queue.flagged)
    AND ($reader.keys IS NULL OR proposal.visibility IN $reader.keys)
  RETURN proposal
  ORDER BY proposal.state, proposal.at, proposal.id
  LIMIT $limit
}
WITH proposal
ORDER BY proposal.at, proposal.id
LIMIT $limit
RETURN proposal.body AS body
ORDER BY proposal.at, proposal.id
