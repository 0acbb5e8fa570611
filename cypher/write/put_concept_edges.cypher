// Writes edges among concepts. Written again, an edge keeps the time it was first recorded.
// Parameters: $batch MAP {dropped LIST<MAP {source, kind}>; put LIST<MAP {source, target, kind, properties}>}
// Returns: nothing
// Index: constraint concept_id
CALL () {
  UNWIND $batch.dropped AS row
  MATCH (source:Concept {id: row.source})-[edge:BROADER|RELATED]->(:Concept)
  WHERE type(edge) = row.kind
  DELETE edge
}
CALL () {
  UNWIND $batch.put AS row
  MATCH (source:Concept {id: row.source})
  OPTIONAL MATCH (target:Concept {id: row.target})
  WITH row, source, target
  WHERE target IS NOT NULL
  FOREACH (_ IN CASE row.kind WHEN 'BROADER' THEN [1] ELSE [] END |
    MERGE (source)-[edge:BROADER]->(target)
    ON CREATE SET edge = row.properties
    ON MATCH SET edge.visibility = row.properties.visibility, edge.weight = row.properties.weight,
      edge.reason = row.properties.reason
  )
  FOREACH (_ IN CASE row.kind WHEN 'RELATED' THEN [1] ELSE [] END |
    MERGE (source)-[edge:RELATED]->(target)
    ON CREATE SET edge = row.properties
    ON MATCH SET edge.visibility = row.properties.visibility, edge.weight = row.properties.weight,
      edge.reason = row.properties.reason
  )
}
