//! Reading the wiki: now and then, by link, by blame, by question.

use jiff::SignedDuration;
use recollect::{
    ports::Clock as _,
    read::{AssociateRequest, RecallRequest, browse::PageRequest as ListPage},
    review::{PageBlame, PageRequest, PagesRequest, ProposeEditRequest, RenderPageRequest, SearchPagesRequest},
    write::StoreRequest,
};

use crate::support::desk::{Desk, agent, edit, reviewer};

async fn change(desk: &Desk, request: ProposeEditRequest) {
    let proposed = desk.propose(&agent("scribe"), request).await;
    desk.clock.advance(SignedDuration::from_hours(1));
    desk.approve(&reviewer("rita"), &proposed.id).await;
}

async fn recall(desk: &Desk, request: RecallRequest) -> Vec<recollect::read::RecallItem> {
    desk.service.recall(&reviewer("rita"), request).await.unwrap().items
}

fn asking(query: &str) -> RecallRequest {
    RecallRequest { query: query.to_owned(), ..RecallRequest::default() }
}

#[tokio::test]
async fn recall_gives_the_approved_page_with_its_citations_and_only_that() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let stored = StoreRequest {
        content: "Mia answered the pager on 12 March".to_owned(),
        scope: Some("global".to_owned()),
        ..StoreRequest::default()
    };
    let cited = desk.service.store(&rita, stored).await.unwrap().id.unwrap();
    let body =
        format!("# Pager duty\n\nMia carries the pager at night.[^mem:{cited}]\n\n## Escalation\n\nNoah is next.\n");
    change(&desk, edit("ops/pager", &body, None)).await;
    desk.propose(&scribe, edit("ops/pager", "Nobody carries the zeppelin.\n", Some(1))).await;
    let items = recall(&desk, asking("who carries the pager at night")).await;
    let mut parts = items.iter().filter(|item| item.tags.contains(&"wiki:page".to_owned()));
    let page = parts.find(|item| item.content.contains("carries")).expect("a part of the page");
    assert!(page.content.contains(&format!("[^mem:{cited}]")), "{}", page.content);
    assert!(page.external_id.as_deref().unwrap().starts_with("wiki:"));
    assert!(recall(&desk, asking("zeppelin")).await.iter().all(|item| !item.content.contains("zeppelin")));
    let prompt = RecallRequest { format: Some("prompt".to_owned()), ..asking("who carries the pager at night") };
    let prompt = desk.service.recall(&rita, prompt).await.unwrap().prompt.unwrap();
    assert!(prompt.contains("Mia carries the pager") && !prompt.contains("zeppelin"), "{prompt}");
    // From the page to what it cites.
    let walk = AssociateRequest { ids: vec![page.id.clone()], ..AssociateRequest::default() };
    let reached = desk.service.associate(&rita, walk).await.unwrap();
    assert!(reached.items.iter().any(|found| found.item.id == cited));
    let read = desk.page("ops/pager").await;
    assert_eq!(
        read.citations.iter().map(|it| (it.id.as_str(), it.found)).collect::<Vec<_>>(),
        [(cited.as_str(), true)]
    );
    let search = SearchPagesRequest { query: "who is next in the escalation".to_owned(), limit: None };
    let found = desk.service.search_pages(&rita, search).await.unwrap();
    assert_eq!(
        (found.pages[0].slug.as_str(), found.pages[0].section.as_str()),
        ("ops/pager", "Pager duty / Escalation")
    );
    assert_eq!(found.pages.len(), 1, "one hit a page");
}

#[tokio::test]
async fn page_is_read_as_it_was_and_recalled_as_it_was() {
    let desk = Desk::open().await;
    change(&desk, edit("a", "# Kettle\n\nThe kettle is blue.\n", None)).await;
    let first = desk.clock.now();
    desk.clock.advance(SignedDuration::from_hours(5));
    change(&desk, edit("a", "# Kettle\n\nThe kettle is green.\n", Some(1))).await;
    let then = PageRequest { slug: "a".to_owned(), revision: None, as_of: Some(first.to_string()) };
    let page = desk.service.page(&reviewer("rita"), then).await.unwrap().unwrap();
    assert_eq!((page.revision, page.head), (1, 2));
    assert!(page.body.unwrap().contains("blue"));
    let early = PageRequest { slug: "a".to_owned(), revision: None, as_of: Some("2020-01-01".to_owned()) };
    assert!(desk.service.page(&reviewer("rita"), early).await.unwrap().is_none());
    let contents = async |request: RecallRequest| {
        recall(&desk, request).await.into_iter().map(|item| item.content).collect::<String>()
    };
    let now = contents(asking("kettle colour")).await;
    assert!(now.contains("green") && !now.contains("blue"), "{now}");
    let known = contents(RecallRequest { known_at: Some(first.to_string()), ..asking("kettle colour") }).await;
    assert!(known.contains("blue") && !known.contains("green"), "{known}");
}

#[tokio::test]
async fn addresses_lead_on_after_a_rename_and_a_deleted_page_comes_back() {
    let desk = Desk::open().await;
    let act = |action: &str, base: i64| ProposeEditRequest {
        slug: "old".to_owned(),
        action: Some(action.to_owned()),
        base_revision: Some(base),
        ..ProposeEditRequest::default()
    };
    change(&desk, edit("old", "text\n", None)).await;
    change(&desk, edit("other", "see [[old]] and [[missing]]\n", None)).await;
    let renamed = ProposeEditRequest { new_slug: Some("new/place".to_owned()), ..act("rename", 1) };
    change(&desk, renamed).await;
    for slug in ["old", "new/place", "NEW/Place"] {
        assert_eq!(desk.page(slug).await.slug, "new/place");
    }
    let backlinks = desk.page("new/place").await.backlinks;
    assert_eq!(backlinks.iter().map(|link| link.slug.as_str()).collect::<Vec<_>>(), ["other"]);
    let links = desk.page("other").await.links;
    let links: Vec<(&str, bool)> = links.iter().map(|link| (link.slug.as_str(), link.found)).collect();
    assert_eq!(links, [("new/place", true), ("missing", false)]);
    change(&desk, act("delete", 2)).await;
    let gone = desk.page("old").await;
    assert_eq!((gone.deleted, gone.body, gone.revision), (true, None, 3));
    assert!(recall(&desk, asking("text")).await.iter().all(|item| !item.content.contains("text")));
    let list = async |request: PagesRequest| {
        let found = desk.service.pages(&reviewer("rita"), &request, &ListPage::default()).await.unwrap();
        found.items.into_iter().map(|(_, page)| page.slug).collect::<Vec<_>>()
    };
    assert_eq!(list(PagesRequest::default()).await, ["other"]);
    assert_eq!(list(PagesRequest { deleted: true, ..Default::default() }).await, ["new/place"]);
    assert_eq!(list(PagesRequest { links_to: Some("old".to_owned()), ..Default::default() }).await, ["other"]);
    change(&desk, act("restore", 3)).await;
    assert_eq!(desk.page("old").await.body.as_deref(), Some("text\n"));
    assert!(recall(&desk, asking("text")).await.iter().any(|item| item.content == "text"));
    let history = desk.service.page_history(&reviewer("rita"), "old", &ListPage::default()).await.unwrap().unwrap();
    let changes: Vec<&str> = history.items.iter().map(|(_, revision)| revision.change.as_str()).collect();
    assert_eq!(changes, ["restore", "delete", "rename", "create"]);
}

#[tokio::test]
async fn every_line_leads_to_its_revision_author_and_evidence() {
    let desk = Desk::open().await;
    let evidence = desk
        .service
        .store(&agent("scribe"), StoreRequest { content: "seen".to_owned(), ..StoreRequest::default() })
        .await
        .unwrap()
        .id
        .unwrap();
    change(&desk, edit("a", "one\ntwo\n", None)).await;
    let request = ProposeEditRequest {
        evidence: vec![evidence.clone()],
        run_id: Some("r1".to_owned()),
        ..edit("a", "one\nTWO\nthree\n", Some(1))
    };
    change(&desk, request).await;
    let blame = async |revision: Option<i64>| -> PageBlame {
        let request = PageRequest { slug: "a".to_owned(), revision, as_of: None };
        desk.service.page_blame(&reviewer("rita"), request).await.unwrap().unwrap()
    };
    let now = blame(None).await;
    let lines: Vec<(i64, i64, &str, i64)> =
        now.lines.iter().map(|run| (run.from_line, run.to_line, run.text.as_str(), run.revision.number)).collect();
    assert_eq!(lines, [(1, 1, "one\n", 1), (2, 3, "TWO\nthree\n", 2)]);
    let second = &now.lines[1].revision;
    assert_eq!((second.author.as_str(), second.run_id.as_deref()), ("scribe", Some("r1")));
    assert_eq!(second.evidence, [evidence]);
    assert!(second.proposal_id.is_some());
    assert_eq!(blame(Some(1)).await.lines.len(), 1);
}

#[tokio::test]
async fn page_is_shown_safe_raw_and_marked() {
    let desk = Desk::open().await;
    let rita = reviewer("rita");
    let body = "# T\n\n<script>x</script>a\u{202e}b [[Other Page]] $x^2$\n";
    let proposed = desk.propose(&agent("scribe"), edit("a", body, None)).await;
    let request = RenderPageRequest { proposal: Some(proposed.id.clone()), ..Default::default() };
    let shown = desk.service.render_page(&rita, request).await.unwrap().unwrap();
    assert!(!shown.html.contains("<script") && shown.html.contains("wiki://page/other-page"), "{}", shown.html);
    assert_eq!(shown.raw, body);
    assert!(shown.marked.contains("a⟦U+202E⟧b") && shown.marked.contains("⟦hidden HTML⟧<script>"));
    assert_eq!(shown.risk_flags.len(), 2);
    let page = RenderPageRequest { slug: Some("a".to_owned()), ..Default::default() };
    assert!(desk.service.render_page(&rita, page.clone()).await.unwrap().is_none(), "it is not live");
    desk.approve(&rita, &proposed.id).await;
    assert_eq!(desk.service.render_page(&rita, page).await.unwrap().unwrap().html, shown.html);
}
