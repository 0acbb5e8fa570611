// Settings, for an archive.
// Parameters: $after STRING, a key; $limit INTEGER
// Returns: key, value STRING
// Index: constraint meta_key
MATCH (meta:Meta)
WHERE meta.key > $after
RETURN meta.key AS key, meta.value AS value
ORDER BY key
LIMIT $limit
