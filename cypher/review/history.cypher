// Revisions of a page, latest first.
// Parameters: $page STRING; $before INTEGER, numbers below; $until INTEGER, approved then or earlier; $limit INTEGER; $reader
//   MAP (see README)
// Returns: body STRING
// Index: index revision_number, in its order
MATCH (revision:Revision)
USING INDEX revision:Revision(of, number)
WHERE revision.of = $page AND revision.number < $before AND revision.at <= $until
  AND ($reader.keys IS NULL OR revision.visibility IN $reader.keys)
RETURN revision.body AS body
ORDER BY revision.of DESC, revision.number DESC
LIMIT $limit
