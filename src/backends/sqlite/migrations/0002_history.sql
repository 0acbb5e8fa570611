-- What a look back needs: every state a memory was in, searchable as the present one is, and the edges that were replaced.
-- And votes.

-- The columns are the ones of `memory` that queries need, so that one condition serves both tables.
CREATE TABLE memory_state (
    rowid INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    scope INTEGER NOT NULL REFERENCES scope (id),
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    type TEXT NOT NULL,
    language TEXT NOT NULL,
    tags TEXT NOT NULL,
    session TEXT,
    task TEXT,
    occurred_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    recorded_at INTEGER NOT NULL,
    retired_at INTEGER,
    expires_at INTEGER,
    believed_from INTEGER NOT NULL,
    believed_to INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX memory_state_of ON memory_state (memory, believed_from);
CREATE INDEX memory_state_ended ON memory_state (believed_to);

-- Microseconds of an RFC 3339 moment in UTC, which is how a body has it: whole seconds and up to six digits after the point.
INSERT INTO memory_state (memory, scope, status, kind, type, language, tags, session, task, occurred_at, valid_from, valid_to,
    recorded_at, retired_at, expires_at, believed_from, believed_to, body)
SELECT memory,
    (SELECT id FROM scope WHERE key = CASE body ->> '$.scope.scope'
        WHEN 'private' THEN 'private:' || (body ->> '$.scope.name')
        WHEN 'shared' THEN 'group:' || (body ->> '$.scope.name') ELSE 'global' END),
    body ->> '$.status', body ->> '$.kind', body ->> '$.type', body ->> '$.language', body -> '$.tags',
    body ->> '$.session_id', body ->> '$.task_id',
    (SELECT unixepoch(substr(t, 1, 19)) * 1000000 + CAST(substr(rtrim(substr(t, 21), 'Z') || '000000', 1, 6) AS INTEGER)
        FROM (SELECT body ->> '$.occurred_at' AS t)),
    (SELECT unixepoch(substr(t, 1, 19)) * 1000000 + CAST(substr(rtrim(substr(t, 21), 'Z') || '000000', 1, 6) AS INTEGER)
        FROM (SELECT body ->> '$.valid_from' AS t)),
    (SELECT unixepoch(substr(t, 1, 19)) * 1000000 + CAST(substr(rtrim(substr(t, 21), 'Z') || '000000', 1, 6) AS INTEGER)
        FROM (SELECT body ->> '$.valid_to' AS t)),
    believed_from,
    (SELECT unixepoch(substr(t, 1, 19)) * 1000000 + CAST(substr(rtrim(substr(t, 21), 'Z') || '000000', 1, 6) AS INTEGER)
        FROM (SELECT body ->> '$.retired_at' AS t)),
    (SELECT unixepoch(substr(t, 1, 19)) * 1000000 + CAST(substr(rtrim(substr(t, 21), 'Z') || '000000', 1, 6) AS INTEGER)
        FROM (SELECT body ->> '$.expires_at' AS t)),
    believed_from, believed_to, body
FROM memory_revision ORDER BY memory, revision;
DROP TABLE memory_revision;

-- The words of earlier states, as `memory_terms` has those of the present ones.
CREATE VIRTUAL TABLE state_terms USING fts5 (
    terms, scope, content = '',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn Cf Cs'"
);
INSERT INTO state_terms (state_terms, rank) VALUES ('secure-delete', 1);
INSERT INTO state_terms (rowid, terms, scope) SELECT rowid, body ->> '$.terms', 's' || scope FROM memory_state;

-- Edges as they were from `since` until `ended_at`. `recorded_at` stays the moment an edge was first written; `since`, in
-- both tables, is when it got its present weight and reason, where that was later.
ALTER TABLE edge ADD COLUMN since INTEGER;
ALTER TABLE mention ADD COLUMN since INTEGER;
CREATE TABLE edge_state (
    source INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    scope INTEGER NOT NULL REFERENCES scope (id),
    weight REAL NOT NULL,
    reason TEXT,
    recorded_at INTEGER NOT NULL,
    since INTEGER,
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX edge_state_source ON edge_state (source);
CREATE INDEX edge_state_target ON edge_state (target);

CREATE TABLE mention_state (
    memory INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    concept INTEGER NOT NULL REFERENCES concept (rowid) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    memory_scope INTEGER NOT NULL REFERENCES scope (id),
    scope INTEGER NOT NULL REFERENCES scope (id),
    weight REAL NOT NULL,
    reason TEXT,
    recorded_at INTEGER NOT NULL,
    since INTEGER,
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mention_state_memory ON mention_state (memory);
CREATE INDEX mention_state_concept ON mention_state (concept);

-- One vote a principal and memory.
CREATE TABLE vote (
    memory INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    useful INTEGER NOT NULL,
    note TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (memory, principal)
) STRICT, WITHOUT ROWID;
