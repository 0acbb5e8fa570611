// The last change, and the last version of the ontologies.
// Parameters: none
// Returns: seq INTEGER or null; id STRING or null; version INTEGER or null
// Index: constraints store_id, change_seq, ontology_version_number
MATCH (store:Store {id: 'store'})
OPTIONAL MATCH (change:Change)
WHERE change.seq = store.change_seq
CALL (store) {
  OPTIONAL MATCH (version:OntologyVersion)
  WHERE version.number > 0
  RETURN max(version.number) AS version
}
RETURN change.seq AS seq, change.id AS id, version
