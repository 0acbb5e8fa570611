-- What each change did to which memory: the ids of the audit log, and what subscribers are told. `scope` is the memory's
-- at that time, so that a forgotten memory is reported to those who saw it and to nobody else. A change that touches a
-- memory in several ways has one row, for what matters most.
CREATE TABLE change_memory (
    seq INTEGER NOT NULL REFERENCES change (seq) ON DELETE CASCADE,
    memory BLOB NOT NULL CHECK (length(memory) = 16),
    effect TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scope (id),
    PRIMARY KEY (seq, memory)
) STRICT, WITHOUT ROWID;
