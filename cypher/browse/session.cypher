// How many memories and events a session has, and when they happened.
// Parameters: $name STRING; $suffix STRING, what follows the scope in a session_key; $reader MAP (see README)
// Returns: memories, events INTEGER; first, last INTEGER or null
// Index: indexes memory_session_key, event_session; constraint scope_count_key
CALL () {
  CALL () {
    UNWIND $reader.keys AS scope
    RETURN scope
    UNION ALL
    MATCH (count:ScopeCount)
    WHERE $reader.keys IS NULL AND count.key > ''
    RETURN count.key AS scope
  }
  MATCH (m:Memory)
  WHERE m.session_key = scope + $suffix AND m.session_position IS NOT NULL
  RETURN count(m) AS memories, min(m.occurred_at) AS first_memory, max(m.occurred_at) AS last_memory
}
CALL (memories) {
  CALL () {
    UNWIND $reader.keys AS scope
    RETURN scope
    UNION ALL
    MATCH (count:ScopeCount)
    WHERE $reader.keys IS NULL AND count.key > ''
    RETURN count.key AS scope
  }
  MATCH (event:Event)
  WHERE event.visibility = scope AND event.session = $name AND event.at IS NOT NULL AND event.id IS NOT NULL
  RETURN count(event) AS events, min(event.at) AS first_event, max(event.at) AS last_event
}
RETURN memories, events,
  CASE WHEN first_memory <= first_event OR first_event IS NULL THEN first_memory ELSE first_event END AS first,
  CASE WHEN last_memory >= last_event OR last_event IS NULL THEN last_memory ELSE last_event END AS last
