// Writes edges between memories, and what earlier ones said.
// An optional match of the second end makes the planner look at that pair alone, however many edges either end has.
// Parameters: $batch MAP {dropped LIST<MAP {source, target, kind}>; changed, created LIST<MAP {source, target, kind, properties}>;
//   ended LIST<MAP> of properties}
// Returns: nothing
// Index: constraint memory_id
CALL () {
  UNWIND $batch.dropped AS row
  MATCH (source:Memory {id: row.source})
  OPTIONAL MATCH (target:Memory {id: row.target})
  WITH row, source, target
  MATCH (source)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(target)
  WHERE type(edge) = row.kind
  DELETE edge
}
CALL () {
  UNWIND $batch.changed AS row
  MATCH (source:Memory {id: row.source})
  OPTIONAL MATCH (target:Memory {id: row.target})
  WITH row, source, target
  MATCH (source)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->(target)
  WHERE type(edge) = row.kind
  SET edge = row.properties
}
CALL () {
  UNWIND $batch.created AS row
  MATCH (source:Memory {id: row.source})
  OPTIONAL MATCH (target:Memory {id: row.target})
  WITH row, source, target
  WHERE target IS NOT NULL
  FOREACH (_ IN CASE row.kind WHEN 'SAME_SESSION' THEN [1] ELSE [] END |
    CREATE (source)-[edge:SAME_SESSION]->(target)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'SAME_TASK' THEN [1] ELSE [] END |
    CREATE (source)-[edge:SAME_TASK]->(target)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'SUPERSEDES' THEN [1] ELSE [] END |
    CREATE (source)-[edge:SUPERSEDES]->(target)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'CAUSES' THEN [1] ELSE [] END |
    CREATE (source)-[edge:CAUSES]->(target)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'SUPPLEMENTS' THEN [1] ELSE [] END |
    CREATE (source)-[edge:SUPPLEMENTS]->(target)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'DERIVED_FROM' THEN [1] ELSE [] END |
    CREATE (source)-[edge:DERIVED_FROM]->(target)
    SET edge = row.properties
  )
  FOREACH (_ IN CASE row.kind WHEN 'CONTRADICTS' THEN [1] ELSE [] END |
    CREATE (source)-[edge:CONTRADICTS]->(target)
    SET edge = row.properties
  )
}
CALL () {
  UNWIND $batch.ended AS properties
  CREATE (state:EdgeState)
  SET state = properties
}
