// Raw events of a session, earliest first.
// Parameters: $name STRING; $at INTEGER and $after STRING, time and id of the event before, or the least; $limit
//   INTEGER; $reader MAP (see README)
// Returns: body STRING
// Index: index event_session, scope by scope in its order; constraint scope_count_key
CALL () {
  UNWIND $reader.keys AS scope
  RETURN scope
  UNION ALL
  MATCH (count:ScopeCount)
  WHERE $reader.keys IS NULL AND count.key > ''
  RETURN count.key AS scope
}
CALL (scope) {
  MATCH (event:Event)
  WHERE event.visibility = scope AND event.session = $name AND event.at >= $at AND event.id IS NOT NULL
    AND (event.at > $at OR event.id > $after)
  RETURN event
  ORDER BY event.visibility, event.session, event.at, event.id
  LIMIT $limit
}
WITH event
ORDER BY event.at, event.id
LIMIT $limit
RETURN event.body AS body
ORDER BY event.at, event.id
