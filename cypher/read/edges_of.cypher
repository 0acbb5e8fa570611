// The edges that leave or reach nodes, memories or concepts: the latest first, so many of each.
// Parameters: $ask MAP {nodes LIST<STRING> of ids}; $limit INTEGER; $reader MAP (see README)
// Returns: place INTEGER in nodes; source, target, kind STRING; weight FLOAT; reason STRING or null; visibility STRING;
//   recorded_at INTEGER
// Index: constraints memory_id, concept_id; index concept_use_concept
UNWIND range(0, size($ask.nodes) - 1) AS place
CALL (place) {
  CALL (place) {
    MATCH (here:Memory {id: $ask.nodes[place]})
    WHERE ($reader.keys IS NULL OR here.visibility IN $reader.keys)
    MATCH (here)-[edge:SAME_SESSION|SAME_TASK|SUPERSEDES|CAUSES|SUPPLEMENTS|DERIVED_FROM|CONTRADICTS]-(there:Memory)
    WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys) AND ($reader.keys IS NULL
      OR there.visibility IN $reader.keys)
    RETURN edge
    UNION
    MATCH (here:Memory {id: $ask.nodes[place]})
    WHERE ($reader.keys IS NULL OR here.visibility IN $reader.keys)
    MATCH (here)-[edge:ABOUT|MENTIONS]->(:Concept)
    WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
    RETURN edge
    UNION
    MATCH (here:Concept {id: $ask.nodes[place]})<-[edge:ABOUT|MENTIONS]-(:Memory)
    WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys) AND ($reader.keys IS NULL
      OR edge.memory_visibility IN $reader.keys)
    RETURN edge
    UNION
    MATCH (here:Concept {id: $ask.nodes[place]})-[edge:BROADER|RELATED]-(there:Concept)
    WHERE ($reader.keys IS NULL OR edge.visibility IN $reader.keys)
      AND (here.origin = 'ontology' OR EXISTS {
      MATCH (use:ConceptUse)
      WHERE use.concept = here.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
        AND use.visibility IN $reader.keys))
    })
      AND (there.origin = 'ontology' OR EXISTS {
      MATCH (use:ConceptUse)
      WHERE use.concept = there.id AND ($reader.keys IS NULL OR (use.memory_visibility IN $reader.keys
        AND use.visibility IN $reader.keys))
    })
    RETURN edge
  }
  WITH edge, startNode(edge).id AS source, endNode(edge).id AS target
  RETURN source, target, type(edge) AS kind, edge.weight AS weight, edge.reason AS reason,
    edge.visibility AS visibility, edge.recorded_at AS recorded_at
  ORDER BY recorded_at DESC, kind, source, target
  LIMIT $limit
}
RETURN place, source, target, kind, weight, reason, visibility, recorded_at
ORDER BY place, recorded_at DESC, kind, source, target
