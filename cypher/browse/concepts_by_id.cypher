// Concepts that a memory names, and how many do.
// Parameters: $ask MAP {ids LIST<STRING>}; $reader MAP (see README)
// Returns: id, key, label, origin STRING; uses, about INTEGER
// Index: constraint concept_id; index concept_use_concept
UNWIND $ask.ids AS id
WITH DISTINCT id
MATCH (c:Concept {id: id})
MATCH (use:ConceptUse)
WHERE use.concept = c.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
  AND use.visibility IN $reader.keys))
RETURN c.id AS id, c.key AS key, c.label AS label, c.origin AS origin, sum(use.uses) AS uses, sum(use.about) AS about
