// All tokens, oldest first.
// Parameters: none
// Returns: id, secret_hash, principal, kind, groups (JSON), rights (JSON) STRING, created_at INTEGER, owner STRING or null
// Index: token_created
MATCH (token:Token)
WHERE token.created_at IS NOT NULL
RETURN token.id AS id, token.secret_hash AS secret_hash, token.principal AS principal, token.kind AS kind,
  token.groups AS groups, token.rights AS rights, token.created_at AS created_at,
  token.owner AS owner
ORDER BY created_at, id
