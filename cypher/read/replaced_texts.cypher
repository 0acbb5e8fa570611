// States at a moment whose text has been replaced since, the latest replaced first.
// Parameters: $limit INTEGER; $reader MAP (see README); $known INTEGER, the moment; $filter MAP (see README)
// Returns: body STRING
// Index: index memory_state_ended; constraint memory_id
MATCH (state:MemoryState)
USING INDEX state:MemoryState(believed_to)
WHERE $known < state.believed_to AND state.believed_from <= $known
  AND ($reader.keys IS NULL OR state.visibility IN $reader.keys)
  AND state.recorded_at <= $known
  AND (state.status = 'active' OR ($filter.superseded AND state.status = 'superseded')
    OR (state.status IN ['superseded', 'archived']
      AND (state.retired_at IS NULL OR $known < state.retired_at)))
  AND ($filter.world IS NULL
    OR ((state.valid_from IS NULL OR state.valid_from <= $filter.world)
      AND (state.valid_to IS NULL OR $filter.world < state.valid_to
        OR (state.status IN ['superseded', 'archived']
      AND (state.retired_at IS NULL OR $known < state.retired_at)))))
  AND ($filter.kinds IS NULL OR state.kind IN $filter.kinds)
  AND ($filter.types IS NULL OR state.type IN $filter.types)
  AND ($filter.tags IS NULL OR any(tag IN state.tags WHERE tag IN $filter.tags))
  AND ($filter.session IS NULL OR state.session = $filter.session)
  AND ($filter.task IS NULL OR state.task = $filter.task)
  AND ($filter.since IS NULL OR state.occurred_at >= $filter.since)
  AND ($filter.until IS NULL OR state.occurred_at < $filter.until)
  AND ($filter.language IS NULL OR state.language = $filter.language)
  AND ($filter.now IS NULL OR state.expires_at IS NULL OR $filter.now < state.expires_at)
MATCH (m:Memory {id: state.memory})
USING INDEX m:Memory(id)
WHERE state.recorded_at < m.recorded_at AND ($reader.keys IS NULL OR m.visibility IN $reader.keys)
RETURN state.body AS body
ORDER BY state.believed_to DESC, m.id
LIMIT $limit
