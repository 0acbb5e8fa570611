// Raw events, for an archive.
// Parameters: $after STRING, an id; $limit INTEGER
// Returns: id, body STRING
// Index: constraint event_id
MATCH (event:Event)
WHERE event.id > $after
RETURN event.id AS id, event.body AS body
ORDER BY id
LIMIT $limit
