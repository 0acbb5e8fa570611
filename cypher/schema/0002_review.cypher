// Pages, revisions and proposals: nodes `Record` with a label of their kind. Statements are separated by semicolons; each
// changes nothing when run again.
// Parameters: none
// Returns: nothing
// Index: none, it makes them

CREATE CONSTRAINT record_id IF NOT EXISTS FOR (n:Record) REQUIRE n.id IS UNIQUE;
CREATE INDEX page_slug IF NOT EXISTS FOR (n:Page) ON (n.state, n.slug, n.id);
CREATE INDEX revision_number IF NOT EXISTS FOR (n:Revision) ON (n.of, n.number);
CREATE INDEX proposal_queue IF NOT EXISTS FOR (n:Proposal) ON (n.state, n.at, n.id);

// The names of pages, each once in a scope, and what records point to or belong to.
CREATE CONSTRAINT record_name_key IF NOT EXISTS FOR (n:RecordName) REQUIRE n.key IS UNIQUE;
CREATE INDEX record_name_name IF NOT EXISTS FOR (n:RecordName) ON (n.name);
CREATE INDEX record_name_record IF NOT EXISTS FOR (n:RecordName) ON (n.record);
CREATE INDEX record_key_target IF NOT EXISTS FOR (n:RecordKey) ON (n.target, n.state, n.at, n.record);
CREATE INDEX record_key_record IF NOT EXISTS FOR (n:RecordKey) ON (n.record);

// What each change did to which proposal.
CREATE INDEX change_proposal_seq IF NOT EXISTS FOR (n:ChangeProposal) ON (n.seq, n.proposal);
