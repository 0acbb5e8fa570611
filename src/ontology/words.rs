//! The words of the vocabularies that ontologies are written in.

macro_rules! words {
    ($($name:ident = $space:literal $local:literal;)+) => {
        $(pub(super) const $name: &str = concat!($space, $local);)+
    };
}

words! {
    RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" "type";
    RDF_FIRST = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" "first";
    RDF_REST = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" "rest";
    RDF_NIL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" "nil";
    RDF_PROPERTY = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" "Property";
    RDFS_CLASS = "http://www.w3.org/2000/01/rdf-schema#" "Class";
    RDFS_DATATYPE = "http://www.w3.org/2000/01/rdf-schema#" "Datatype";
    RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#" "label";
    RDFS_COMMENT = "http://www.w3.org/2000/01/rdf-schema#" "comment";
    RDFS_SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#" "subClassOf";
    RDFS_SUB_PROPERTY = "http://www.w3.org/2000/01/rdf-schema#" "subPropertyOf";
    RDFS_DOMAIN = "http://www.w3.org/2000/01/rdf-schema#" "domain";
    RDFS_RANGE = "http://www.w3.org/2000/01/rdf-schema#" "range";
    OWL_ONTOLOGY = "http://www.w3.org/2002/07/owl#" "Ontology";
    OWL_IMPORTS = "http://www.w3.org/2002/07/owl#" "imports";
    OWL_CLASS = "http://www.w3.org/2002/07/owl#" "Class";
    OWL_THING = "http://www.w3.org/2002/07/owl#" "Thing";
    OWL_RESTRICTION = "http://www.w3.org/2002/07/owl#" "Restriction";
    OWL_INDIVIDUAL = "http://www.w3.org/2002/07/owl#" "NamedIndividual";
    OWL_OBJECT_PROPERTY = "http://www.w3.org/2002/07/owl#" "ObjectProperty";
    OWL_DATA_PROPERTY = "http://www.w3.org/2002/07/owl#" "DatatypeProperty";
    OWL_ANNOTATION_PROPERTY = "http://www.w3.org/2002/07/owl#" "AnnotationProperty";
    OWL_AXIOM = "http://www.w3.org/2002/07/owl#" "Axiom";
    OWL_EQUIVALENT_CLASS = "http://www.w3.org/2002/07/owl#" "equivalentClass";
    OWL_EQUIVALENT_PROPERTY = "http://www.w3.org/2002/07/owl#" "equivalentProperty";
    OWL_SAME_AS = "http://www.w3.org/2002/07/owl#" "sameAs";
    OWL_DISJOINT = "http://www.w3.org/2002/07/owl#" "disjointWith";
    OWL_ALL_DISJOINT = "http://www.w3.org/2002/07/owl#" "AllDisjointClasses";
    OWL_MEMBERS = "http://www.w3.org/2002/07/owl#" "members";
    OWL_DEPRECATED = "http://www.w3.org/2002/07/owl#" "deprecated";
    OWL_DEPRECATED_CLASS = "http://www.w3.org/2002/07/owl#" "DeprecatedClass";
    OWL_DEPRECATED_PROPERTY = "http://www.w3.org/2002/07/owl#" "DeprecatedProperty";
    OWL_INVERSE = "http://www.w3.org/2002/07/owl#" "inverseOf";
    OWL_ON_PROPERTY = "http://www.w3.org/2002/07/owl#" "onProperty";
    OWL_SOME = "http://www.w3.org/2002/07/owl#" "someValuesFrom";
    OWL_ALL = "http://www.w3.org/2002/07/owl#" "allValuesFrom";
    OWL_VALUE = "http://www.w3.org/2002/07/owl#" "hasValue";
    OWL_UNION = "http://www.w3.org/2002/07/owl#" "unionOf";
    OWL_INTERSECTION = "http://www.w3.org/2002/07/owl#" "intersectionOf";
    OWL_COMPLEMENT = "http://www.w3.org/2002/07/owl#" "complementOf";
    OWL_ONE_OF = "http://www.w3.org/2002/07/owl#" "oneOf";
    OWL_MIN = "http://www.w3.org/2002/07/owl#" "minCardinality";
    OWL_MAX = "http://www.w3.org/2002/07/owl#" "maxCardinality";
    OWL_EXACTLY = "http://www.w3.org/2002/07/owl#" "cardinality";
    OWL_ON_CLASS = "http://www.w3.org/2002/07/owl#" "onClass";
    OWL_MIN_QUALIFIED = "http://www.w3.org/2002/07/owl#" "minQualifiedCardinality";
    OWL_MAX_QUALIFIED = "http://www.w3.org/2002/07/owl#" "maxQualifiedCardinality";
    OWL_EXACTLY_QUALIFIED = "http://www.w3.org/2002/07/owl#" "qualifiedCardinality";
    SKOS_CONCEPT = "http://www.w3.org/2004/02/skos/core#" "Concept";
    SKOS_SCHEME = "http://www.w3.org/2004/02/skos/core#" "ConceptScheme";
    SKOS_COLLECTION = "http://www.w3.org/2004/02/skos/core#" "Collection";
    SKOS_ORDERED_COLLECTION = "http://www.w3.org/2004/02/skos/core#" "OrderedCollection";
    SKOS_PREF = "http://www.w3.org/2004/02/skos/core#" "prefLabel";
    SKOS_ALT = "http://www.w3.org/2004/02/skos/core#" "altLabel";
    SKOS_HIDDEN = "http://www.w3.org/2004/02/skos/core#" "hiddenLabel";
    SKOS_DEFINITION = "http://www.w3.org/2004/02/skos/core#" "definition";
    SKOS_NOTATION = "http://www.w3.org/2004/02/skos/core#" "notation";
    SKOS_BROADER = "http://www.w3.org/2004/02/skos/core#" "broader";
    SKOS_NARROWER = "http://www.w3.org/2004/02/skos/core#" "narrower";
    SKOS_RELATED = "http://www.w3.org/2004/02/skos/core#" "related";
    SKOS_EXACT = "http://www.w3.org/2004/02/skos/core#" "exactMatch";
    SKOS_CLOSE = "http://www.w3.org/2004/02/skos/core#" "closeMatch";
    SKOS_BROAD = "http://www.w3.org/2004/02/skos/core#" "broadMatch";
    SKOS_NARROW = "http://www.w3.org/2004/02/skos/core#" "narrowMatch";
    SKOS_RELATED_MATCH = "http://www.w3.org/2004/02/skos/core#" "relatedMatch";
    SKOS_IN_SCHEME = "http://www.w3.org/2004/02/skos/core#" "inScheme";
    SKOS_TOP_OF = "http://www.w3.org/2004/02/skos/core#" "topConceptOf";
    SKOS_HAS_TOP = "http://www.w3.org/2004/02/skos/core#" "hasTopConcept";
    SKOS_MEMBER = "http://www.w3.org/2004/02/skos/core#" "member";
    SKOS_MEMBER_LIST = "http://www.w3.org/2004/02/skos/core#" "memberList";
    XL_LABEL = "http://www.w3.org/2008/05/skos-xl#" "Label";
    XL_PREF = "http://www.w3.org/2008/05/skos-xl#" "prefLabel";
    XL_ALT = "http://www.w3.org/2008/05/skos-xl#" "altLabel";
    XL_HIDDEN = "http://www.w3.org/2008/05/skos-xl#" "hiddenLabel";
    XL_FORM = "http://www.w3.org/2008/05/skos-xl#" "literalForm";
    DC_REPLACED_BY = "http://purl.org/dc/terms/" "isReplacedBy";
    OBO_DEFINITION = "http://purl.obolibrary.org/obo/" "IAO_0000115";
    OBO_REPLACED_BY = "http://purl.obolibrary.org/obo/" "IAO_0100001";
    OIO_EXACT = "http://www.geneontology.org/formats/oboInOwl#" "hasExactSynonym";
    OIO_NARROW = "http://www.geneontology.org/formats/oboInOwl#" "hasNarrowSynonym";
    OIO_BROAD = "http://www.geneontology.org/formats/oboInOwl#" "hasBroadSynonym";
    OIO_RELATED = "http://www.geneontology.org/formats/oboInOwl#" "hasRelatedSynonym";
    OIO_XREF = "http://www.geneontology.org/formats/oboInOwl#" "hasDbXref";
    OIO_ALT_ID = "http://www.geneontology.org/formats/oboInOwl#" "hasAlternativeId";
    OIO_NAMESPACE = "http://www.geneontology.org/formats/oboInOwl#" "hasOBONamespace";
    OIO_SUBSET = "http://www.geneontology.org/formats/oboInOwl#" "inSubset";
    OIO_CONSIDER = "http://www.geneontology.org/formats/oboInOwl#" "consider";
    OIO_ID = "http://www.geneontology.org/formats/oboInOwl#" "id";
    OWN_RESTRICTED = "urn:recollect:" "restricted";
    SCHEMA_DOMAIN = "https://schema.org/" "domainIncludes";
    SCHEMA_RANGE = "https://schema.org/" "rangeIncludes";
    SCHEMA_INVERSE = "https://schema.org/" "inverseOf";
    SCHEMA_SUPERSEDED = "https://schema.org/" "supersededBy";
}

/// The end of an IRI, after its last `#`, `/` or `:`.
pub(super) fn local_name(iri: &str) -> &str {
    let name = iri.trim_end_matches(['#', '/']).rsplit(['#', '/', ':']).next().unwrap_or(iri);
    if name.is_empty() { iri } else { name }
}
