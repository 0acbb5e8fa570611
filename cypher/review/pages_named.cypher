// Pages that have one of these names, deleted ones too.
// Parameters: $ask MAP {names LIST<STRING>}; $reader MAP (see README)
// Returns: body STRING
// Index: index record_name_name; constraint record_id
UNWIND $ask.names AS asked
MATCH (name:RecordName {name: asked})
WHERE ($reader.keys IS NULL OR name.visibility IN $reader.keys)
WITH DISTINCT name.record AS id
MATCH (page:Record {id: id})
RETURN page.body AS body
