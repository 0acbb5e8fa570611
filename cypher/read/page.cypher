// Memories above an id, ascending.
// Parameters: $after STRING, an id or empty; $limit INTEGER; $reader MAP (see README)
// Returns: body STRING, access_count INTEGER, last_accessed INTEGER or null
// Index: constraint memory_id, in its order
MATCH (m:Memory)
USING INDEX m:Memory(id)
WHERE m.id > $after AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
RETURN m.body AS body, m.access_count AS access_count, m.last_accessed AS last_accessed
ORDER BY m.id
LIMIT $limit
