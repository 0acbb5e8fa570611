// The vote of a principal on a memory.
// Parameters: $id STRING; $suffix STRING, what follows the memory in the key of a vote; $reader MAP (see README)
// Returns: useful BOOLEAN
// Index: constraints memory_id, vote_key
MATCH (m:Memory {id: $id})
WHERE ($reader.keys IS NULL OR m.visibility IN $reader.keys)
MATCH (vote:Vote {key: m.id + $suffix})
RETURN vote.useful AS useful
