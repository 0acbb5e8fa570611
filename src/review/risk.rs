//! What a reviewer should look at twice. Found when a proposal is made or revised, on what it says then.

use super::{ReviewContext, candidate::State, record::off_thread};
use crate::{
    domain::{
        AsOf, Memory, MemoryId, Page, PageChange, PageId, PageMeta, PrincipalKind, RiskFlag, RiskKind, Scope,
        Visibility,
    },
    error::Error,
    ontology::Comparison,
    wiki::{Diff, citations, first_few, links, marks, slug_of},
};

/// Share of a page or a vocabulary that may be taken away before it is flagged.
const LARGE: f64 = 0.3;

/// An edit to look at.
pub(super) struct Edit<'a> {
    pub page: PageId,
    pub scope: &'a Scope,
    pub change: PageChange,
    pub base: Option<&'a State>,
    pub proposed: &'a State,
    pub evidence: &'a [MemoryId],
    pub author: PrincipalKind,
}

/// The risks of an edit.
pub(super) async fn flags(ctx: &ReviewContext<'_>, edit: &Edit<'_>) -> Result<Vec<RiskFlag>, Error> {
    let mut found: Vec<RiskFlag> = Vec::new();
    let mut flag = |kind: RiskKind, what: Vec<String>| found.extend(named(kind, what));
    let cited = citations(&edit.proposed.text);
    let unread = unread(ctx, edit, edit.evidence.to_vec()).await?;
    flag(RiskKind::BrokenEvidence, unread.iter().map(ToString::to_string).collect());
    if edit.evidence.is_empty() && cited.is_empty() && edit.author != PrincipalKind::Human {
        flag(RiskKind::NoEvidence, vec!["neither evidence nor a citation".to_owned()]);
    }
    let needed = ctx.settings.needed(&[&edit.proposed.meta.slug, edit.base.map_or("", |base| &base.meta.slug)]);
    if needed.protected {
        let groups = if needed.groups.is_empty() { "anybody".to_owned() } else { needed.groups.join(", ") };
        flag(RiskKind::ProtectedPage, vec![format!("{} must approve, of {groups}", needed.approvals)]);
    }
    if edit.change == PageChange::Delete {
        flag(RiskKind::LargeDeletion, vec!["the whole page".to_owned()]);
        return Ok(found);
    }
    let mut broken: Vec<String> =
        cited.iter().filter(|(_, memory)| memory.is_none()).map(|(given, _)| given.clone()).collect();
    let ids: Vec<MemoryId> = cited.iter().filter_map(|(_, memory)| *memory).collect();
    broken.extend(self::unread(ctx, edit, ids.clone()).await?.iter().map(ToString::to_string));
    flag(RiskKind::BrokenCitation, broken);
    flag(RiskKind::BrokenLink, missing(ctx, edit).await?);
    flag(RiskKind::DuplicatePage, twins(ctx, edit).await?);
    if let Some(base) = edit.base {
        let gone = citations(&base.text).into_iter().filter(|(given, _)| !cited.iter().any(|(kept, _)| kept == given));
        flag(RiskKind::RemovesCitation, gone.map(|(given, _)| given).collect());
        let (before, after) = (base.text.clone(), edit.proposed.text.clone());
        let share = off_thread(move || taken_away(&before, &after)).await?;
        if share > LARGE {
            flag(RiskKind::LargeDeletion, vec![format!("{:.0} % of the page", share * 100.0)]);
        }
    }
    let (title, text) = (edit.proposed.meta.title.clone(), edit.proposed.text.clone());
    found.extend(off_thread(move || marks(&text).flags).await?);
    found.extend(
        marks(&title)
            .flags
            .into_iter()
            .map(|flag| RiskFlag { detail: flag.detail.replace("in line 1", "in the title"), ..flag }),
    );
    found.sort_by_key(|flag| flag.kind);
    Ok(found)
}

/// The risks of an import: what goes.
pub(super) fn of_terms(compared: &Comparison) -> Vec<RiskFlag> {
    let share = compared.removed_share();
    let large = if share > LARGE { vec![format!("{:.0} % of the vocabulary", share * 100.0)] } else { Vec::new() };
    let gone = compared.removed().to_vec();
    named(RiskKind::LargeDeletion, large).into_iter().chain(named(RiskKind::RemovesTerms, gone)).collect()
}

/// A flag that names the first of what was found, if anything was.
fn named(kind: RiskKind, what: Vec<String>) -> Option<RiskFlag> {
    (!what.is_empty()).then(|| RiskFlag { kind, detail: first_few(what) })
}

/// Whether whoever reads the page reads this too.
fn is_read(page: &Scope, other: &Scope) -> bool {
    *other == Scope::Global || other == page
}

/// Those of `ids` that readers of the page cannot read.
async fn unread(ctx: &ReviewContext<'_>, edit: &Edit<'_>, ids: Vec<MemoryId>) -> Result<Vec<MemoryId>, Error> {
    let visibility = Visibility::system("whether readers of a page see what it cites");
    let found: Vec<Memory> = ctx.write.graph.memories(&ids, AsOf::default(), &visibility).await?;
    let read = |id: &MemoryId| found.iter().any(|memory| memory.id == *id && is_read(edit.scope, &memory.scope));
    Ok(ids.into_iter().filter(|id| !read(id)).collect())
}

/// Pages of these names that readers of the page can read, whether they are there or deleted.
async fn pages_read(ctx: &ReviewContext<'_>, edit: &Edit<'_>, names: &[String]) -> Result<Vec<Page>, Error> {
    let visibility = Visibility::system("whether readers of a page see where it links to");
    let found = ctx.reviews.pages_named(names, &visibility).await?;
    Ok(found.into_iter().filter(|page| !page.meta.deleted && is_read(edit.scope, &page.scope)).collect())
}

/// Names of pages that are not there.
async fn missing(ctx: &ReviewContext<'_>, edit: &Edit<'_>) -> Result<Vec<String>, Error> {
    let mut names = links(&edit.proposed.text);
    let there = pages_read(ctx, edit, &names).await?;
    let own = edit.proposed.meta.names();
    names.retain(|name| !own.contains(name) && !there.iter().any(|page| page.meta.names().contains(name)));
    Ok(names)
}

/// Other pages under this title.
async fn twins(ctx: &ReviewContext<'_>, edit: &Edit<'_>) -> Result<Vec<String>, Error> {
    if edit.base.is_some_and(|base| base.meta.title == edit.proposed.meta.title) {
        return Ok(Vec::new());
    }
    let name = PageMeta::name_of(&slug_of(&edit.proposed.meta.title));
    let found = pages_read(ctx, edit, &[name]).await?;
    Ok(found.into_iter().filter(|page| page.id != edit.page).map(|page| page.meta.slug).collect())
}

/// The share of a text that an edit takes away and does not replace.
fn taken_away(before: &str, after: &str) -> f64 {
    if before.is_empty() || after.len() >= before.len() {
        return 0.0;
    }
    let diff = Diff::of(before, after);
    let changed = |op: &str| -> usize {
        let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.op == op);
        lines.flat_map(|line| &line.parts).filter(|part| part.changed).map(|part| part.text.len()).sum()
    };
    changed("delete").saturating_sub(changed("insert")) as f64 / before.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_replaced_is_taken_away() {
        let page = "one two three four\nfive six seven eight\n";
        for (after, large) in [
            ("one two three four\n", true),
            ("one two three\nfive six seven eight\n", false),
            ("eins zwei drei vier\nfive six seven eight\n", false),
            ("", true),
        ] {
            assert_eq!(taken_away(page, after) > LARGE, large, "{after:?}: {}", taken_away(page, after));
        }
    }
}
