// Everything stored that a batch of changes looks at, in one row.
// Parameters: $batch MAP {changes, whole, others, leaving, naming, loosening, concepts LIST<STRING> of ids;
//   sessions, tasks, external, active, votes, answers, names LIST<STRING> of keys; kept LIST<STRING> of ids of records; pairs LIST<MAP {source, target}> of ids}
// Returns: change_seq, outbox_seq, state_seq INTEGER; applied, found_concepts, found_answers LIST<STRING>; records, others,
//   positions_in_sessions, positions_in_tasks, external_owners, active_owners, edges, mentions, named_before, found_votes, versions, name_owners LIST<MAP>
// Index: constraints store_id, change_id, memory_id, memory_external, memory_active, concept_id, vote_key, idempotency_key,
//   record_id, record_name_key;
//   indexes memory_session_key, memory_task_key, mention_state_memory
MATCH (store:Store {id: 'store'})
CALL (store) {
  UNWIND $batch.changes AS id
  MATCH (change:Change {id: id})
  RETURN collect(change.id) AS applied
}
CALL (store) {
  UNWIND $batch.whole AS id
  MATCH (memory:Memory {id: id})
  RETURN collect({
    id: memory.id, visibility: memory.visibility, access_count: memory.access_count, last_accessed: memory.last_accessed,
    session_position: memory.session_position, task_position: memory.task_position, revised_at: memory.revised_at,
    body: memory.body
  }) AS records
}
CALL (store) {
  UNWIND $batch.others AS id
  MATCH (memory:Memory {id: id})
  RETURN collect({
    id: memory.id, visibility: memory.visibility, access_count: memory.access_count, last_accessed: memory.last_accessed
  }) AS others
}
CALL (store) {
  UNWIND $batch.sessions AS key
  CALL (key) {
    MATCH (memory:Memory {session_key: key})
    WHERE memory.session_position > 0
    RETURN memory.session_position AS position
    ORDER BY memory.session_key DESC, memory.session_position DESC
    LIMIT 1
  }
  RETURN collect({key: key, position: position}) AS positions_in_sessions
}
CALL (store) {
  UNWIND $batch.tasks AS key
  CALL (key) {
    MATCH (memory:Memory {task_key: key})
    WHERE memory.task_position > 0
    RETURN memory.task_position AS position
    ORDER BY memory.task_key DESC, memory.task_position DESC
    LIMIT 1
  }
  RETURN collect({key: key, position: position}) AS positions_in_tasks
}
CALL (store) {
  UNWIND $batch.external AS key
  MATCH (memory:Memory {external_key: key})
  RETURN collect({key: key, id: memory.id}) AS external_owners
}
CALL (store) {
  UNWIND $batch.active AS key
  MATCH (memory:Memory {active_key: key})
  RETURN collect({key: key, id: memory.id}) AS active_owners
}
CALL (store) {
  UNWIND $batch.pairs AS pair
  MATCH (source:Memory {id: pair.source})
  OPTIONAL MATCH (target:Memory {id: pair.target})
  WITH pair, source, target
  MATCH (source)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(target)
  RETURN collect({
    source: source.id, target: target.id, kind: type(edge), visibility: edge.visibility, weight: edge.weight,
    reason: edge.reason, recorded_at: edge.recorded_at, since: edge.since
  }) AS edges_of_pairs
}
CALL (store) {
  UNWIND $batch.leaving AS id
  MATCH (source:Memory {id: id})
    -[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(target:Memory)
  RETURN collect({
    source: source.id, target: target.id, kind: type(edge), visibility: edge.visibility, weight: edge.weight,
    reason: edge.reason, recorded_at: edge.recorded_at, since: edge.since
  }) AS edges_leaving
}
CALL (store) {
  UNWIND $batch.naming AS id
  MATCH (memory:Memory {id: id})-[edge:ABOUT|MENTIONS]->(concept:Concept)
  RETURN collect({
    source: memory.id, target: concept.id, kind: type(edge), visibility: edge.visibility, weight: edge.weight,
    reason: edge.reason, recorded_at: edge.recorded_at, since: edge.since, memory_visibility: edge.memory_visibility
  }) AS mentions
}
CALL (store) {
  UNWIND $batch.loosening AS id
  MATCH (state:MentionState {memory: id})
  RETURN collect(DISTINCT {memory: id, concept: state.concept}) AS named_before
}
CALL (store) {
  UNWIND $batch.concepts AS id
  MATCH (concept:Concept {id: id})
  RETURN collect(concept.id) AS found_concepts
}
CALL (store) {
  UNWIND $batch.votes AS key
  MATCH (vote:Vote {key: key})
  RETURN collect({key: key, useful: vote.useful}) AS found_votes
}
CALL (store) {
  UNWIND $batch.answers AS key
  MATCH (answer:Idempotency {key: key})
  RETURN collect(answer.key) AS found_answers
}
CALL (store) {
  UNWIND $batch.kept AS id
  MATCH (record:Record {id: id})
  RETURN collect({id: id, version: record.version}) AS versions
}
CALL (store) {
  UNWIND $batch.names AS key
  MATCH (name:RecordName {key: key})
  RETURN collect({key: key, id: name.record}) AS name_owners
}
RETURN store.change_seq AS change_seq, store.outbox_seq AS outbox_seq, store.state_seq AS state_seq, applied, records,
  others, positions_in_sessions, positions_in_tasks, external_owners, active_owners, edges_of_pairs + edges_leaving AS edges, mentions, named_before,
  found_concepts, found_votes, found_answers, versions, name_owners
