-- Why a change was made, in the words of whoever asked for it. The index finds those to clear when a memory is forgotten.
ALTER TABLE change ADD COLUMN reason TEXT;
CREATE INDEX change_reason ON change (seq) WHERE reason IS NOT NULL;
