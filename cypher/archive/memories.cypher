// Memories as they are, for an archive.
// Parameters: $after STRING, an id; $limit INTEGER
// Returns: id, body STRING; revised_at, access_count INTEGER; last_accessed, session_position, task_position INTEGER or null
// Index: constraint memory_id
MATCH (memory:Memory)
WHERE memory.id > $after
RETURN memory.id AS id, memory.body AS body, memory.revised_at AS revised_at, memory.access_count AS access_count,
  memory.last_accessed AS last_accessed, memory.session_position AS session_position, memory.task_position AS task_position
ORDER BY id
LIMIT $limit
