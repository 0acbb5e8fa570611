// Removes rows of the outbox that the vector index has made durable, a part of them at a time.
// Parameters: $seq INTEGER, the last of them; $limit INTEGER
// Returns: removed INTEGER
// Index: constraint outbox_seq
MATCH (waiting:Outbox)
WHERE waiting.seq <= $seq
WITH waiting
LIMIT $limit
DELETE waiting
RETURN count(*) AS removed
