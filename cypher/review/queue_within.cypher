// Proposals of one author, run or subject that meet conditions, oldest first.
// Parameters: $target STRING, `author:NAME`, `run:NAME` or `of:ID`; $queue, $at, $after, $limit as in queue.cypher; $reader MAP
//   (see README)
// Returns: body STRING
// Index: index record_key_target, state by state in its order; constraint record_id
UNWIND $queue.states AS state
CALL (state) {
  MATCH (key:RecordKey)
  USING INDEX key:RecordKey(target, state, at, record)
  WHERE key.target = $target AND key.state = state AND key.at >= $at AND key.record IS NOT NULL
    AND (key.at > $at OR key.record > $after)
  MATCH (proposal:Record {id: key.record})
  USING INDEX proposal:Record(id)
  WHERE true
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
  ORDER BY key.target, key.state, key.at, key.record
  LIMIT $limit
}
WITH proposal
ORDER BY proposal.at, proposal.id
LIMIT $limit
RETURN proposal.body AS body
ORDER BY proposal.at, proposal.id
