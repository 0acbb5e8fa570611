// The last change.
// Parameters: none
// Returns: seq INTEGER or null; id STRING or null
// Index: constraints store_id, change_seq
MATCH (store:Store {id: 'store'})
OPTIONAL MATCH (change:Change)
WHERE change.seq = store.change_seq
RETURN change.seq AS seq, change.id AS id
