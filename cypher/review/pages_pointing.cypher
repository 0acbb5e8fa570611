// Pages that point to a page or a memory, by slug.
// Parameters: $target STRING, `page:NAME` or `memory:ID`; $state, $prefix, $slug, $after STRING and $limit INTEGER as in
//   pages.cypher; $reader MAP (see README)
// Returns: body STRING
// Index: index record_key_target; constraint record_id
MATCH (key:RecordKey)
USING INDEX key:RecordKey(target, state, at, record)
WHERE key.target = $target AND key.state = $state AND key.at IS NOT NULL AND key.record IS NOT NULL
MATCH (page:Record {id: key.record})
USING INDEX page:Record(id)
WHERE page.slug >= $slug AND (page.slug > $slug OR page.id > $after) AND page.slug STARTS WITH $prefix
  AND ($reader.keys IS NULL OR page.visibility IN $reader.keys)
RETURN page.body AS body
ORDER BY page.slug, page.id
LIMIT $limit
