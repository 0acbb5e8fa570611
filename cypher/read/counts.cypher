// Numbers of records that the reader sees, and of what waits in the outbox. It walks over all of them.
// Parameters: $reader MAP (see README)
// Returns: memories, edges, concepts, outbox INTEGER
// Index: index memory_scope_occurred, scope by scope; index concept_use_concept; constraints scope_count_key,
//   concept_key, outbox_seq
CALL () {
  UNWIND $reader.keys AS key
  MATCH (count:ScopeCount {key: key})
  RETURN count.memories AS memories
  UNION ALL
  MATCH (count:ScopeCount)
  WHERE $reader.keys IS NULL AND count.key > ''
  RETURN count.memories AS memories
}
WITH coalesce(sum(memories), 0) AS memories
CALL (memories) {
  CALL () {
    UNWIND $reader.keys AS scope
    RETURN scope
    UNION ALL
    MATCH (count:ScopeCount)
    WHERE $reader.keys IS NULL AND count.key > ''
    RETURN count.key AS scope
  }
  MATCH (m:Memory)
  WHERE m.visibility = scope AND m.occurred_at IS NOT NULL AND m.id IS NOT NULL
  MATCH (m)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS|ABOUT|MENTIONS]->(end)
  WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
    AND (type(edge) IN ['ABOUT', 'MENTIONS'] OR ($reader.keys IS NULL OR end.visibility IN $reader.keys))
  RETURN count(edge) AS of_memories
}
CALL (memories) {
  MATCH (a:Concept)
  WHERE a.key > ''
  MATCH (a)-[edge:BROADER|RELATED]->(b:Concept)
  WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
    AND (a.origin = 'ontology' OR EXISTS {
      MATCH (use:ConceptUse)
      WHERE use.concept = a.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
        AND use.visibility IN $reader.keys))
    })
    AND (b.origin = 'ontology' OR EXISTS {
      MATCH (use:ConceptUse)
      WHERE use.concept = b.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
        AND use.visibility IN $reader.keys))
    })
  RETURN count(edge) AS of_concepts
}
CALL (memories) {
  MATCH (use:ConceptUse)
  WHERE use.concept > ''
    AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys AND use.visibility IN $reader.keys))
  RETURN count(DISTINCT use.concept) AS concepts
}
CALL (memories) {
  MATCH (waiting:Outbox)
  WHERE waiting.seq > 0
  RETURN count(waiting) AS outbox
}
RETURN memories, of_memories + of_concepts AS edges, concepts, outbox
