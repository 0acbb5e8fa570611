// Takes away the relations that leave resources; gives the URIs of what they led to and no term describes.
// Parameters: $batch MAP {iris LIST<STRING>}
// Returns: uri STRING
// Index: constraint resource_uri
UNWIND $batch.iris AS iri
MATCH (r:Resource {uri: iri})
  -[relation:SCO|SPO|DOMAIN|RANGE|SCO_RESTRICTION
    |type|related|exactMatch|closeMatch|broadMatch|narrowMatch|relatedMatch|equivalentClass|equivalentProperty
    |disjointWith|propertyDisjointWith|inScheme|topConceptOf|member|inverseOf|isReplacedBy]->(other:Resource)
DELETE relation
WITH DISTINCT other
WHERE other.label IS NULL
RETURN other.uri AS uri
