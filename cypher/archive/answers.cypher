// Answers kept under idempotency keys, with the ids they name, for an archive.
// Parameters: $after STRING, a key; $limit INTEGER
// Returns: key, change, request_hash, answer STRING; names LIST<STRING>
// Index: constraint idempotency_key; index idempotency_name_answer
MATCH (answer:Idempotency)
WHERE answer.key > $after
WITH answer
ORDER BY answer.key
LIMIT $limit
OPTIONAL MATCH (name:IdempotencyName)
WHERE name.answer = answer.key
WITH answer, name
ORDER BY name.id
WITH answer, collect(name.id) AS names
RETURN answer.key AS key, answer.change AS change, answer.request_hash AS request_hash, answer.answer AS answer, names
ORDER BY key
