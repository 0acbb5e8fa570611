// Pages by slug.
// Parameters: $state STRING; $prefix STRING, beginning of the slug; $slug STRING, not before this one; $after STRING, id of the
//   page before, of the same slug; $limit INTEGER; $reader MAP (see README)
// Returns: body STRING
// Index: index page_slug, in its order
MATCH (page:Page)
USING INDEX page:Page(state, slug, id)
WHERE page.state = $state AND page.slug >= $slug AND page.id IS NOT NULL
  AND (page.slug > $slug OR page.id > $after)
  AND page.slug STARTS WITH $prefix
  AND ($reader.keys IS NULL OR page.visibility IN $reader.keys)
RETURN page.body AS body
ORDER BY page.state, page.slug, page.id
LIMIT $limit
