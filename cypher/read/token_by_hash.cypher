// The token with a secret.
// Parameters: $secret_hash STRING
// Returns: id, secret_hash, principal, kind, groups (JSON), rights (JSON) STRING, created_at INTEGER, owner STRING or null
// Index: constraint token_secret
MATCH (token:Token {secret_hash: $secret_hash})
RETURN token.id AS id, token.secret_hash AS secret_hash, token.principal AS principal, token.kind AS kind,
  token.groups AS groups, token.rights AS rights, token.created_at AS created_at,
  token.owner AS owner
