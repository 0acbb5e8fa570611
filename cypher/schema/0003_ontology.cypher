// Terms of ontologies in versions, and what they are in force: nodes `Resource`, which those that memories are linked to share
// with `Concept`. Statements are separated by semicolons; each changes nothing when run again.
// Parameters: none
// Returns: nothing
// Index: none, it makes them

CREATE CONSTRAINT ontology_version_number IF NOT EXISTS FOR (n:OntologyVersion) REQUIRE n.number IS UNIQUE;
CREATE CONSTRAINT ontology_staging_number IF NOT EXISTS FOR (n:OntologyStaging) REQUIRE n.number IS UNIQUE;
CREATE CONSTRAINT staged_term_iri IF NOT EXISTS FOR (n:StagedTerm) REQUIRE n.iri IS UNIQUE;

// `key` is vocabulary, IRI and the version it came with; `present`, vocabulary and IRI, is there while the term is in force.
CREATE CONSTRAINT term_key IF NOT EXISTS FOR (n:Term) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT term_present IF NOT EXISTS FOR (n:Term) REQUIRE n.present IS UNIQUE;
CREATE INDEX term_iri IF NOT EXISTS FOR (n:Term) ON (n.iri);

CREATE CONSTRAINT resource_uri IF NOT EXISTS FOR (n:Resource) REQUIRE n.uri IS UNIQUE;
CREATE INDEX resource_label IF NOT EXISTS FOR (n:Resource) ON (n.label, n.uri);

// Concepts that came from another store without their terms.
MATCH (n:Concept) WHERE n.key > '' AND n.origin = 'ontology'
SET n:Resource, n.uri = n.key
