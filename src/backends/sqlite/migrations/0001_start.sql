-- Times are microseconds since 1970, ids are 16 bytes, `kind` of an edge is its name. A landed migration is never edited.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Who may read: every record points here, and the keyword index holds 's' || id as a token of its own.
CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    memories INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `body` is the whole record as JSON. The columns are what queries need; access_count and last_accessed live in their
-- columns alone, so that a touch rewrites no body.
CREATE TABLE memory (
    rowid INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    scope INTEGER NOT NULL REFERENCES scope (id),
    external_id TEXT,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    type TEXT NOT NULL,
    language TEXT NOT NULL,
    tags TEXT NOT NULL,
    session TEXT,
    session_position INTEGER,
    task TEXT,
    task_position INTEGER,
    occurred_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    recorded_at INTEGER NOT NULL,
    retired_at INTEGER,
    expires_at INTEGER,
    revision INTEGER NOT NULL,
    revised_at INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    access_count INTEGER NOT NULL,
    last_accessed INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_external ON memory (external_id, scope) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX memory_active_content ON memory (content_hash, scope) WHERE status = 'active';
CREATE INDEX memory_session ON memory (scope, session, session_position) WHERE session IS NOT NULL;
CREATE INDEX memory_task ON memory (scope, task, task_position) WHERE task IS NOT NULL;
CREATE INDEX memory_recent ON memory (scope, occurred_at);

CREATE TRIGGER memory_added AFTER INSERT ON memory BEGIN
    UPDATE scope SET memories = memories + 1 WHERE id = NEW.scope;
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memory BEGIN
    UPDATE scope SET memories = memories - 1 WHERE id = OLD.scope;
END;
CREATE TRIGGER memory_moved AFTER UPDATE OF scope ON memory WHEN OLD.scope <> NEW.scope BEGIN
    UPDATE scope SET memories = memories - 1 WHERE id = OLD.scope;
    UPDATE scope SET memories = memories + 1 WHERE id = NEW.scope;
    UPDATE mention SET memory_scope = NEW.scope WHERE memory = NEW.rowid;
END;

-- Replaced revisions, each with the interval in which it was believed.
CREATE TABLE memory_revision (
    memory INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    believed_from INTEGER NOT NULL,
    believed_to INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (memory, revision)
) STRICT;

-- The keyword index. Our tokens are separated by spaces and every other character belongs to a token. It keeps no text;
-- a deletion names the indexed text. That is why `contentless_delete` is not used: it leaves a deleted document's terms in
-- the file until some later merge, secure-delete or not (tried with 3.54.1), and a forgotten memory must be gone.
CREATE VIRTUAL TABLE memory_terms USING fts5 (
    terms, scope, content = '',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn Cf Cs'"
);
INSERT INTO memory_terms (memory_terms, rank) VALUES ('secure-delete', 1);

CREATE TABLE edge (
    source INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    scope INTEGER NOT NULL REFERENCES scope (id),
    weight REAL NOT NULL,
    reason TEXT,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (source, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_target ON edge (target, kind);

CREATE TABLE concept (
    rowid INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    key TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    origin TEXT NOT NULL
) STRICT;

-- Edges from a memory to a concept. `memory_scope` is the memory's, kept in step by the trigger memory_moved.
CREATE TABLE mention (
    memory INTEGER NOT NULL REFERENCES memory (rowid) ON DELETE CASCADE,
    concept INTEGER NOT NULL REFERENCES concept (rowid) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    memory_scope INTEGER NOT NULL REFERENCES scope (id),
    scope INTEGER NOT NULL REFERENCES scope (id),
    weight REAL NOT NULL,
    reason TEXT,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (memory, concept, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_concept ON mention (concept, kind, memory DESC);

-- How many memories name a concept (`uses`) and are about it, by the scopes that decide who may know: no reader's count
-- needs a scan. A memory that is about a concept and mentions it too (a twin, in the same scope)
-- counts once in `uses`.
CREATE TABLE concept_use (
    concept INTEGER NOT NULL,
    memory_scope INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    about INTEGER NOT NULL,
    PRIMARY KEY (concept, memory_scope, scope)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER mention_added AFTER INSERT ON mention BEGIN
    INSERT INTO concept_use
        SELECT NEW.concept, NEW.memory_scope, NEW.scope,
            NOT EXISTS (SELECT 1 FROM mention twin WHERE twin.memory = NEW.memory AND twin.concept = NEW.concept
                AND twin.kind <> NEW.kind AND twin.scope = NEW.scope AND twin.memory_scope = NEW.memory_scope),
            NEW.kind = 'ABOUT'
        WHERE true
        ON CONFLICT DO UPDATE SET uses = uses + excluded.uses, about = about + excluded.about;
END;
CREATE TRIGGER mention_removed AFTER DELETE ON mention BEGIN
    UPDATE concept_use SET about = about - (OLD.kind = 'ABOUT'), uses = uses -
            NOT EXISTS (SELECT 1 FROM mention twin WHERE twin.memory = OLD.memory AND twin.concept = OLD.concept
                AND twin.kind <> OLD.kind AND twin.scope = OLD.scope AND twin.memory_scope = OLD.memory_scope)
        WHERE concept = OLD.concept AND memory_scope = OLD.memory_scope AND scope = OLD.scope;
    DELETE FROM concept_use
        WHERE concept = OLD.concept AND memory_scope = OLD.memory_scope AND scope = OLD.scope AND uses = 0;
END;
CREATE TRIGGER mention_moved AFTER UPDATE OF scope, memory_scope ON mention
WHEN OLD.scope <> NEW.scope OR OLD.memory_scope <> NEW.memory_scope
BEGIN
    UPDATE concept_use SET about = about - (OLD.kind = 'ABOUT'), uses = uses -
            NOT EXISTS (SELECT 1 FROM mention twin WHERE twin.memory = OLD.memory AND twin.concept = OLD.concept
                AND twin.kind <> OLD.kind AND twin.scope = OLD.scope AND twin.memory_scope = OLD.memory_scope)
        WHERE concept = OLD.concept AND memory_scope = OLD.memory_scope AND scope = OLD.scope;
    DELETE FROM concept_use
        WHERE concept = OLD.concept AND memory_scope = OLD.memory_scope AND scope = OLD.scope AND uses = 0;
    INSERT INTO concept_use
        SELECT NEW.concept, NEW.memory_scope, NEW.scope,
            NOT EXISTS (SELECT 1 FROM mention twin WHERE twin.memory = NEW.memory AND twin.concept = NEW.concept
                AND twin.kind <> NEW.kind AND twin.scope = NEW.scope AND twin.memory_scope = NEW.memory_scope),
            NEW.kind = 'ABOUT'
        WHERE true
        ON CONFLICT DO UPDATE SET uses = uses + excluded.uses, about = about + excluded.about;
END;

CREATE TABLE concept_edge (
    source INTEGER NOT NULL REFERENCES concept (rowid) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES concept (rowid) ON DELETE CASCADE,
    scope INTEGER NOT NULL REFERENCES scope (id),
    weight REAL NOT NULL,
    reason TEXT,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (source, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX concept_edge_target ON concept_edge (target, kind);

CREATE TABLE event (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    scope INTEGER NOT NULL REFERENCES scope (id),
    session TEXT,
    task TEXT,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX event_session ON event (scope, session, at);

-- Applied ids and audit in one: a row says that, when and for whom a change was written, never what it contained.
CREATE TABLE change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    use_case TEXT NOT NULL,
    ops INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
    rowid INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    change BLOB NOT NULL,
    request_hash TEXT NOT NULL,
    answer TEXT NOT NULL,
    UNIQUE (principal, key)
) STRICT;
-- The ids an answer names or its change wrote, so that forgetting a memory finds the answers that tell of it.
CREATE TABLE idempotency_names (
    id BLOB NOT NULL,
    answer INTEGER NOT NULL REFERENCES idempotency (rowid) ON DELETE CASCADE,
    PRIMARY KEY (id, answer)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_names_answer ON idempotency_names (answer);

-- `vectors` holds the numbers of `op` one after the other: for each vector its length (u32) and its f32s, little-endian.
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    memory BLOB NOT NULL,
    op TEXT NOT NULL,
    vectors BLOB
) STRICT;
CREATE INDEX outbox_memory ON outbox (memory);

CREATE TABLE token (
    id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    groups TEXT NOT NULL,
    rights TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    attempts INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    change TEXT NOT NULL
) STRICT;
CREATE INDEX journal_pending ON journal (seq) WHERE dead = 0;
