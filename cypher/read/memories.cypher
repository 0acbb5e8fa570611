// Memories as they are, in the order asked.
// Parameters: $ask MAP {ids LIST<STRING>}; $reader MAP (see README)
// Returns: body STRING, access_count INTEGER, last_accessed INTEGER or null
// Index: constraint memory_id
UNWIND range(0, size($ask.ids) - 1) AS place
MATCH (m:Memory {id: $ask.ids[place]})
WHERE ($reader.keys IS NULL OR m.visibility IN $reader.keys)
RETURN m.body AS body, m.access_count AS access_count, m.last_accessed AS last_accessed
ORDER BY place
