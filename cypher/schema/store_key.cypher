// Makes the one node that writers take turns at unique, before anything is read by it. Nothing happens if it is already.
// Parameters: none
// Returns: nothing
// Index: none, it makes the constraint store_id
CREATE CONSTRAINT store_id IF NOT EXISTS FOR (n:Store) REQUIRE n.id IS UNIQUE
