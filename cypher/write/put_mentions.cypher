// Writes concepts, edges from memories to them, what earlier ones said, and how many memories name each.
// Parameters: $batch MAP {concepts LIST<MAP {id, key, label, origin}>; dropped LIST<MAP {source, target, kind}>;
//   changed, created LIST<MAP {source, target, kind, properties}>; ended LIST<MAP> of properties;
//   uses LIST<MAP {key, concept, memory_visibility, visibility, uses, about}> of differences}
// Returns: nothing
// Index: constraints memory_id, concept_id, concept_use_key
CALL () {
  UNWIND $batch.concepts AS row
  MERGE (concept:Concept {id: row.id})
  ON CREATE SET concept.key = row.key, concept.label = row.label, concept.origin = row.origin
  FOREACH (_ IN CASE row.origin WHEN 'ontology' THEN [1] ELSE [] END | SET concept:Resource, concept.uri = row.key)
}
CALL () {
  UNWIND $batch.dropped AS row
  MATCH (memory:Memory {id: row.source})
  OPTIONAL MATCH (concept:Concept {id: row.target})
  WITH row, memory, concept
  MATCH (memory)-[edge:ABOUT|MENTIONS]->(concept)
  WHERE type(edge) = row.kind
  DELETE edge
}
CALL () {
  UNWIND $batch.changed AS row
  MATCH (memory:Memory {id: row.source})
  OPTIONAL MATCH (concept:Concept {id: row.target})
  WITH row, memory, concept
  MATCH (memory)-[edge:ABOUT|MENTIONS]->(concept)
  WHERE type(edge) = row.kind
  SET edge = row.properties
}
CALL () {
  UNWIND $batch.created AS row
  MATCH (memory:Memory {id: row.source})
  OPTIONAL MATCH (concept:Concept {id: row.target})
  WITH row, memory, concept
  WHERE concept IS NOT NULL
  FOREACH (_ IN CASE row.kind WHEN 'ABOUT' THEN [1] ELSE [] END |
    CREATE (memory)-[edge:ABOUT]->(concept)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'MENTIONS' THEN [1] ELSE [] END |
    CREATE (memory)-[edge:MENTIONS]->(concept)
    SET edge = row.properties
  )
}
CALL () {
  UNWIND $batch.ended AS properties
  CREATE (state:MentionState)
  SET state = properties
}
CALL () {
  UNWIND $batch.uses AS row
  MERGE (count:ConceptUse {key: row.key})
  ON CREATE SET count.concept = row.concept, count.memory_visibility = row.memory_visibility,
    count.visibility = row.visibility, count.uses = row.uses, count.about = row.about
  ON MATCH SET count.uses = count.uses + row.uses, count.about = count.about + row.about
  WITH count
  WHERE count.uses = 0
  DELETE count
}
