// Rows of the outbox above a position, in order.
// Parameters: $after INTEGER, $limit INTEGER
// Returns: seq INTEGER, op STRING, vectors BYTES or null
// Index: constraint outbox_seq
MATCH (waiting:Outbox)
WHERE waiting.seq > $after
RETURN waiting.seq AS seq, waiting.op AS op, waiting.vectors AS vectors
ORDER BY seq
LIMIT $limit
