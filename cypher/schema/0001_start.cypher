// Constraints and indexes of the first format. Statements are separated by semicolons; each changes nothing when run again.
// Parameters: none
// Returns: nothing
// Index: none, it makes them

// Memories. `external_key` is scope and external id; `active_key`, scope and content hash, is there while it is active.
CREATE CONSTRAINT memory_id IF NOT EXISTS FOR (n:Memory) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT memory_external IF NOT EXISTS FOR (n:Memory) REQUIRE n.external_key IS UNIQUE;
CREATE CONSTRAINT memory_active IF NOT EXISTS FOR (n:Memory) REQUIRE n.active_key IS UNIQUE;
CREATE INDEX memory_external_id IF NOT EXISTS FOR (n:Memory) ON (n.external_id);
CREATE INDEX memory_session_key IF NOT EXISTS FOR (n:Memory) ON (n.session_key, n.session_position);
CREATE INDEX memory_task_key IF NOT EXISTS FOR (n:Memory) ON (n.task_key, n.task_position);
CREATE INDEX memory_scope_occurred IF NOT EXISTS FOR (n:Memory) ON (n.visibility, n.occurred_at, n.id);
CREATE INDEX memory_scope_type IF NOT EXISTS FOR (n:Memory) ON (n.visibility, n.type, n.occurred_at, n.id);
CREATE FULLTEXT INDEX memory_terms IF NOT EXISTS FOR (n:Memory) ON EACH [n.terms, n.scope_term]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}};

// What memories were, and what was said of them.
CREATE INDEX memory_state_memory IF NOT EXISTS FOR (n:MemoryState) ON (n.memory, n.believed_from);
CREATE INDEX memory_state_ended IF NOT EXISTS FOR (n:MemoryState) ON (n.believed_to);
CREATE FULLTEXT INDEX state_terms IF NOT EXISTS FOR (n:MemoryState) ON EACH [n.terms, n.scope_term]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}};
CREATE INDEX edge_state_source IF NOT EXISTS FOR (n:EdgeState) ON (n.source);
CREATE INDEX edge_state_target IF NOT EXISTS FOR (n:EdgeState) ON (n.target);
CREATE INDEX mention_state_memory IF NOT EXISTS FOR (n:MentionState) ON (n.memory);
CREATE INDEX mention_state_concept IF NOT EXISTS FOR (n:MentionState) ON (n.concept);
CREATE CONSTRAINT vote_key IF NOT EXISTS FOR (n:Vote) REQUIRE n.key IS UNIQUE;
CREATE INDEX vote_memory IF NOT EXISTS FOR (n:Vote) ON (n.memory);

// Concepts, and how many memories name them: no count needs a walk.
CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (n:Concept) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT concept_key IF NOT EXISTS FOR (n:Concept) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT concept_use_key IF NOT EXISTS FOR (n:ConceptUse) REQUIRE n.key IS UNIQUE;
CREATE INDEX concept_use_concept IF NOT EXISTS FOR (n:ConceptUse) ON (n.concept);
CREATE CONSTRAINT scope_count_key IF NOT EXISTS FOR (n:ScopeCount) REQUIRE n.key IS UNIQUE;

// Raw events, and the memories that hold their words.
CREATE CONSTRAINT event_id IF NOT EXISTS FOR (n:Event) REQUIRE n.id IS UNIQUE;
CREATE INDEX event_scope_at IF NOT EXISTS FOR (n:Event) ON (n.visibility, n.at, n.id);
CREATE INDEX event_session IF NOT EXISTS FOR (n:Event) ON (n.visibility, n.session, n.at, n.id);
CREATE INDEX event_task IF NOT EXISTS FOR (n:Event) ON (n.visibility, n.task, n.at, n.id);
CREATE INDEX event_memory_memory IF NOT EXISTS FOR (n:EventMemory) ON (n.memory);
CREATE INDEX event_memory_event IF NOT EXISTS FOR (n:EventMemory) ON (n.event);

// The change log, the outbox of the vector index, answers that are kept.
CREATE CONSTRAINT change_id IF NOT EXISTS FOR (n:Change) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT change_seq IF NOT EXISTS FOR (n:Change) REQUIRE n.seq IS UNIQUE;
CREATE INDEX change_memory_seq IF NOT EXISTS FOR (n:ChangeMemory) ON (n.seq, n.memory);
CREATE INDEX change_memory_memory IF NOT EXISTS FOR (n:ChangeMemory) ON (n.memory);
CREATE INDEX change_memory_scope IF NOT EXISTS FOR (n:ChangeMemory) ON (n.visibility, n.seq);
CREATE CONSTRAINT outbox_seq IF NOT EXISTS FOR (n:Outbox) REQUIRE n.seq IS UNIQUE;
CREATE INDEX outbox_memory IF NOT EXISTS FOR (n:Outbox) ON (n.memory);
CREATE CONSTRAINT idempotency_key IF NOT EXISTS FOR (n:Idempotency) REQUIRE n.key IS UNIQUE;
CREATE INDEX idempotency_name_id IF NOT EXISTS FOR (n:IdempotencyName) ON (n.id);
CREATE INDEX idempotency_name_answer IF NOT EXISTS FOR (n:IdempotencyName) ON (n.answer);

// Settings and tokens.
CREATE CONSTRAINT meta_key IF NOT EXISTS FOR (n:Meta) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT token_id IF NOT EXISTS FOR (n:Token) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT token_secret IF NOT EXISTS FOR (n:Token) REQUIRE n.secret_hash IS UNIQUE;
CREATE INDEX token_created IF NOT EXISTS FOR (n:Token) ON (n.created_at)
