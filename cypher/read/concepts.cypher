// Concepts that a memory names, and how many do, in the order asked.
// Parameters: $ask MAP {names LIST<STRING> of keys of concepts}; $reader MAP (see README)
// Returns: id, key, label, origin STRING; uses, about INTEGER
// Index: constraint concept_key; index concept_use_concept
UNWIND range(0, size($ask.names) - 1) AS place
MATCH (c:Concept {key: $ask.names[place]})
MATCH (use:ConceptUse)
WHERE use.concept = c.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
  AND use.visibility IN $reader.keys))
WITH c, place, sum(use.uses) AS uses, sum(use.about) AS about
WITH c, uses, about, min(place) AS place
RETURN c.id AS id, c.key AS key, c.label AS label, c.origin AS origin, uses, about
ORDER BY place
