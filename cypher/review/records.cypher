// Pages, revisions and proposals, in the order asked.
// Parameters: $ask MAP {ids LIST<STRING>}; $reader MAP (see README)
// Returns: kind, body STRING
// Index: constraint record_id
UNWIND range(0, size($ask.ids) - 1) AS place
MATCH (record:Record {id: $ask.ids[place]})
WHERE ($reader.keys IS NULL OR record.visibility IN $reader.keys)
RETURN record.kind AS kind, record.body AS body
ORDER BY place
