// Writes the change log, answers under their keys and the outbox, and moves the positions on.
// Parameters: $batch MAP {changes LIST<MAP> of properties; notes LIST<MAP> of properties; answers LIST<MAP {properties, names}>,
//   `names` a list of ids; outbox_drops LIST<STRING> of ids of memories; outbox LIST<MAP> of properties;
//   change_seq, outbox_seq, state_seq INTEGER}
// Returns: nothing
// Index: constraint store_id; index outbox_memory
CALL () {
  UNWIND $batch.changes AS properties
  CREATE (change:Change)
  SET change = properties
}
CALL () {
  UNWIND $batch.notes AS properties
  CREATE (note:ChangeMemory)
  SET note = properties
}
CALL () {
  UNWIND $batch.answers AS row
  CREATE (answer:Idempotency)
  SET answer = row.properties
  WITH row
  UNWIND row.names AS id
  CREATE (name:IdempotencyName {id: id, answer: row.properties.key})
}
CALL () {
  UNWIND $batch.outbox_drops AS id
  MATCH (waiting:Outbox {memory: id})
  DELETE waiting
}
CALL () {
  UNWIND $batch.outbox AS properties
  CREATE (waiting:Outbox)
  SET waiting = properties
}
MATCH (store:Store {id: 'store'})
SET store.change_seq = $batch.change_seq, store.outbox_seq = $batch.outbox_seq, store.state_seq = $batch.state_seq
