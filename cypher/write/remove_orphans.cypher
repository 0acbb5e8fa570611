// Removes concepts found in texts that no memory names any longer, now or in its history.
// Parameters: $batch MAP {concepts LIST<STRING> of ids}
// Returns: nothing
// Index: constraint concept_id; index mention_state_concept
UNWIND $batch.concepts AS id
MATCH (concept:Concept {id: id})
WHERE concept.origin = 'text'
  AND NOT EXISTS { (concept)--() }
  AND NOT EXISTS { (:MentionState {concept: id}) }
DELETE concept
