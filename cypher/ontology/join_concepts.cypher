// Makes the edges anew that leave or reach concepts: what the relations of their terms come to for the walk over memories.
// Parameters: $batch MAP {iris LIST<STRING>; carries MAP from the type of a relation to {kind, weight}; properties MAP of an
//   edge, without its weight}
// Returns: nothing
// Index: constraint concept_key
UNWIND $batch.iris AS iri
MATCH (concept:Concept {key: iri})
CALL (concept) {
  MATCH (concept)-[relation:SCO|SPO|SCO_RESTRICTION|type|related|exactMatch|closeMatch|broadMatch|narrowMatch|relatedMatch|equivalentClass|equivalentProperty|isReplacedBy]->(other:Concept)
  RETURN concept AS source, relation, other AS target
  UNION
  MATCH (other:Concept)-[relation:SCO|SPO|SCO_RESTRICTION|type|related|exactMatch|closeMatch|broadMatch|narrowMatch|relatedMatch|equivalentClass|equivalentProperty|isReplacedBy]->(concept)
  RETURN other AS source, relation, concept AS target
}
WITH source, target, $batch.carries[type(relation)] AS carried
WITH source, target, carried.kind AS kind, max(carried.weight) AS weight
FOREACH (_ IN CASE kind WHEN 'BROADER' THEN [1] ELSE [] END |
  MERGE (source)-[edge:BROADER]->(target)
  ON CREATE SET edge = $batch.properties, edge.weight = weight
  ON MATCH SET edge.weight = CASE WHEN edge.weight < weight THEN weight ELSE edge.weight END
)
FOREACH (_ IN CASE kind WHEN 'RELATED' THEN [1] ELSE [] END |
  MERGE (source)-[edge:RELATED]->(target)
  ON CREATE SET edge = $batch.properties, edge.weight = weight
  ON MATCH SET edge.weight = CASE WHEN edge.weight < weight THEN weight ELSE edge.weight END
)
