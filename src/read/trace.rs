//! Tells where a memory came from: its states, its edges, its raw events.

use super::{EdgeRecord, MemoryRecord, RawEvent, ReadContext, StateRecord, TraceReply, TraceRequest};
use crate::{
    domain::{Caller, EventId, Right},
    error::Error,
    input,
};

/// Edges of an answer at most.
const EDGES: usize = 200;

/// The history of a memory, as far as the caller sees it.
pub async fn trace(ctx: &ReadContext, caller: &Caller, request: TraceRequest) -> Result<TraceReply, Error> {
    input::require(caller, Right::MemoryRead)?;
    let id = input::memory_id("id", &request.id)?;
    let visibility = caller.visibility();
    let states = ctx.graph.revisions(id, &visibility).await?;
    let Some((.., present)) = states.last() else { return Err(Error::not_found("id")) };
    // Provenance names memories too; those are among the edges.
    let sources: Vec<EventId> = present.provenance.iter().copied().map(EventId).collect();
    let (edges, events) =
        tokio::try_join!(ctx.graph.edges_of(id.0, EDGES, &visibility), ctx.graph.events(&sources, &visibility))?;
    Ok(TraceReply {
        id: id.to_string(),
        states: states
            .into_iter()
            .map(|(from, to, memory)| StateRecord {
                from: from.to_string(),
                to: to.map(|to| to.to_string()),
                memory: MemoryRecord::from(memory),
            })
            .collect(),
        edges: edges
            .into_iter()
            .map(|edge| EdgeRecord {
                from: edge.from.to_string(),
                to: edge.to.to_string(),
                edge: edge.kind.to_string(),
                weight: edge.weight,
                reason: edge.reason,
                recorded_at: edge.recorded_at.to_string(),
            })
            .collect(),
        events: events.into_iter().map(RawEvent::from).collect(),
    })
}
