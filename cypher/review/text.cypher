// The text beside a record.
// Parameters: $id STRING; $reader MAP (see README)
// Returns: text STRING or null
// Index: constraint record_id
MATCH (record:Record {id: $id})
WHERE ($reader.keys IS NULL OR record.visibility IN $reader.keys)
RETURN record.text AS text
