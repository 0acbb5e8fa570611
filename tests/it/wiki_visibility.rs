//! Three callers over pages and proposals of three scopes, through every read of GraphQL and MCP: nothing of another's
//! comes out, no text, no address, no link, no count. A read without a row here or in the tables of memories fails there.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use recollect::{
    domain::{Caller, Right},
    review::{ImportPagesRequest, PageFile},
};
use serde_json::{Value, json};

use crate::{
    graphql::{ask, data, post, tenancy::Schema},
    support::app::{App, Client},
};

/// Each read of the schema, asked as widely as it can be. `$slug` is the address of a page, which no other text has,
/// `$page`, `$proposal` and `$memory` are global ids, `$ids` those of all.
pub const READS: &[(&str, &str)] = &[
    ("exportPages", "exportPages"),
    ("node", "node(id: $page)"),
    ("node", "node(id: $proposal)"),
    ("nodes", "nodes(ids: $ids)"),
    ("page", "page(slug: $slug)"),
    ("page", "page(slug: $slug, revision: 1)"),
    ("page", "page(slug: $slug, asOf: \"2027-01-01\")"),
    ("pageBlame", "pageBlame(slug: $slug)"),
    ("pageDiff", "pageDiff(slug: $slug, from: 0)"),
    ("pageHistory", "pageHistory(slug: $slug)"),
    ("pages", "pages(first: 100)"),
    ("pages", "pages(filter: {prefix: $slug})"),
    ("pages", "pages(filter: {linksTo: $slug})"),
    ("pages", "pages(filter: {cites: $memory})"),
    ("pages", "pages(filter: {deleted: true})"),
    ("proposal", "proposal(id: $proposal)"),
    ("proposals", "proposals(first: 100)"),
    ("proposals", "proposals(filter: {slug: $slug})"),
    ("searchPages", "searchPages(input: {query: $slug, limit: 20})"),
];
/// Each tool that only reads.
pub const TOOLS: &[(&str, &str)] = &[
    ("review_get", r#"{"id": "$proposal", "texts": true}"#),
    ("review_list", r#"{"limit": 50}"#),
    ("review_list", r#"{"slug": "$slug"}"#),
    ("wiki_get", r#"{"slug": "$slug"}"#),
    ("wiki_get", r#"{"slug": "$slug", "revision": 1}"#),
    ("wiki_search", r#"{"query": "$slug", "limit": 20}"#),
];
/// Each resource.
pub const RESOURCES: &[(&str, &str)] =
    &[("review://{id}", "review://$proposal"), ("wiki://page/{slug}", "wiki://page/$slug")];
/// Each prompt. The slug and the id are given back, so they are the caller's own words.
pub const PROMPTS: &[(&str, &str)] = &[
    ("propose_wiki_edit", r#"{"slug": "mark_alice_global"}"#),
    ("review_checklist", r#"{"proposal_id": "$visible"}"#),
];
/// What can be completed.
pub const COMPLETED: &[(&str, &str)] = &[
    (r#"{"type": "ref/resource", "uri": "review://{id}"}"#, "id"),
    (r#"{"type": "ref/resource", "uri": "wiki://page/{slug}"}"#, "slug"),
    (r#"{"type": "ref/prompt", "name": "propose_wiki_edit"}"#, "slug"),
    (r#"{"type": "ref/prompt", "name": "review_checklist"}"#, "proposal_id"),
];

const VARIABLES: &[(&str, &str)] =
    &[("page", "ID!"), ("proposal", "ID!"), ("memory", "ID!"), ("ids", "[ID!]!"), ("slug", "String!")];

/// A page, its memory, and an open proposal to change it.
struct Stored {
    owner: &'static str,
    scope: &'static str,
    slug: String,
    page: String,
    proposal: String,
    memory: String,
}

impl Stored {
    fn global(of: &str, id: &str) -> String {
        STANDARD.encode(format!("{of}:{id}"))
    }

    fn variables(&self, ids: &[String]) -> Value {
        json!({"slug": self.slug, "page": Self::global("Page", &self.page), "ids": ids,
            "proposal": Self::global("Proposal", &self.proposal), "memory": Self::global("Memory", &self.memory)})
    }
}

/// Whether what is asked for is there for `viewer`: pages by their scope, of proposals one's own.
fn finds(viewer: &str, stored: &Stored, asked: &str) -> bool {
    if asked.contains("$proposal") { viewer == stored.owner } else { sees(viewer, stored) }
}

fn sees(viewer: &str, stored: &Stored) -> bool {
    match stored.scope {
        "private" => viewer == stored.owner,
        "shared" => viewer != "carol",
        _ => true,
    }
}

/// Pages link to and cite all that came before and that their owner sees, so that every link leads to broader scopes.
async fn world(app: &App) -> (BTreeMap<&'static str, Client>, Vec<Stored>) {
    let rights = [Right::MemoryGlobal, Right::WikiPropose];
    let mut clients = BTreeMap::new();
    for (name, groups) in [("alice", &["blue"][..]), ("bob", &["blue"]), ("carol", &[])] {
        clients.insert(name, app.client(name, groups, &rights).await);
    }
    let mut stored: Vec<Stored> = Vec::new();
    for scope in ["global", "shared", "private"] {
        for owner in ["alice", "bob", "carol"].into_iter().filter(|owner| (scope, *owner) != ("shared", "carol")) {
            let client = &clients[owner];
            let slug = format!("mark_{owner}_{scope}");
            let mut memory = json!({"content": format!("The pier of {slug} is closed."), "scope": scope});
            if scope == "shared" {
                memory["group"] = json!("blue");
            }
            let memory = client.store(memory).await;
            let before: Vec<&Stored> = stored.iter().filter(|earlier| sees(owner, earlier)).collect();
            let links: String =
                before.iter().map(|page| format!("- [[{}]] [^mem:{}]\n", page.slug, page.memory)).collect();
            let text = format!("# About {slug}\n\nThe pier of {slug} is closed.[^mem:{memory}]\n\n{links}");
            // Who may decide imports pages; here the owner, for once.
            let mut caller = Caller::operator(owner);
            caller.groups.extend((owner != "carol").then(|| "blue".to_owned()));
            let request = ImportPagesRequest {
                files: vec![PageFile { path: format!("{slug}.md"), text: text.clone() }],
                scope: Some(scope.to_owned()),
                group: (scope == "shared").then(|| "blue".to_owned()),
                ..ImportPagesRequest::default()
            };
            let imported = app.service.import_pages(&caller, request).await.expect("imported");
            assert_eq!(imported.files[0].outcome, "created", "{imported:?}");
            let edit = json!({"slug": slug, "body": format!("{text}\nWords on {slug}.\n"), "base_revision": 1,
                "rationale": format!("because of {slug}"), "evidence": [memory]});
            let proposed = client.ok("wiki_propose", edit).await;
            let page =
                data(client, "query($slug: String!) { page(slug: $slug) { uuid } }", json!({"slug": slug})).await;
            stored.push(Stored {
                owner,
                scope,
                page: page["page"]["uuid"].as_str().expect("an id").to_owned(),
                proposal: proposed["proposal_id"].as_str().expect("an id").to_owned(),
                memory,
                slug,
            });
        }
    }
    (clients, stored)
}

/// Fails if `text` has anything of what `viewer` may not see; `own` are the words it asked with.
fn assert_clean(viewer: &str, stored: &[Stored], text: &str, asked: &str, own: &[&str]) {
    let mut hidden: Vec<String> = Vec::new();
    for stored in stored {
        if !sees(viewer, stored) {
            hidden.extend([stored.slug.clone(), stored.page.clone(), stored.memory.clone()]);
            hidden.extend([Stored::global("Page", &stored.page), Stored::global("Memory", &stored.memory)]);
        }
        if viewer != stored.owner {
            hidden.extend([stored.proposal.clone(), Stored::global("Proposal", &stored.proposal)]);
            hidden.push(format!("Words on {}", stored.slug));
        }
    }
    for part in hidden.iter().filter(|part| !own.contains(&part.as_str())) {
        assert!(!text.contains(part.as_str()), "{viewer} saw {part} through {asked}: {text}");
    }
}

/// A document of every field is larger than what clients may ask.
const LIMITS: &str = "[server.graphql]\nmax_complexity = 1000000000000\nmax_fields = 100000\nmax_depth = 60\n\
    max_query_bytes = 4000000\n";

#[tokio::test]
async fn no_read_of_the_schema_shows_anything_of_anothers_pages() {
    let app = App::start_configured(LIMITS).await;
    let (clients, stored) = world(&app).await;
    let schema = Schema::of(&clients["alice"]).await;
    let ids: Vec<String> = stored
        .iter()
        .flat_map(|stored| [Stored::global("Page", &stored.page), Stored::global("Proposal", &stored.proposal)])
        .collect();
    let nobody = Stored {
        owner: "",
        scope: "private",
        slug: "mark_nobody".to_owned(),
        page: "01940000-0000-7000-8000-000000000000".to_owned(),
        proposal: "01940000-0000-7000-8000-000000000000".to_owned(),
        memory: "01940000-0000-7000-8000-000000000000".to_owned(),
    };
    for (viewer, client) in &clients {
        let visible: Vec<&Stored> = stored.iter().filter(|stored| sees(viewer, stored)).collect();
        for (field, call) in READS {
            let query = schema.document_with(field, call, VARIABLES);
            let varies = call.contains('$') && !call.contains("$ids");
            for asked in if varies { &stored[..] } else { &stored[..1] } {
                let answer = ask(client, &query, asked.variables(&ids)).await;
                assert_clean(viewer, &stored, &answer.to_string(), call, &[]);
                if finds(viewer, asked, call) {
                    assert!(answer.get("errors").is_none(), "{viewer}, {call}: {answer}");
                    let found = answer["data"][field].to_string();
                    let named = varies
                        && !call.contains("linksTo")
                        && !call.contains("cites")
                        && (*field != "proposals" || viewer == &asked.owner);
                    assert!(!named || found.contains(&asked.slug), "{viewer}, {call}, {}: {found}", asked.slug);
                } else if varies && !call.contains("query: $slug") {
                    let told = async |variables: Value| {
                        let body = json!({"query": query, "variables": variables}).to_string();
                        post(client, &body).await.text().await.expect("text")
                    };
                    let of_another = told(asked.variables(&[])).await;
                    assert_eq!(of_another, told(nobody.variables(&[])).await, "{viewer}, {call}, {}", asked.slug);
                }
            }
        }
        let counted = "{ pages(first: 100) { nodes { slug } } proposals(first: 100) { totalCount nodes { slug } } }";
        let counted = data(client, counted, json!({})).await;
        let slugs = |list: &Value| {
            let nodes = list["nodes"].as_array().expect("nodes").iter();
            let mut slugs: Vec<String> = nodes.map(|node| node["slug"].as_str().expect("a slug").to_owned()).collect();
            slugs.sort();
            slugs
        };
        let mut expected: Vec<String> = visible.iter().map(|stored| stored.slug.clone()).collect();
        expected.sort();
        assert_eq!(slugs(&counted["pages"]), expected, "{viewer}");
        expected.retain(|slug| slug.contains(viewer));
        assert_eq!(slugs(&counted["proposals"]), expected, "{viewer}");
        assert_eq!(counted["proposals"]["totalCount"], json!(expected.len()), "{viewer}");
        // Links from what it does not see are none.
        let backlinks = "query($slug: String!) { page(slug: $slug) { backlinks { slug } links { slug found } } }";
        for page in &visible {
            let found = data(client, backlinks, json!({"slug": page.slug})).await["page"].clone();
            let from: usize = stored
                .iter()
                .skip_while(|other| other.slug != page.slug)
                .skip(1)
                .filter(|other| sees(viewer, other) && sees(other.owner, page))
                .count();
            assert_eq!(found["backlinks"].as_array().map(Vec::len), Some(from), "{viewer} {}: {found}", page.slug);
        }
    }
}

#[tokio::test]
async fn subscribers_are_told_of_visible_proposals_alone() {
    let app = App::start_configured(LIMITS).await;
    let (clients, stored) = world(&app).await;
    let schema = Schema::of(&clients["alice"]).await;
    let everything = schema.everything(&schema.subscriptions["reviewQueueChanged"], &[]);
    for (viewer, client) in &clients {
        let own = stored.iter().filter(|stored| stored.owner == *viewer).count();
        let query = format!("subscription {{ reviewQueueChanged(after: \"0\") {everything} }}");
        let told = crate::graphql::socket::changes_of(client, &query, "reviewQueueChanged", own).await;
        assert_clean(viewer, &stored, &json!(told).to_string(), "reviewQueueChanged", &[]);
    }
}

#[tokio::test]
async fn no_read_of_the_protocol_shows_anything_of_anothers_pages() {
    let app = App::start().await;
    let (clients, stored) = world(&app).await;
    for (viewer, client) in &clients {
        for asked in &stored {
            let own = [asked.slug.as_str(), asked.proposal.as_str()];
            let filled = |text: &str| text.replace("$slug", &asked.slug).replace("$proposal", &asked.proposal);
            let unknown = |text: &str| {
                text.replace("$slug", "mark_nobody").replace("$proposal", "01940000-0000-7000-8000-000000000000")
            };
            for (tool, arguments) in TOOLS {
                let call =
                    async |arguments: String| client.call(tool, serde_json::from_str(&arguments).expect("JSON")).await;
                let answer = call(filled(arguments)).await;
                assert_clean(viewer, &stored, &answer.to_string(), &format!("{tool} {arguments}"), &[]);
                if finds(viewer, asked, arguments) {
                    assert_ne!(answer["isError"], true, "{viewer} {tool} {arguments}: {answer}");
                } else if answer["isError"] == true {
                    assert_eq!(answer.to_string(), call(unknown(arguments)).await.to_string(), "{viewer} {tool}");
                }
            }
            for (_, uri) in RESOURCES {
                let read = async |uri: String| {
                    let answer = client.rpc("resources/read", json!({"uri": uri})).await.to_string();
                    // The address is given back with an error.
                    if answer.contains("\"error\"") { answer.replace(&uri, "") } else { answer }
                };
                let answer = read(filled(uri)).await;
                assert_clean(viewer, &stored, &answer, uri, &[]);
                if finds(viewer, asked, uri) {
                    assert!(answer.contains("\"result\""), "{viewer} {uri}: {answer}");
                } else {
                    assert_eq!(answer, read(unknown(uri)).await, "{viewer} {uri}");
                }
            }
            for (of, name) in COMPLETED {
                let of: Value = serde_json::from_str(of).expect("JSON");
                for value in ["", &asked.slug, &asked.proposal[..8]] {
                    let params = json!({"ref": of, "argument": {"name": name, "value": value}});
                    let answer = client.rpc("completion/complete", params).await;
                    assert!(answer["result"].is_object(), "{viewer} {of}: {answer}");
                    assert_clean(viewer, &stored, &answer.to_string(), &format!("completion of {of}"), &[]);
                }
            }
            for (name, arguments) in PROMPTS {
                let mine = stored.iter().find(|stored| stored.owner == *viewer).expect("one of its own");
                let others = arguments.replace("mark_alice_global", "$slug").replace("$visible", "$proposal");
                for arguments in [arguments.replace("$visible", &mine.proposal), filled(&others)] {
                    let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
                    let answer = client.rpc("prompts/get", json!({"name": name, "arguments": arguments})).await;
                    assert_clean(viewer, &stored, &answer.to_string(), name, &own);
                }
            }
        }
        assert_clean(
            viewer,
            &stored,
            &client.rpc("resources/list", json!({})).await.to_string(),
            "resources/list",
            &[],
        );
        for query in stored.iter().map(|stored| stored.slug.as_str()).chain(["pier closed"]) {
            for mode in ["hybrid", "keyword", "associative", "recent"] {
                let request = json!({"query": query, "mode": mode, "limit": 100});
                let mut answer = client.ok("memory_recall", request).await;
                answer.as_object_mut().expect("an object").remove("understood");
                assert_clean(viewer, &stored, &answer.to_string(), &format!("recall {mode} {query}"), &[]);
            }
        }
    }
}

/// Reviewers see what is proposed for private pages, or nobody could decide on it, and for groups what their own get.
#[tokio::test]
async fn reviewers_see_the_queue_but_for_other_groups() {
    let app = App::start().await;
    let (_, stored) = world(&app).await;
    for (name, groups) in [("rita", &[][..]), ("bea", &["blue"])] {
        let client = app.client(name, groups, &[Right::ReviewRead]).await;
        let listed = client.ok("review_list", json!({"limit": 50})).await;
        let listed: Vec<&Value> = listed["items"].as_array().expect("items").iter().map(|item| &item["id"]).collect();
        for stored in &stored {
            let there = listed.contains(&&json!(stored.proposal));
            assert_eq!(there, stored.scope != "shared" || name == "bea", "{name} {}", stored.slug);
            let read = client.call("review_get", json!({"id": stored.proposal})).await;
            assert_eq!(read["isError"] != true, there, "{name} {}", stored.slug);
        }
    }
}
