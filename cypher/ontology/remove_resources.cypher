// Removes resources that no term describes and nothing leads to.
// Parameters: $batch MAP {iris LIST<STRING>}
// Returns: nothing
// Index: constraint resource_uri
UNWIND $batch.iris AS iri
MATCH (r:Resource {uri: iri})
WHERE r.label IS NULL AND NOT EXISTS { (r)--() }
DELETE r
