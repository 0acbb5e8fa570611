// Whether the store answers.
// Parameters: none
// Returns: change_seq INTEGER
// Index: constraint store_id
MATCH (store:Store {id: 'store'})
RETURN store.change_seq AS change_seq
