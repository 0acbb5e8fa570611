-- Which events hold the words of a memory, so that forgetting it finds them.
CREATE TABLE event_memory (
    memory BLOB NOT NULL,
    event BLOB NOT NULL REFERENCES event (id) ON DELETE CASCADE,
    PRIMARY KEY (memory, event)
) STRICT, WITHOUT ROWID;
