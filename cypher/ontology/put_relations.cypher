// Relations between resources. An end that no term describes is a resource with nothing but its URI.
// Parameters: $batch MAP {relations LIST<MAP {from, type, to, name}>}
// Returns: nothing
// Index: constraint resource_uri
UNWIND $batch.relations AS row
MERGE (from:Resource {uri: row.from})
MERGE (to:Resource {uri: row.to})
ON CREATE SET to.name = row.name
FOREACH (_ IN CASE row.type WHEN 'SCO' THEN [1] ELSE [] END | CREATE (from)-[:SCO]->(to))
FOREACH (_ IN CASE row.type WHEN 'SPO' THEN [1] ELSE [] END | CREATE (from)-[:SPO]->(to))
FOREACH (_ IN CASE row.type WHEN 'DOMAIN' THEN [1] ELSE [] END | CREATE (from)-[:DOMAIN]->(to))
FOREACH (_ IN CASE row.type WHEN 'RANGE' THEN [1] ELSE [] END | CREATE (from)-[:RANGE]->(to))
FOREACH (_ IN CASE row.type WHEN 'SCO_RESTRICTION' THEN [1] ELSE [] END | CREATE (from)-[:SCO_RESTRICTION]->(to))
FOREACH (_ IN CASE row.type WHEN 'type' THEN [1] ELSE [] END | CREATE (from)-[:type]->(to))
FOREACH (_ IN CASE row.type WHEN 'related' THEN [1] ELSE [] END | CREATE (from)-[:related]->(to))
FOREACH (_ IN CASE row.type WHEN 'exactMatch' THEN [1] ELSE [] END | CREATE (from)-[:exactMatch]->(to))
FOREACH (_ IN CASE row.type WHEN 'closeMatch' THEN [1] ELSE [] END | CREATE (from)-[:closeMatch]->(to))
FOREACH (_ IN CASE row.type WHEN 'broadMatch' THEN [1] ELSE [] END | CREATE (from)-[:broadMatch]->(to))
FOREACH (_ IN CASE row.type WHEN 'narrowMatch' THEN [1] ELSE [] END | CREATE (from)-[:narrowMatch]->(to))
FOREACH (_ IN CASE row.type WHEN 'relatedMatch' THEN [1] ELSE [] END | CREATE (from)-[:relatedMatch]->(to))
FOREACH (_ IN CASE row.type WHEN 'equivalentClass' THEN [1] ELSE [] END | CREATE (from)-[:equivalentClass]->(to))
FOREACH (_ IN CASE row.type WHEN 'equivalentProperty' THEN [1] ELSE [] END | CREATE (from)-[:equivalentProperty]->(to))
FOREACH (_ IN CASE row.type WHEN 'disjointWith' THEN [1] ELSE [] END | CREATE (from)-[:disjointWith]->(to))
FOREACH (_ IN CASE row.type WHEN 'propertyDisjointWith' THEN [1] ELSE [] END | CREATE (from)-[:propertyDisjointWith]->(to))
FOREACH (_ IN CASE row.type WHEN 'inScheme' THEN [1] ELSE [] END | CREATE (from)-[:inScheme]->(to))
FOREACH (_ IN CASE row.type WHEN 'topConceptOf' THEN [1] ELSE [] END | CREATE (from)-[:topConceptOf]->(to))
FOREACH (_ IN CASE row.type WHEN 'member' THEN [1] ELSE [] END | CREATE (from)-[:member]->(to))
FOREACH (_ IN CASE row.type WHEN 'inverseOf' THEN [1] ELSE [] END | CREATE (from)-[:inverseOf]->(to))
FOREACH (_ IN CASE row.type WHEN 'isReplacedBy' THEN [1] ELSE [] END | CREATE (from)-[:isReplacedBy]->(to))
