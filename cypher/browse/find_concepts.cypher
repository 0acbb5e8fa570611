// Concepts that a memory names and whose key contains a text, by key.
// Parameters: $part STRING; $after STRING, a key or empty; $limit INTEGER; $reader MAP (see README)
// Returns: id, key, label, origin STRING; uses, about INTEGER
// Index: constraint concept_key, in its order; index concept_use_concept
MATCH (c:Concept)
USING INDEX c:Concept(key)
WHERE c.key > $after AND c.key CONTAINS $part
CALL (c) {
  MATCH (use:ConceptUse)
  WHERE use.concept = c.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
    AND use.visibility IN $reader.keys))
  RETURN sum(use.uses) AS uses, sum(use.about) AS about
}
WITH c, uses, about
WHERE uses > 0
RETURN c.id AS id, c.key AS key, c.label AS label, c.origin AS origin, uses, about
ORDER BY key
LIMIT $limit
