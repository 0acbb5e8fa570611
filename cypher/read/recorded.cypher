// What was answered to a principal under a key.
// Parameters: $key STRING, principal and key
// Returns: change STRING, request_hash STRING, answer STRING (JSON); no row if nothing was
// Index: constraint idempotency_key
MATCH (answer:Idempotency {key: $key})
RETURN answer.change AS change, answer.request_hash AS request_hash, answer.answer AS answer
