// Memories whose words match, best first, without an order among equals.
// Parameters: $query STRING in Lucene's language, the scopes inside; $limit INTEGER; $reader MAP (see README); $filter
//   MAP (see README)
// Returns: id STRING, score FLOAT
// Index: full-text index memory_terms, which gives the best first, so that no more is read than is kept
CALL db.index.fulltext.queryNodes('memory_terms', $query) YIELD node AS m, score
WHERE ($reader.keys IS NULL OR m.visibility IN $reader.keys)
  AND (m.status = 'active' OR ($filter.superseded AND m.status = 'superseded'))
  AND ($filter.world IS NULL
    OR ((m.valid_from IS NULL OR m.valid_from <= $filter.world)
      AND (m.valid_to IS NULL OR $filter.world < m.valid_to)))
  AND ($filter.kinds IS NULL OR m.kind IN $filter.kinds)
  AND ($filter.types IS NULL OR m.type IN $filter.types)
  AND ($filter.tags IS NULL OR any(tag IN m.tags WHERE tag IN $filter.tags))
  AND ($filter.session IS NULL OR m.session = $filter.session)
  AND ($filter.task IS NULL OR m.task = $filter.task)
  AND ($filter.since IS NULL OR m.occurred_at >= $filter.since)
  AND ($filter.until IS NULL OR m.occurred_at < $filter.until)
  AND ($filter.language IS NULL OR m.language = $filter.language)
  AND ($filter.now IS NULL OR m.expires_at IS NULL OR $filter.now < m.expires_at)
RETURN m.id AS id, score
LIMIT $limit
