// Pages, revisions and proposals with their texts, for an archive.
// Parameters: $after STRING, an id; $limit INTEGER
// Returns: id, kind, body STRING; text STRING or null
// Index: constraint record_id
MATCH (record:Record)
WHERE record.id > $after
RETURN record.id AS id, record.kind AS kind, record.body AS body, record.text AS text
ORDER BY id
LIMIT $limit
