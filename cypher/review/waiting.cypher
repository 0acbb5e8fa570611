// Since when pending proposals wait, oldest first.
// Parameters: $state STRING; $limit INTEGER; $reader MAP (see README)
// Returns: at INTEGER
// Index: index proposal_queue, in its order
MATCH (proposal:Proposal)
USING INDEX proposal:Proposal(state, at, id)
WHERE proposal.state = $state AND proposal.at IS NOT NULL AND proposal.id IS NOT NULL
  AND ($reader.keys IS NULL OR proposal.visibility IN $reader.keys)
RETURN proposal.at AS at
ORDER BY proposal.state, proposal.at, proposal.id
LIMIT $limit
