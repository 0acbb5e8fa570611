// What terms are in force: resources by URI with the labels of their kinds. One that no term describes any longer keeps its URI.
// Parameters: $batch MAP {resources LIST<MAP {uri, labels LIST<STRING>, properties}>}
// Returns: nothing
// Index: constraint resource_uri
UNWIND $batch.resources AS row
MERGE (r:Resource {uri: row.uri})
SET r = row.properties
REMOVE r:Concept, r:Class, r:NamedIndividual, r:ConceptScheme, r:Collection, r:Relationship, r:Property
FOREACH (_ IN CASE WHEN 'Concept' IN row.labels THEN [1] ELSE [] END | SET r:Concept)
FOREACH (_ IN CASE WHEN 'Class' IN row.labels THEN [1] ELSE [] END | SET r:Class)
FOREACH (_ IN CASE WHEN 'NamedIndividual' IN row.labels THEN [1] ELSE [] END | SET r:NamedIndividual)
FOREACH (_ IN CASE WHEN 'ConceptScheme' IN row.labels THEN [1] ELSE [] END | SET r:ConceptScheme)
FOREACH (_ IN CASE WHEN 'Collection' IN row.labels THEN [1] ELSE [] END | SET r:Collection)
FOREACH (_ IN CASE WHEN 'Relationship' IN row.labels THEN [1] ELSE [] END | SET r:Relationship)
FOREACH (_ IN CASE WHEN 'Property' IN row.labels THEN [1] ELSE [] END | SET r:Property)
