//! Reads memories by id.

use std::collections::HashSet;

use super::{GetReply, GetRequest, MemoryRecord, ReadContext, cursor::Cursor, render::json_tokens};
use crate::{
    domain::{AsOf, Caller, Right},
    error::Error,
    input,
};

/// Ids of one request at most.
const IDS: usize = 100;

/// The memories asked for, in that order. One that is unknown, not the caller's to see, or not there at the moment asked for
/// is `NOT_FOUND` for the whole.
pub async fn get(ctx: &ReadContext, caller: &Caller, request: GetRequest) -> Result<GetReply, Error> {
    input::require(caller, Right::MemoryRead)?;
    let cursor = {
        let question = GetRequest { cursor: None, ..request.clone() };
        Cursor::of(request.cursor.as_deref(), &question, ctx.clock.now())?
    };
    let mut ids = input::memory_ids("ids", &request.ids, IDS)?;
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    if ids.is_empty() {
        return Err(Error::bad_input("ids", "at least one id is needed"));
    }
    let as_of = AsOf {
        world: input::optional_time("as_of", request.as_of.as_deref())?,
        known: input::optional_time("known_at", request.known_at.as_deref())?,
    };
    let mut memories = ctx.graph.memories(&ids, as_of, &caller.visibility()).await?;
    memories.retain(|memory| as_of.holds(memory));
    if ids.iter().any(|id| !memories.iter().any(|memory| memory.id == *id)) {
        return Err(Error::not_found("ids"));
    }
    let mut left = ctx.settings.answer_tokens;
    let mut page: Vec<MemoryRecord> = Vec::new();
    let mut rest = memories.into_iter().skip(cursor.offset).map(MemoryRecord::from).peekable();
    while let Some(record) = rest.next_if(|record| page.is_empty() || json_tokens(record) <= left) {
        left = left.saturating_sub(json_tokens(&record));
        page.push(record);
    }
    let more = rest.peek().is_some();
    Ok(GetReply { cursor: more.then(|| cursor.after(page.len())), memories: page })
}
