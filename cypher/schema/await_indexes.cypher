// Waits until every index is filled and in use.
// Parameters: none
// Returns: nothing
// Index: none, it reads no data
CALL db.awaitIndexes(300)
