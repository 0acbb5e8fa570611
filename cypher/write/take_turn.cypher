// The first statement of every write: takes the lock of the one node that all writers take, and holds it until the
// transaction ends. What is read afterwards is what will be written over; positions in the logs are given in commit order.
// Parameters: $turn STRING, anything that differs
// Returns: nothing
// Index: constraint store_id
MATCH (store:Store {id: 'store'})
SET store.turn = $turn
