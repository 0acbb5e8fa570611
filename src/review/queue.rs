//! Looks through the queue.

use super::{
    ProposalRecord, ProposalsRequest, ReviewContext,
    access::{author_seen, find, page_named, proposal_id, reader, sees},
    record::{full, listed},
};
use crate::{
    domain::{Caller, ProposalId, ProposalState, Record},
    error::Error,
    input,
    ports::QueueQuery,
    read::browse::{self, Page, PageRequest},
};
use jiff::Timestamp;

/// Proposals that are read at once by their ids.
const IDS_MAX: usize = 1000;

/// A proposal with everything that a decision needs.
pub async fn proposal(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<Option<ProposalRecord>, Error> {
    reader(caller)?;
    match find(ctx, caller, proposal_id(id)?).await? {
        Some(proposal) => full(ctx, caller, &proposal).await.map(Some),
        None => Ok(None),
    }
}

/// Those of `ids` that are proposals the caller sees, as in a list.
pub async fn proposals_by_id(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    ids: &[ProposalId],
) -> Result<Vec<ProposalRecord>, Error> {
    let visibility = reader(caller)?;
    if ids.len() > IDS_MAX {
        return Err(Error::bad_input("ids", format!("at most {IDS_MAX} ids")));
    }
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let found = ctx.reviews.records(&ids, &visibility).await?;
    let seen: Vec<_> =
        found.into_iter().filter_map(Record::proposal).filter(|proposal| sees(caller, proposal)).collect();
    listed(ctx, &seen).await
}

/// Proposals that meet the conditions, oldest first.
pub async fn proposals(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposalsRequest,
    page: &PageRequest,
) -> Result<Page<ProposalRecord>, Error> {
    let visibility = reader(caller)?;
    let first = browse::first(page)?;
    let after = browse::after(page, |key| {
        let (at, id) = key.split_once(' ')?;
        Some((browse::moment(at)?, ProposalId(id.parse().ok()?)))
    })?;
    let Some(query) = query(ctx, caller, request).await? else { return Ok(Page { items: Vec::new(), more: false }) };
    let found = ctx.reviews.queue(&query, after, first + 1, &visibility).await?;
    let cut = browse::cut(found, first, |it| format!("{} {}", it.created_at.as_microsecond(), it.id));
    let (cursors, found): (Vec<String>, Vec<_>) = cut.items.into_iter().unzip();
    let records = listed(ctx, &found).await?;
    Ok(Page { items: cursors.into_iter().zip(records).collect(), more: cut.more })
}

/// How many proposals meet the conditions.
pub async fn proposals_total(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposalsRequest,
) -> Result<usize, Error> {
    let visibility = reader(caller)?;
    match query(ctx, caller, request).await? {
        Some(query) => Ok(ctx.reviews.queue_total(&query, &visibility).await?),
        None => Ok(0),
    }
}

/// What a caller asks of the queue; `None` if nothing can meet it.
pub(super) async fn query(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposalsRequest,
) -> Result<Option<QueueQuery>, Error> {
    let mut states = input::names("states", &request.states)?;
    if states.is_empty() {
        states = ProposalState::open();
    }
    let asked = request.author.as_deref();
    let author = match (author_seen(caller), asked) {
        (Some(own), Some(asked)) if own != asked => return Ok(None),
        (own, asked) => own.or(asked).map(str::to_owned),
    };
    let of = match &request.slug {
        None => None,
        // A page that is not there yet has no id that anybody could name.
        Some(slug) => match page_named(ctx, slug, &caller.visibility()).await? {
            None => return Ok(None),
            Some(page) => Some(page.id.0),
        },
    };
    let now: Timestamp = ctx.write.clock.now();
    Ok(Some(QueueQuery {
        states,
        kinds: input::names("kinds", &request.kinds)?,
        of,
        author,
        run: request.run_id.clone(),
        held_by: (request.claimed == Some(true)).then(|| (caller.principal.clone(), now)),
        free_at: (request.claimed == Some(false)).then_some(now),
        flagged: request.flagged,
    }))
}
