//! What would go live if a proposal were approved now.
//!
//! Approval is bound to the hash of this, so a page that moved between reading and deciding shows in the hash: nothing
//! that nobody read goes live.

use std::collections::HashMap;

use super::{ReviewContext, access::page_in_scope, record::off_thread};
use crate::{
    domain::{
        Base, Page, PageChange, PageId, PageMeta, Proposal, Record, Revision, RevisionId, Scope, Subject, Visibility,
    },
    error::{Error, ErrorCode},
    text,
    wiki::{Merge, Piece, merge},
};

/// Slug, title, aliases, categories and text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub meta: PageMeta,
    pub text: String,
}

impl State {
    /// The hash that approval is bound to.
    pub fn hash(&self) -> String {
        let meta = serde_json::to_string(&self.meta).expect("texts and lists are JSON");
        text::content_hash(Some(&meta), &self.text, None)
    }
}

/// An edit beside what the page says by now.
pub(super) struct Candidate {
    /// What the author wrote.
    pub proposed: State,
    /// What the author wrote it on; none for a new page.
    pub base: Option<State>,
    /// The page by now, and what it says; none if it is not there.
    pub head: Option<(Page, String)>,
    /// What it does to the page there is by now.
    pub change: PageChange,
    /// Both joined: what would go live, or where they clash.
    pub joined: Joined,
    /// Where the page lives or will live.
    pub scope: Scope,
}

/// An edit joined with what the page says by now.
pub(super) enum Joined {
    /// What would go live.
    Clean(State),
    /// They clash; slug, title and the like as they would be.
    Clash(PageMeta, Vec<Piece>),
    /// The page was deleted meanwhile.
    Deleted,
}

impl Candidate {
    /// Whether the page has moved since the edit was written.
    pub fn stale(&self, base: Option<Base>) -> bool {
        base.map(|base| base.number) != self.head.as_ref().map(|(page, _)| page.number)
    }

    /// What the page says by now; nothing if it is not there.
    pub fn current(&self) -> &str {
        self.head.as_ref().map_or("", |(_, text)| text.as_str())
    }

    /// Number of the head, 0 if there is none.
    pub fn head_number(&self) -> u64 {
        self.head.as_ref().map_or(0, |(page, _)| page.number)
    }

    /// The hash of what would go live; while they clash, of what the author wrote.
    pub fn hash(&self) -> String {
        match &self.joined {
            Joined::Clean(state) => state.hash(),
            Joined::Clash(..) | Joined::Deleted => self.proposed.hash(),
        }
    }
}

/// Reads what is needed to say what a proposal would make of its page.
pub(super) async fn candidate(ctx: &ReviewContext<'_>, proposal: &Proposal) -> Result<Candidate, Error> {
    let Subject::WikiEdit { page, page_scope, base, change, meta } = &proposal.subject else {
        return Err(Error::bad_input("id", "is no edit of a page"));
    };
    let everything = Visibility::system("a proposal that was seen leads to its page");
    let proposed = State { meta: meta.clone(), text: text_of(ctx, proposal.id.0, &everything).await? };
    let base_state = match base {
        None => None,
        Some(base) => Some(revision_state(ctx, base.revision, &everything).await?),
    };
    let head = match found(ctx, *page, &everything).await? {
        Some(page) => Some(page),
        // Somebody else made a page of that name meanwhile.
        None => page_in_scope(ctx, &meta.slug, page_scope).await?,
    };
    let head = match head {
        None => None,
        Some(page) => {
            let text = text_of(ctx, page.head.0, &everything).await?;
            Some((page, text))
        }
    };
    let change = match (change, &head) {
        (PageChange::Create, Some(_)) => PageChange::Edit,
        (change, _) => *change,
    };
    let scope = page_scope.clone();
    off_thread(move || {
        let joined = join(base_state.as_ref(), head.as_ref(), &proposed, change);
        Candidate { proposed, base: base_state, head, change, joined, scope }
    })
    .await
}

/// The page with this id.
pub(super) async fn found(
    ctx: &ReviewContext<'_>,
    page: PageId,
    visibility: &Visibility,
) -> Result<Option<Page>, Error> {
    Ok(ctx.reviews.records(&[page.0], visibility).await?.into_iter().next().and_then(Record::page))
}

/// Those of `ids` that are visible pages.
pub(super) async fn pages_of(
    ctx: &ReviewContext<'_>,
    ids: impl Iterator<Item = PageId>,
    visibility: &Visibility,
) -> Result<HashMap<PageId, Page>, Error> {
    let ids: Vec<uuid::Uuid> = ids.map(|id| id.0).collect();
    let found = ctx.reviews.records(&ids, visibility).await?.into_iter().filter_map(Record::page);
    Ok(found.map(|page| (page.id, page)).collect())
}

/// The text beside a record that is there.
pub(super) async fn text_of(ctx: &ReviewContext<'_>, id: uuid::Uuid, visibility: &Visibility) -> Result<String, Error> {
    let text = ctx.reviews.text(id, visibility).await?;
    text.ok_or_else(|| Error::new(ErrorCode::Internal, "a record of the wiki has lost its text"))
}

/// A revision that is there.
pub(super) async fn revision(
    ctx: &ReviewContext<'_>,
    id: RevisionId,
    visibility: &Visibility,
) -> Result<Revision, Error> {
    let found = ctx.reviews.records(&[id.0], visibility).await?.into_iter().next().and_then(Record::revision);
    found.ok_or_else(|| Error::new(ErrorCode::Internal, "a page of the wiki has lost a revision"))
}

/// What a revision says.
pub(super) async fn revision_state(
    ctx: &ReviewContext<'_>,
    id: RevisionId,
    visibility: &Visibility,
) -> Result<State, Error> {
    let revision = revision(ctx, id, visibility).await?;
    Ok(State { meta: revision.meta, text: text_of(ctx, id.0, visibility).await? })
}

fn join(base: Option<&State>, head: Option<&(Page, String)>, proposed: &State, change: PageChange) -> Joined {
    let Some((page, text)) = head else { return Joined::Clean(proposed.clone()) };
    if page.meta.deleted && !proposed.meta.deleted && change != PageChange::Restore {
        return Joined::Deleted;
    }
    let empty = State { meta: page.meta.clone(), text: String::new() };
    let base = base.unwrap_or(&empty);
    let meta = join_meta(&base.meta, &page.meta, &proposed.meta);
    match merge(&base.text, text, &proposed.text) {
        Merge::Clean(text) => Joined::Clean(State { meta, text }),
        Merge::Clash(pieces) => Joined::Clash(meta, pieces),
    }
}

/// What one side alone changed counts; where both changed, the author's is shown to the reviewer, and lists are joined.
pub(super) fn join_meta(base: &PageMeta, head: &PageMeta, proposed: &PageMeta) -> PageMeta {
    fn one<T: Clone + PartialEq>(base: &T, head: &T, proposed: &T) -> T {
        if proposed == base { head.clone() } else { proposed.clone() }
    }
    fn list(base: &[String], head: &[String], proposed: &[String]) -> Vec<String> {
        let mut joined: Vec<String> =
            head.iter().filter(|item| proposed.contains(item) || !base.contains(item)).cloned().collect();
        joined.extend(proposed.iter().filter(|item| !base.contains(item) && !head.contains(item)).cloned());
        joined
    }
    let mut meta = PageMeta {
        slug: one(&base.slug, &head.slug, &proposed.slug),
        title: one(&base.title, &head.title, &proposed.title),
        aliases: list(&base.aliases, &head.aliases, &proposed.aliases),
        categories: list(&base.categories, &head.categories, &proposed.categories),
        front: one(&base.front, &head.front, &proposed.front),
        deleted: one(&base.deleted, &head.deleted, &proposed.deleted),
    };
    // Every address that led to the page goes on leading there.
    if meta.slug != head.slug && !meta.aliases.contains(&head.slug) {
        meta.aliases.push(head.slug.clone());
    }
    let slug = meta.slug.clone();
    meta.aliases.retain(|alias| *alias != slug);
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(slug: &str, title: &str, aliases: &[&str]) -> PageMeta {
        PageMeta {
            slug: slug.to_owned(),
            title: title.to_owned(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            categories: Vec::new(),
            front: None,
            deleted: false,
        }
    }

    #[test]
    fn each_field_keeps_the_side_that_changed_it() {
        let base = meta("a", "A", &["x", "y"]);
        let joined = join_meta(&base, &meta("a", "New", &["x", "h"]), &meta("b", "A", &["x", "y", "p"]));
        assert_eq!(joined, meta("b", "New", &["x", "h", "p", "a"]));
        let moved = join_meta(&base, &meta("c", "A", &["x", "y", "a"]), &base);
        assert_eq!(moved.slug, "c");
        let untouched = join_meta(&base, &base, &base);
        assert_eq!(untouched, base);
    }

    #[test]
    fn hash_is_of_everything_that_goes_live() {
        let state = |title: &str, text: &str| State { meta: meta("a", title, &[]), text: text.to_owned() };
        let hashes = [state("A", "x"), state("B", "x"), state("A", "y")].map(|state| state.hash());
        assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2]);
    }
}
