//! What every store of pages, revisions and proposals does.

use recollect::{
    domain::{
        Author, BlameRun, Caller, Claim, Comment, Decision, MemoryId, Mover, OntologyImport, Op, Page, PageChange,
        PageId, PageMeta, Passage, PrincipalKind, Proposal, ProposalId, ProposalKind, ProposalState, Record, Revision,
        RevisionId, RiskFlag, RiskKind, Scope, Subject, Updated, Visibility,
    },
    ports::{GraphStore, PageQuery, PortErrorKind, QueueQuery, ReviewStore},
};
use uuid::Uuid;

use crate::support::{at, change, desk::reviewer, id, memory};

/// A store that keeps what it is given, so that it can be read.
pub trait Both: ReviewStore + GraphStore {}
impl<T: ReviewStore + GraphStore> Both for T {}

macro_rules! review_store_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            review_store,
            [
                record_comes_back_as_it_was_written,
                text_stays_until_another_one_is_written,
                version_that_is_not_stored_is_a_conflict,
                name_leads_to_one_page_of_a_scope,
                records_and_memories_are_written_together_or_not_at_all,
                change_is_applied_once,
                pages_are_listed_by_slug,
                pages_are_found_by_what_they_point_to,
                history_goes_back_from_the_latest,
                queue_meets_its_conditions_oldest_first,
                proposals_of_terms_and_updates_are_found_by_kind_and_memory,
                queue_goes_on_after_its_last_proposal,
                tallies_count_what_became_of_proposals,
                change_log_tells_what_became_of_each_proposal,
                readers_see_their_scopes_only,
            ]
        );
    };
}
pub(crate) use review_store_suite;

fn everything() -> Visibility {
    Visibility::system("a test looks at everything")
}

fn uuid(n: u64) -> Uuid {
    id(n).0
}

fn group(name: &str) -> Scope {
    Scope::Shared(name.to_owned())
}

fn meta(slug: &str) -> PageMeta {
    PageMeta {
        slug: slug.to_owned(),
        title: format!("On {slug}"),
        aliases: vec![format!("old/{slug}")],
        categories: vec!["值班".to_owned()],
        front: None,
        deleted: false,
    }
}

pub fn page(n: u64, scope: &Scope, slug: &str) -> Page {
    Page {
        id: PageId(uuid(n)),
        scope: scope.clone(),
        meta: meta(slug),
        head: RevisionId(uuid(n + 500)),
        number: 1,
        content_hash: "5e".repeat(32),
        created_at: at(1),
        updated_at: at(2),
        links: vec!["other".to_owned()],
        cites: vec![id(7)],
        passages: vec![Passage { memory: id(8), place: "A / B#0".to_owned(), hash: "00".repeat(32) }],
    }
}

pub fn revision(page: u64, number: u64, scope: &Scope) -> Revision {
    Revision {
        id: RevisionId(uuid(page * 1000 + number)),
        page: PageId(uuid(page)),
        scope: scope.clone(),
        number,
        parent: (number > 1).then(|| RevisionId(uuid(page * 1000 + number - 1))),
        change: if number > 1 { PageChange::Edit } else { PageChange::Create },
        meta: meta("a"),
        at: at(i64::try_from(number).unwrap() * 10),
        author: "scribe".to_owned(),
        author_kind: PrincipalKind::Agent,
        approvers: vec!["rita".to_owned()],
        editor: None,
        proposal: None,
        run: Some("run 1".to_owned()),
        rationale: Some("因为".to_owned()),
        evidence: vec![id(7)],
        reverts: None,
        content_hash: "5e".repeat(32),
        size: 3,
        blame: vec![BlameRun(1, 2), BlameRun(number, 1)],
    }
}

pub fn proposal(n: u64, scope: &Scope, author: &str) -> Proposal {
    let subject = Subject::WikiEdit {
        page: PageId(uuid(n + 100)),
        page_scope: scope.clone(),
        base: None,
        change: PageChange::Create,
        meta: meta("a"),
    };
    let author = Author { name: author.to_owned(), kind: PrincipalKind::Agent, owner: Some("olga".to_owned()) };
    Proposal::open(ProposalId(uuid(n)), subject, scope, author, "c0".repeat(32), at(i64::try_from(n).unwrap()))
}

pub fn put(record: Record, text: Option<&str>, expected_version: u64) -> Op {
    Op::PutRecord { record: Box::new(record), text: text.map(str::to_owned), expected_version }
}

async fn write(store: &dyn Both, n: u64, ops: Vec<Op>) {
    store.apply(&[change(n, ops)]).await.unwrap();
}

async fn conflicts(store: &dyn Both, n: u64, ops: Vec<Op>) {
    assert_eq!(store.apply(&[change(n, ops)]).await.unwrap_err().kind, PortErrorKind::Conflict);
}

fn mover(second: i64) -> Mover<'static> {
    Mover { by: "rita", at: at(second), why: Some("so") }
}

fn decision(second: i64) -> Decision {
    Decision::of("rita", at(second), None)
}

pub async fn record_comes_back_as_it_was_written(store: &dyn Both) {
    let scope = group("crew");
    let mut proposed = proposal(3, &scope, "scribe");
    proposed.flags = vec![RiskFlag { kind: RiskKind::BidiText, detail: "U+202E in line 3".to_owned() }];
    proposed.evidence = vec![id(7)];
    let said = Comment { by: "rita".to_owned(), at: at(9), text: "why?".to_owned(), line: Some(3) };
    let proposed = Proposal { version: 1, ..proposed.commented(said) };
    let records =
        [Record::Page(page(1, &scope, "a")), Record::Revision(revision(2, 1, &scope)), Record::Proposal(proposed)];
    write(store, 1, records.iter().cloned().map(|record| put(record, Some("text\r\n"), 0)).collect()).await;
    let ids: Vec<Uuid> = [3, 1, 9].map(uuid).into_iter().chain([records[1].id()]).collect();
    let found = store.records(&ids, &everything()).await.unwrap();
    assert_eq!(
        found,
        [&records[2], &records[0], &records[1]].map(Clone::clone),
        "in the order asked, without the unknown"
    );
}

pub async fn text_stays_until_another_one_is_written(store: &dyn Both) {
    let first = proposal(1, &Scope::Global, "scribe");
    let text = "一 \u{202e}\r\n\u{feff}end";
    write(store, 1, vec![put(Record::Proposal(first.clone()), Some(text), 0)]).await;
    assert_eq!(store.text(uuid(1), &everything()).await.unwrap().as_deref(), Some(text));
    let second = first.released(at(2));
    write(store, 2, vec![put(Record::Proposal(second.clone()), None, 1)]).await;
    assert_eq!(store.text(uuid(1), &everything()).await.unwrap().as_deref(), Some(text));
    write(store, 3, vec![put(Record::Proposal(second.released(at(3))), Some("new"), 2)]).await;
    assert_eq!(store.text(uuid(1), &everything()).await.unwrap().as_deref(), Some("new"));
    assert_eq!(store.text(uuid(2), &everything()).await.unwrap(), None);
}

pub async fn version_that_is_not_stored_is_a_conflict(store: &dyn Both) {
    let first = proposal(1, &Scope::Global, "scribe");
    conflicts(store, 1, vec![put(Record::Proposal(first.clone()), None, 1)]).await;
    write(store, 2, vec![put(Record::Proposal(first.clone()), Some("x"), 0)]).await;
    conflicts(store, 3, vec![put(Record::Proposal(first.clone()), Some("x"), 0)]).await;
    let second = first.released(at(2));
    write(store, 4, vec![put(Record::Proposal(second.clone()), None, 1)]).await;
    conflicts(store, 5, vec![put(Record::Proposal(second), None, 1)]).await;
    write(store, 6, vec![put(Record::Revision(revision(9, 1, &Scope::Global)), Some("x"), 0)]).await;
    conflicts(store, 7, vec![put(Record::Revision(revision(9, 1, &Scope::Global)), Some("y"), 0)]).await;
}

pub async fn name_leads_to_one_page_of_a_scope(store: &dyn Both) {
    write(store, 1, vec![put(Record::Page(page(1, &Scope::Global, "Ops/数")), None, 0)]).await;
    conflicts(store, 2, vec![put(Record::Page(page(2, &Scope::Global, "ops/数")), None, 0)]).await;
    conflicts(store, 3, vec![put(Record::Page(page(2, &Scope::Global, "OLD/ops/数")), None, 0)]).await;
    write(store, 4, vec![put(Record::Page(page(3, &group("crew"), "ops/数")), None, 0)]).await;
    let named = async |name: &str| {
        let mut found = store.pages_named(&[name.to_owned()], &everything()).await.unwrap();
        found.sort_by_key(|page| page.id);
        found.into_iter().map(|page| page.id.0).collect::<Vec<_>>()
    };
    assert_eq!(named("ops/数").await, [uuid(1), uuid(3)]);
    assert_eq!(named("old/ops/数").await, [uuid(1), uuid(3)]);
    // A page that takes another name lets the old one go, unless it keeps it as an alias.
    let renamed = Page { meta: meta("new"), number: 2, ..page(1, &Scope::Global, "Ops/数") };
    write(store, 5, vec![put(Record::Page(renamed), None, 1)]).await;
    assert_eq!(named("ops/数").await, [uuid(3)]);
    write(store, 6, vec![put(Record::Page(page(4, &Scope::Global, "ops/数")), None, 0)]).await;
}

pub async fn records_and_memories_are_written_together_or_not_at_all(store: &dyn Both) {
    let known = memory(1, &Scope::Global, "known");
    let put_memory = |memory| Op::PutMemory { memory: Box::new(memory), expected_revision: 0, vectors: Vec::new() };
    write(store, 1, vec![put_memory(known.clone())]).await;
    let record = put(Record::Proposal(proposal(2, &Scope::Global, "scribe")), Some("x"), 0);
    // The memory is there already, so the record must not be.
    conflicts(store, 2, vec![record.clone(), put_memory(known)]).await;
    assert!(store.records(&[uuid(2)], &everything()).await.unwrap().is_empty());
    let stale = put(Record::Proposal(proposal(3, &Scope::Global, "scribe")), Some("x"), 4);
    conflicts(store, 3, vec![put_memory(memory(5, &Scope::Global, "new")), stale]).await;
    assert_eq!(store.counts(&everything()).await.unwrap().memories, 1);
    write(store, 4, vec![put_memory(memory(5, &Scope::Global, "new")), record]).await;
    assert_eq!(store.counts(&everything()).await.unwrap().memories, 2);
}

pub async fn change_is_applied_once(store: &dyn Both) {
    let ops = vec![put(Record::Proposal(proposal(1, &Scope::Global, "scribe")), Some("x"), 0)];
    write(store, 1, ops.clone()).await;
    write(store, 1, ops).await;
    assert_eq!(store.proposal_changes(0, 10, None, &everything()).await.unwrap().len(), 1);
}

pub async fn pages_are_listed_by_slug(store: &dyn Both) {
    let mut gone = page(6, &Scope::Global, "ops/gone");
    gone.meta.deleted = true;
    let pages = [
        page(1, &Scope::Global, "ops/b"),
        page(2, &Scope::Global, "ops/a"),
        page(3, &Scope::Global, "zoo"),
        page(4, &group("crew"), "ops/a"),
        page(5, &Scope::Global, "Ops/C"),
        gone,
    ];
    write(store, 1, pages.into_iter().map(|page| put(Record::Page(page), None, 0)).collect()).await;
    let list = async |prefix: &str, deleted: bool, after: Option<(&str, u64)>, limit: usize| {
        let query = PageQuery { prefix: prefix.to_owned(), deleted, ..PageQuery::default() };
        let after = after.map(|(slug, n)| (slug.to_owned(), PageId(uuid(n))));
        let found = store.pages(&query, after, limit, &everything()).await.unwrap();
        found.into_iter().map(|page| page.id.0).collect::<Vec<_>>()
    };
    assert_eq!(list("", false, None, 10).await, [2, 4, 1, 5, 3].map(uuid));
    assert_eq!(list("ops/", false, None, 10).await, [2, 4, 1, 5].map(uuid));
    assert_eq!(list("ops/", false, Some(("ops/a", 2)), 2).await, [4, 1].map(uuid));
    assert_eq!(list("ops/", false, Some(("ops/c", 5)), 2).await, [].map(uuid));
    assert_eq!(list("", true, None, 10).await, [uuid(6)]);
    assert_eq!(list("%", false, None, 10).await, [].map(uuid));
}

pub async fn pages_are_found_by_what_they_point_to(store: &dyn Both) {
    let mut other = page(2, &Scope::Global, "b");
    (other.links, other.cites) = (vec!["a".to_owned()], Vec::new());
    let first = page(1, &Scope::Global, "a");
    write(store, 1, vec![put(Record::Page(first), None, 0), put(Record::Page(other.clone()), None, 0)]).await;
    let pointing = async |target: String| {
        let query = PageQuery { refers_to: Some(target), ..PageQuery::default() };
        let found = store.pages(&query, None, 10, &everything()).await.unwrap();
        found.into_iter().map(|page| page.id.0).collect::<Vec<_>>()
    };
    assert_eq!(pointing("page:a".to_owned()).await, [uuid(2)]);
    assert_eq!(pointing("page:other".to_owned()).await, [uuid(1)]);
    assert_eq!(pointing(format!("memory:{}", id(7))).await, [uuid(1)]);
    (other.links, other.number) = (Vec::new(), 2);
    write(store, 2, vec![put(Record::Page(other), None, 1)]).await;
    assert_eq!(pointing("page:a".to_owned()).await, [].map(uuid));
}

pub async fn history_goes_back_from_the_latest(store: &dyn Both) {
    let revisions = (1..=5).map(|number| revision(1, number, &Scope::Global)).chain([revision(2, 1, &Scope::Global)]);
    write(store, 1, revisions.map(|revision| put(Record::Revision(revision), Some("x"), 0)).collect()).await;
    let history = async |before: Option<u64>, until: Option<i64>, limit: usize| {
        let found = store.history(PageId(uuid(1)), before, until.map(at), limit, &everything()).await.unwrap();
        found.into_iter().map(|revision| revision.number).collect::<Vec<_>>()
    };
    assert_eq!(history(None, None, 10).await, [5, 4, 3, 2, 1]);
    assert_eq!(history(Some(4), None, 2).await, [3, 2]);
    assert_eq!(history(None, Some(30), 1).await, [3]);
    assert_eq!(history(None, Some(29), 1).await, [2]);
    assert_eq!(history(None, Some(9), 1).await, [].map(|_: u64| 0));
    assert_eq!(store.history(PageId(uuid(9)), None, None, 10, &everything()).await.unwrap(), []);
}

/// Proposals in many states; the id is the second of the proposal.
async fn queue(store: &dyn Both) {
    let hold = |by: &str, until: i64| Claim { by: by.to_owned(), until: at(until) };
    let mut flagged = proposal(1, &Scope::Global, "scribe");
    flagged.flags = vec![RiskFlag { kind: RiskKind::NoEvidence, detail: "none".to_owned() }];
    let mut of_run = proposal(2, &Scope::Global, "other");
    of_run.run = Some("run 7".to_owned());
    let held = proposal(3, &Scope::Global, "scribe").claimed(hold("rita", 50), at(4)).unwrap();
    let asked = proposal(4, &Scope::Global, "scribe").changes_requested(mover(5)).unwrap();
    let approved = proposal(5, &Scope::Global, "scribe").approved(decision(25), mover(25)).unwrap();
    let rejected = proposal(6, &group("crew"), "other").rejected(decision(16), mover(16)).unwrap();
    let mut quarantine = proposal(7, &Scope::Global, "scribe");
    quarantine.subject = Subject::MemoryQuarantine {
        memory: MemoryId(uuid(70)),
        causes: Vec::new(),
        caused_by: Vec::new(),
        supersedes: Vec::new(),
        updates: None,
    };
    for (n, proposal) in (1..).zip([flagged, of_run, held, asked, approved, rejected, quarantine]) {
        let first = Proposal { version: 1, ..proposal };
        write(store, n, vec![put(Record::Proposal(first), Some("x"), 0)]).await;
    }
}

async fn asked(store: &dyn Both, query: QueueQuery) -> Vec<u64> {
    let found = store.queue(&query, None, 100, &everything()).await.unwrap();
    assert_eq!(store.queue_total(&query, &everything()).await.unwrap(), found.len());
    found
        .into_iter()
        .map(|proposal| u64::try_from(proposal.created_at.as_second() - at(0).as_second()).unwrap())
        .collect()
}

/// A proposed vocabulary with its file, and an update of a memory, which is asked for by the memory that it changes.
pub async fn proposals_of_terms_and_updates_are_found_by_kind_and_memory(store: &dyn Both) {
    let mut terms = proposal(1, &Scope::Global, "scribe");
    terms.subject = Subject::OntologyChange(OntologyImport {
        vocabulary: "letters".to_owned(),
        file: "letters.ttl".to_owned(),
        mapping: None,
        base: 3,
        new: 1,
        changed: 0,
        removed: 0,
    });
    let mut update = proposal(2, &Scope::Global, "scribe");
    update.subject = Subject::MemoryQuarantine {
        memory: MemoryId(uuid(70)),
        causes: Vec::new(),
        caused_by: Vec::new(),
        supersedes: Vec::new(),
        updates: Some(Updated { memory: MemoryId(uuid(71)), revision: 4 }),
    };
    let text = "\u{feff}<http://e/a> <http://e/b> \"甲\" .\r\n";
    let id = terms.id.0;
    write(store, 1, vec![put(Record::Proposal(terms.clone()), Some(text), 0)]).await;
    write(store, 2, vec![put(Record::Proposal(update), None, 0)]).await;
    assert_eq!(store.text(id, &everything()).await.unwrap().as_deref(), Some(text), "byte for byte");
    assert_eq!(store.records(&[id], &everything()).await.unwrap(), [Record::Proposal(terms)]);
    let all = QueueQuery::default;
    assert_eq!(asked(store, QueueQuery { kinds: vec![ProposalKind::OntologyChange], ..all() }).await, [1]);
    assert_eq!(asked(store, QueueQuery { of: Some(uuid(71)), ..all() }).await, [2]);
    assert!(asked(store, QueueQuery { of: Some(uuid(70)), ..all() }).await.is_empty());
}

pub async fn queue_meets_its_conditions_oldest_first(store: &dyn Both) {
    queue(store).await;
    let all = QueueQuery::default;
    let pending = || QueueQuery { states: vec![ProposalState::Pending], ..all() };
    assert_eq!(asked(store, all()).await, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(asked(store, pending()).await, [1, 2, 3, 7]);
    let states = vec![ProposalState::Rejected, ProposalState::ChangesRequested];
    assert_eq!(asked(store, QueueQuery { states, ..all() }).await, [4, 6]);
    let kinds = vec![ProposalKind::MemoryQuarantine, ProposalKind::MemoryMerge];
    assert_eq!(asked(store, QueueQuery { kinds, ..all() }).await, [7]);
    assert_eq!(asked(store, QueueQuery { of: Some(uuid(70)), ..all() }).await, [7]);
    assert_eq!(asked(store, QueueQuery { of: Some(uuid(101)), ..all() }).await, [1]);
    assert_eq!(asked(store, QueueQuery { author: Some("other".to_owned()), ..all() }).await, [2, 6]);
    assert_eq!(asked(store, QueueQuery { run: Some("run 7".to_owned()), ..all() }).await, [2]);
    assert_eq!(asked(store, QueueQuery { flagged: Some(true), ..all() }).await, [1]);
    assert_eq!(asked(store, QueueQuery { flagged: Some(false), ..pending() }).await, [2, 3, 7]);
    let held = |second: i64| QueueQuery { held_by: Some(("rita".to_owned(), at(second))), ..all() };
    assert_eq!(asked(store, held(49)).await, [3]);
    assert_eq!(asked(store, held(50)).await, [0_u64; 0]);
    let free = |second: i64| QueueQuery { free_at: Some(at(second)), ..pending() };
    assert_eq!(asked(store, free(49)).await, [1, 2, 7]);
    assert_eq!(asked(store, free(50)).await, [1, 2, 3, 7]);
}

pub async fn queue_goes_on_after_its_last_proposal(store: &dyn Both) {
    queue(store).await;
    let mut after = None;
    let mut seen = Vec::new();
    loop {
        let found = store.queue(&QueueQuery::default(), after, 2, &everything()).await.unwrap();
        let Some(last) = found.last() else { break };
        after = Some((last.created_at, last.id));
        seen.extend(found.into_iter().map(|proposal| proposal.id.0));
    }
    assert_eq!(seen, (1..=7).map(uuid).collect::<Vec<_>>());
    assert_eq!(store.waiting(3, &everything()).await.unwrap(), [1, 2, 3].map(at));
}

pub async fn tallies_count_what_became_of_proposals(store: &dyn Both) {
    queue(store).await;
    let mut found = store.tallies(&everything()).await.unwrap();
    found.sort_by(|a, b| (&a.author, a.state).cmp(&(&b.author, b.state)));
    let rows: Vec<(&str, ProposalState, usize, usize, f64)> = found
        .iter()
        .map(|tally| (tally.author.as_str(), tally.state, tally.count, tally.decided, tally.decision_secs))
        .collect();
    assert_eq!(
        rows,
        [
            ("other", ProposalState::Pending, 1, 0, 0.0),
            ("other", ProposalState::Rejected, 1, 1, 10.0),
            ("scribe", ProposalState::Pending, 3, 0, 0.0),
            ("scribe", ProposalState::ChangesRequested, 1, 0, 0.0),
            ("scribe", ProposalState::Approved, 1, 1, 20.0),
        ]
    );
}

pub async fn change_log_tells_what_became_of_each_proposal(store: &dyn Both) {
    let one = proposal(1, &Scope::Global, "scribe");
    let two = proposal(2, &Scope::Global, "other");
    write(store, 10, vec![put(Record::Proposal(one.clone()), Some("x"), 0), put(Record::Proposal(two), Some("x"), 0)])
        .await;
    let approved = one.approved(decision(11), mover(11)).unwrap();
    write(store, 11, vec![put(Record::Proposal(approved), None, 1)]).await;
    let log = store.proposal_changes(0, 1, None, &everything()).await.unwrap();
    assert_eq!(log.len(), 2, "a change is never cut");
    let rest = store.proposal_changes(log[1].seq, 10, None, &everything()).await.unwrap();
    let rest: Vec<_> =
        rest.iter().map(|row| (row.proposal.0, row.state, row.kind, row.at, row.actor.as_str())).collect();
    assert_eq!(rest, [(uuid(1), ProposalState::Approved, ProposalKind::WikiEdit, at(11), "alice")]);
    let own = store.proposal_changes(0, 10, Some("other"), &everything()).await.unwrap();
    assert_eq!(own.iter().map(|row| row.proposal.0).collect::<Vec<_>>(), [uuid(2)]);
}

pub async fn readers_see_their_scopes_only(store: &dyn Both) {
    let private = Scope::Private("rita".to_owned());
    let scopes = [Scope::Global, group("crew"), private, Scope::Private("eve".to_owned())];
    for (n, scope) in (1..).zip(&scopes) {
        let proposed = Proposal { scope: scope.clone(), ..proposal(n + 20, scope, "scribe") };
        let ops = vec![
            put(Record::Page(page(n, scope, "a")), None, 0),
            put(Record::Revision(Revision { page: PageId(uuid(90)), ..revision(n + 50, n, scope) }), Some("x"), 0),
            put(Record::Proposal(proposed), Some("x"), 0),
        ];
        write(store, n, ops).await;
    }
    let seen: Visibility = Caller { ..reviewer("rita") }.visibility();
    let ids: Vec<Uuid> = (1..=4).flat_map(|n| [uuid(n), uuid(n + 20), uuid((n + 50) * 1000 + n)]).collect();
    assert_eq!(store.records(&ids, &seen).await.unwrap().len(), 6);
    assert_eq!(store.text(uuid(24), &seen).await.unwrap(), None);
    assert_eq!(store.pages_named(&["a".to_owned()], &seen).await.unwrap().len(), 2);
    assert_eq!(store.pages(&PageQuery::default(), None, 10, &seen).await.unwrap().len(), 2);
    let history = store.history(PageId(uuid(90)), None, None, 10, &seen).await.unwrap();
    assert_eq!(history.iter().map(|revision| revision.number).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(store.queue(&QueueQuery::default(), None, 10, &seen).await.unwrap().len(), 2);
    assert_eq!(store.queue_total(&QueueQuery::default(), &seen).await.unwrap(), 2);
    assert_eq!(store.tallies(&seen).await.unwrap().iter().map(|tally| tally.count).sum::<usize>(), 2);
    assert_eq!(store.waiting(10, &seen).await.unwrap().len(), 2);
    assert_eq!(store.proposal_changes(0, 10, None, &seen).await.unwrap().len(), 2);
}
