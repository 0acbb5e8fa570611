-- Terms of ontologies, in versions of all vocabularies together.
CREATE TABLE ontology_version (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- A term as it is from version `since` on, and was until version `until`.
CREATE TABLE ontology_term (
    rowid INTEGER PRIMARY KEY,
    vocabulary TEXT NOT NULL,
    iri TEXT NOT NULL,
    since INTEGER NOT NULL REFERENCES ontology_version (number),
    until INTEGER,
    is_concept INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    keys TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX ontology_term_present ON ontology_term (vocabulary, iri) WHERE until IS NULL;
CREATE INDEX ontology_term_iri ON ontology_term (iri) WHERE until IS NULL;

-- Those of its links that are edges between concepts, whether the other end is there or not.
CREATE TABLE ontology_link (
    term INTEGER NOT NULL REFERENCES ontology_term (rowid) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (term, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX ontology_link_target ON ontology_link (target);

-- What is prepared for the next version, of one file; seen by nobody. A kill leaves it here.
CREATE TABLE ontology_staging (
    number INTEGER PRIMARY KEY,
    vocabulary TEXT NOT NULL,
    source_hash TEXT NOT NULL
) STRICT;
CREATE TABLE ontology_staged (
    iri TEXT PRIMARY KEY,
    is_concept INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    keys TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Names of concepts in the form in which they are searched.
CREATE TABLE concept_label (
    concept INTEGER NOT NULL REFERENCES concept (rowid) ON DELETE CASCADE,
    key TEXT NOT NULL,
    PRIMARY KEY (concept, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX concept_of_ontology ON concept (label, key) WHERE origin = 'ontology';
-- Links to the concepts of ontologies by concept, so that a change of its labels finds those that it must drop.
CREATE INDEX mention_by_ontology ON mention (concept) WHERE reason = 'ontology';
