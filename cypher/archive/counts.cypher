// How many rows each part of an archive has, as the server counts them while it writes.
// Parameters: none
// Returns: part STRING; rows INTEGER
// Index: none, they are counts that the server keeps
MATCH (n:Meta)
WITH count(n) AS rows
RETURN 'meta' AS part, rows
UNION ALL
MATCH (n:Token)
WITH count(n) AS rows
RETURN 'tokens' AS part, rows
UNION ALL
MATCH (n:Concept)
WITH count(n) AS rows
RETURN 'concepts' AS part, rows
UNION ALL
MATCH (n:Memory)
WITH count(n) AS rows
RETURN 'memories' AS part, rows
UNION ALL
MATCH (n:MemoryState)
WITH count(n) AS rows
RETURN 'memory_states' AS part, rows
UNION ALL
MATCH (n:EdgeState)
WITH count(n) AS rows
RETURN 'edge_states' AS part, rows
UNION ALL
MATCH (n:MentionState)
WITH count(n) AS rows
RETURN 'mention_states' AS part, rows
UNION ALL
MATCH (n:Event)
WITH count(n) AS rows
RETURN 'events' AS part, rows
UNION ALL
MATCH (n:Vote)
WITH count(n) AS rows
RETURN 'votes' AS part, rows
UNION ALL
MATCH (n:Record)
WITH count(n) AS rows
RETURN 'records' AS part, rows
UNION ALL
MATCH (n:Change)
WITH count(n) AS rows
RETURN 'changes' AS part, rows
UNION ALL
MATCH (n:Idempotency)
WITH count(n) AS rows
RETURN 'answers' AS part, rows
UNION ALL
MATCH (n:OntologyVersion)
WITH count(n) AS rows
RETURN 'ontology_versions' AS part, rows
UNION ALL
MATCH (n:Term)
WITH count(n) AS rows
RETURN 'terms' AS part, rows
UNION ALL
MATCH ()-[edge:BROADER|RELATED]->()
WITH count(edge) AS rows
RETURN 'concept_edges' AS part, rows
UNION ALL
MATCH ()-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]->()
WITH count(edge) AS rows
RETURN 'edges' AS part, rows
UNION ALL
MATCH ()-[edge:ABOUT|MENTIONS]->()
WITH count(edge) AS rows
RETURN 'mentions' AS part, rows
