-- Memories of one type, latest first: the constraints in force come along with every recall.
CREATE INDEX memory_type ON memory (scope, type, occurred_at);
