// Removes every copy of memories: records, history, edges, votes, the raw events they came from, answers that tell of them,
// and the reasons of earlier changes of them.
// Parameters: $batch MAP {ids LIST<STRING> of memories; events LIST<STRING> of events they came from}
// Returns: nothing
// Index: constraints memory_id, event_id, change_seq, idempotency_key; indexes change_memory_memory, memory_state_memory,
//   edge_state_source, edge_state_target, mention_state_memory, vote_memory, event_memory_memory, event_memory_event,
//   idempotency_name_id, idempotency_name_answer
CALL () {
  UNWIND $batch.ids AS id
  MATCH (note:ChangeMemory {memory: id})
  MATCH (change:Change {seq: note.seq})
  WHERE change.reason IS NOT NULL
  REMOVE change.reason
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (told:EventMemory {memory: id})
  WITH collect(DISTINCT told.event) + $batch.events AS events
  UNWIND events AS id
  MATCH (event:Event {id: id})
  DELETE event
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (told:EventMemory {memory: id})
  WITH collect(DISTINCT told.event) + $batch.events AS events
  UNWIND events AS id
  MATCH (told:EventMemory {event: id})
  DELETE told
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (name:IdempotencyName {id: id})
  WITH DISTINCT name.answer AS key
  MATCH (answer:Idempotency {key: key})
  DELETE answer
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (name:IdempotencyName {id: id})
  WITH DISTINCT name.answer AS key
  MATCH (other:IdempotencyName {answer: key})
  DELETE other
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (state:MemoryState {memory: id})
  WHERE state.believed_from IS NOT NULL
  DELETE state
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (state:EdgeState {source: id})
  DELETE state
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (state:EdgeState {target: id})
  DELETE state
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (state:MentionState {memory: id})
  DELETE state
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (vote:Vote {memory: id})
  DELETE vote
}
CALL () {
  UNWIND $batch.ids AS id
  MATCH (memory:Memory {id: id})
  DETACH DELETE memory
}
