// Removes a token.
// Parameters: $id STRING
// Returns: removed INTEGER, 0 or 1
// Index: constraint token_id
MATCH (token:Token {id: $id})
DELETE token
RETURN count(*) AS removed
