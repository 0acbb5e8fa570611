// Notes that a migration ran. One that another process has carried further stays there.
// Parameters: $format INTEGER
// Returns: nothing
// Index: constraint store_id
MERGE (store:Store {id: 'store'})
ON CREATE SET store.format = $format, store.change_seq = 0, store.outbox_seq = 0, store.state_seq = 0
ON MATCH SET store.format = CASE WHEN store.format < $format THEN $format ELSE store.format END
