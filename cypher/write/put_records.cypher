// Writes pages, revisions and proposals, under which names and keys they are found, and what became of proposals. A text that
// is not given stays.
// Parameters: $batch MAP {records LIST<MAP {id, kind, properties}>; names, keys, notes LIST<MAP> of properties}
// Returns: nothing
// Index: constraint record_id; indexes record_name_record, record_key_record
CALL () {
  UNWIND $batch.records AS row
  MERGE (record:Record {id: row.id})
  SET record += row.properties
  FOREACH (_ IN CASE row.kind WHEN 'page' THEN [1] ELSE [] END | SET record:Page)
  FOREACH (_ IN CASE row.kind WHEN 'revision' THEN [1] ELSE [] END | SET record:Revision)
  FOREACH (_ IN CASE row.kind WHEN 'proposal' THEN [1] ELSE [] END | SET record:Proposal)
}
CALL () {
  UNWIND $batch.records AS row
  MATCH (name:RecordName {record: row.id})
  DELETE name
}
CALL () {
  UNWIND $batch.records AS row
  MATCH (key:RecordKey {record: row.id})
  DELETE key
}
CALL () {
  UNWIND $batch.names AS properties
  CREATE (name:RecordName)
  SET name = properties
}
CALL () {
  UNWIND $batch.keys AS properties
  CREATE (key:RecordKey)
  SET key = properties
}
CALL () {
  UNWIND $batch.notes AS properties
  CREATE (note:ChangeProposal)
  SET note = properties
}
