// Adds a token.
// Parameters: $properties MAP {id, secret_hash, principal, kind, groups, rights, created_at, owner}
// Returns: nothing
// Index: none, it creates a node
CREATE (token:Token)
SET token = $properties
