// Raw events, in the order asked.
// Parameters: $ask MAP {ids LIST<STRING>}; $reader MAP (see README)
// Returns: body STRING
// Index: constraint event_id
UNWIND range(0, size($ask.ids) - 1) AS place
MATCH (event:Event {id: $ask.ids[place]})
WHERE ($reader.keys IS NULL OR event.visibility IN $reader.keys)
RETURN event.body AS body
ORDER BY place
