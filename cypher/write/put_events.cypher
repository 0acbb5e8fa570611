// Appends raw events with the memories they made, and writes votes.
// Parameters: $batch MAP {events LIST<MAP {id, properties, made}>, `made` a list of ids of memories; votes LIST<MAP {key, properties}>}
// Returns: nothing
// Index: constraints event_id, vote_key
CALL () {
  UNWIND $batch.events AS row
  OPTIONAL MATCH (known:Event {id: row.id})
  WITH row, known
  WHERE known IS NULL
  CREATE (event:Event)
  SET event = row.properties
  WITH row
  UNWIND row.made AS memory
  CREATE (told:EventMemory {memory: memory, event: row.id})
}
CALL () {
  UNWIND $batch.votes AS row
  MERGE (vote:Vote {key: row.key})
  SET vote = row.properties
}
