// How many proposals meet conditions.
// Parameters: $queue as in queue.cypher; $reader MAP (see README)
// Returns: total INTEGER
// Index: index proposal_queue, state by state
UNWIND $queue.states AS state
MATCH (proposal:Proposal)
USING INDEX proposal:Proposal(state, at, id)
WHERE proposal.state = state AND proposal.at IS NOT NULL AND proposal.id IS NOT NULL
  AND ($queue.kinds IS NULL OR proposal.class IN $queue.kinds)
  AND ($queue.of IS NULL OR proposal.of = $queue.of)
  AND ($queue.author IS NULL OR proposal.author = $queue.author)
  AND ($queue.run IS NULL OR proposal.run = $queue.run)
  AND ($queue.held_by IS NULL
    OR (proposal.claimed_by = $queue.held_by AND proposal.claimed_until > $queue.held_at))
  AND ($queue.free_at IS NULL OR proposal.claimed_until IS NULL OR proposal.claimed_until <= $queue.free_at)
  AND ($queue.flagged IS NULL OR proposal.flagged = $queue.flagged)
  AND ($reader.keys IS NULL OR proposal.visibility IN $reader.keys)
RETURN count(proposal) AS total
