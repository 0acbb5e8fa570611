// How many proposals each author has in each state, how many of them were decided, and in how many microseconds together.
// Parameters: $ask MAP {states LIST<STRING>}; $reader MAP (see README)
// Returns: author, state STRING; total, decided, micros INTEGER
// Index: index proposal_queue, state by state
UNWIND $ask.states AS state
MATCH (proposal:Proposal)
USING INDEX proposal:Proposal(state, at, id)
WHERE proposal.state = state AND proposal.at IS NOT NULL AND proposal.id IS NOT NULL
  AND ($reader.keys IS NULL OR proposal.visibility IN $reader.keys)
RETURN proposal.author AS author, state, count(proposal) AS total, count(proposal.decided_at) AS decided,
  sum(coalesce(proposal.decided_at - proposal.at, 0)) AS micros
