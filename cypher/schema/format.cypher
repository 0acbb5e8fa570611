// The number of the last migration that ran.
// Parameters: none
// Returns: format INTEGER; no row in an empty database
// Index: constraint store_id
MATCH (store:Store {id: 'store'})
RETURN store.format AS format
