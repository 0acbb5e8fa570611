-- Pages, revisions and proposals: what lists go by as columns, the record as JSON in `body`, and its text last, so that
-- reading a record does not read its text. `number` counts the revisions of a page; `slug` is the name lists of pages go by.
CREATE TABLE record (
    rowid INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    kind TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scope (id),
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    class TEXT NOT NULL,
    of BLOB,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    slug TEXT,
    author TEXT,
    run TEXT,
    claimed_by TEXT,
    claimed_until INTEGER,
    decided_at INTEGER,
    flagged INTEGER NOT NULL,
    body TEXT NOT NULL,
    text TEXT
) STRICT;
CREATE INDEX record_page ON record (slug, id) WHERE kind = 'page';
CREATE INDEX record_history ON record (of, number) WHERE kind = 'revision';
CREATE INDEX record_queue ON record (state, at, id) WHERE kind = 'proposal';
CREATE INDEX record_about ON record (of, state, at, id) WHERE kind = 'proposal';
CREATE INDEX record_run ON record (run, state, at, id) WHERE kind = 'proposal' AND run IS NOT NULL;
CREATE INDEX record_author ON record (author, state, at, id) WHERE kind = 'proposal';

-- The names under which a page is found.
CREATE TABLE record_name (
    name TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scope (id),
    record INTEGER NOT NULL REFERENCES record (rowid) ON DELETE CASCADE,
    PRIMARY KEY (name, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_name_of ON record_name (record);

-- What a record points to: `page:NAME` or `memory:ID`.
CREATE TABLE record_ref (
    target TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES record (rowid) ON DELETE CASCADE,
    PRIMARY KEY (target, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_ref_of ON record_ref (record);

-- What each change did to which proposal, for those who follow the queue; beside it `change_memory` does so for memories.
CREATE TABLE change_proposal (
    seq INTEGER NOT NULL REFERENCES change (seq) ON DELETE CASCADE,
    proposal BLOB NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    author TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scope (id),
    PRIMARY KEY (seq, proposal)
) STRICT, WITHOUT ROWID;

-- Who answers for an agent.
ALTER TABLE token ADD COLUMN owner TEXT;
