// Position of the last change.
// Parameters: none
// Returns: seq INTEGER
// Index: constraint store_id
MATCH (store:Store {id: 'store'})
RETURN coalesce(store.change_seq, 0) AS seq
