// The number of the last migration that ran.
// parameters: none
// gives: format INTEGER; no row in an empty database
// index: constraint store_id
MATCH (store:Store {id: 'store'})
RETURN store.format AS format
