// The last raw events of a session, latest first.
// Parameters: $name STRING; $limit INTEGER; $reader MAP (see README)
// Returns: body STRING
// Index: index event_session, scope by scope from its end; constraint scope_count_key
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
  WHERE event.visibility = scope AND event.session = $name AND event.at IS NOT NULL AND event.id IS NOT NULL
  RETURN event
  ORDER BY event.visibility DESC, event.session DESC, event.at DESC, event.id DESC
  LIMIT $limit
}
RETURN event.body AS body
ORDER BY event.at DESC, event.id DESC
LIMIT $limit
