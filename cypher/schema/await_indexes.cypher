// Waits until every index is filled and in use.
// parameters: none
// gives: nothing
// index: none, it reads no data
CALL db.awaitIndexes(300)
