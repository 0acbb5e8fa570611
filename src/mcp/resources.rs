//! Resources: memories, their histories, sessions, pages of the wiki and proposals under their own addresses.
//!
//! To add one: a row in [`templates`], an arm in [`read`].

use percent_encoding::percent_decode_str;
use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate},
};
use serde::Serialize;

use super::server::protocol_error;
use crate::{
    domain::Caller,
    error::{Error, ErrorCode},
    read::{BriefRequest, GetRequest, RecallRequest, TraceRequest, browse},
    review::{PageRequest, PagesRequest, ProposalsRequest},
    service::Service,
};

const JSON: &str = "application/json";
/// Memories that the list of resources shows.
const LISTED: i64 = 50;
/// Records that completions are looked for in.
const COMPLETED_FROM: i64 = 100;

/// The addresses there are.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, title: &str, description: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(description).with_mime_type(JSON)
    };
    vec![
        template("memory://{id}", "memory", "A memory", "Every field of a memory, whatever its status."),
        template(
            "memory://{id}/trace",
            "memory_trace",
            "The history of a memory",
            "Each state it was in with the interval it was believed, its edges, and the raw events it came from.",
        ),
        template(
            "session://{id}/brief",
            "session_brief",
            "A session in short",
            "What a session came to, and its memories in order.",
        ),
        template(
            "wiki://page/{slug}",
            "wiki_page",
            "A page of the wiki",
            "The approved text of a page, the memories it cites, and the pages it links to and is linked from.",
        ),
        template("review://{id}", "proposal", "A proposal", "What it would change, its risks, and what became of it."),
    ]
}

/// The latest memories that the caller sees.
pub(super) async fn list(service: &Service, caller: &Caller) -> Result<Vec<Resource>, ErrorData> {
    let latest = latest(service, caller, LISTED).await.map_err(|error| protocol_error(&error))?;
    Ok(latest
        .into_iter()
        .map(|item| {
            let uri = format!("memory://{}", item.id);
            let title = item.title.unwrap_or_else(|| item.summary.clone());
            Resource::new(uri, item.id).with_title(title).with_description(item.summary).with_mime_type(JSON)
        })
        .collect())
}

/// The latest memories, newest first.
pub(super) async fn latest(
    service: &Service,
    caller: &Caller,
    limit: i64,
) -> Result<Vec<crate::read::RecallItem>, Error> {
    let request = RecallRequest {
        mode: Some("recent".to_owned()),
        limit: Some(limit),
        explain: Some(false),
        ..RecallRequest::default()
    };
    Ok(service.recall(caller, request).await?.items)
}

/// What can be named in an address or to a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Memory,
    Session,
    Page,
    Proposal,
}

impl Named {
    /// What the argument `name` of a resource or prompt names; `None` if it names nothing.
    pub(super) fn of(reference: &Reference, name: &str) -> Option<Self> {
        match reference {
            Reference::Resource(template) => {
                let known = [
                    ("memory://", Self::Memory),
                    ("session://", Self::Session),
                    ("wiki://", Self::Page),
                    ("review://", Self::Proposal),
                ];
                known.into_iter().find(|(scheme, _)| template.uri.starts_with(scheme)).map(|(_, named)| named)
            }
            Reference::Prompt(_) => {
                let known = [("session_id", Self::Session), ("slug", Self::Page), ("proposal_id", Self::Proposal)];
                known.into_iter().find(|(known, _)| *known == name).map(|(_, named)| named)
            }
            _ => None,
        }
    }
}

/// Names of what the caller sees, the likeliest first; some do not begin with `begun`.
pub(super) async fn names(service: &Service, caller: &Caller, named: Named, begun: &str) -> Result<Vec<String>, Error> {
    let page = browse::PageRequest { first: Some(COMPLETED_FROM), after: None };
    Ok(match named {
        Named::Memory => latest(service, caller, COMPLETED_FROM).await?.into_iter().map(|item| item.id).collect(),
        Named::Session => {
            latest(service, caller, COMPLETED_FROM).await?.into_iter().filter_map(|item| item.session_id).collect()
        }
        Named::Page => {
            let prefix = Some(begun.to_owned()).filter(|begun| !begun.is_empty());
            let wanted = PagesRequest { prefix, ..PagesRequest::default() };
            let found = service.pages(caller, &wanted, &page).await?;
            found.items.into_iter().map(|(_, page)| page.slug).collect()
        }
        Named::Proposal => {
            let found = service.proposals(caller, &ProposalsRequest::default(), &page).await?;
            found.items.into_iter().map(|(_, proposal)| proposal.id).collect()
        }
    })
}

/// Reads the resource at `uri`.
pub(super) async fn read(service: &Service, caller: &Caller, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let json = match address(uri) {
        Some(Address::Memory(id)) => {
            let request = GetRequest { ids: vec![id], ..GetRequest::default() };
            service.get(caller, request).await.and_then(|mut reply| json(&reply.memories.pop()))
        }
        Some(Address::Trace(id)) => service.trace(caller, TraceRequest { id }).await.and_then(|reply| json(&reply)),
        Some(Address::Brief(session_id)) => {
            service.brief(caller, BriefRequest { session_id }).await.and_then(|reply| json(&reply))
        }
        Some(Address::Page(slug)) => {
            let request = PageRequest { slug, ..PageRequest::default() };
            found(service.page(caller, request).await)
        }
        Some(Address::Proposal(id)) => found(service.proposal(caller, &id).await),
        None => return Err(not_found(uri)),
    };
    match json {
        Ok(json) => Ok(ReadResourceResult::new(vec![ResourceContents::text(json, uri).with_mime_type(JSON)])),
        Err(error) if error.code == ErrorCode::NotFound => Err(not_found(uri)),
        Err(error) => Err(protocol_error(&error)),
    }
}

fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("resource not found", Some(serde_json::json!({ "uri": uri })))
}

fn found(answer: Result<Option<impl Serialize>, Error>) -> Result<String, Error> {
    json(&answer?.ok_or_else(|| Error::not_found("uri"))?)
}

fn json(reply: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(reply).map_err(|_| Error::new(ErrorCode::Internal, "internal fault"))
}

#[derive(Debug, PartialEq, Eq)]
enum Address {
    Memory(String),
    Trace(String),
    Brief(String),
    Page(String),
    Proposal(String),
}

fn address(uri: &str) -> Option<Address> {
    let name = |text: &str| {
        let name = percent_decode_str(text).decode_utf8().ok()?.into_owned();
        (!name.is_empty() && !text.contains('/')).then_some(name)
    };
    if let Some(memory) = uri.strip_prefix("memory://") {
        return match memory.strip_suffix("/trace") {
            Some(id) => name(id).map(Address::Trace),
            None => name(memory).map(Address::Memory),
        };
    }
    if let Some(slug) = uri.strip_prefix("wiki://page/") {
        // Slugs have parts; clients write the slash as it is or encoded.
        let parts: Option<Vec<String>> = slug.split('/').map(name).collect();
        return parts.map(|parts| Address::Page(parts.join("/")));
    }
    if let Some(id) = uri.strip_prefix("review://") {
        return name(id).map(Address::Proposal);
    }
    name(uri.strip_prefix("session://")?.strip_suffix("/brief")?).map(Address::Brief)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_templates_say_and_no_other() {
        let own = |text: &str| text.to_owned();
        for (uri, expected) in [
            ("memory://01", Some(Address::Memory(own("01")))),
            ("memory://01/trace", Some(Address::Trace(own("01")))),
            ("session://s1/brief", Some(Address::Brief(own("s1")))),
            ("session://a%2Fb%20%E6%97%A5/brief", Some(Address::Brief(own("a/b 日")))),
            ("session://s1", None),
            ("session://a/b/brief", None),
            ("session://%FF/brief", None),
            ("memory://", None),
            ("memory://01/trace/trace", None),
            ("memory://01/", None),
            ("wiki://page/x", Some(Address::Page(own("x")))),
            ("wiki://page/ops/on-call", Some(Address::Page(own("ops/on-call")))),
            ("wiki://page/ops%2Fon-call", Some(Address::Page(own("ops/on-call")))),
            ("wiki://page/%E5%80%BC%E7%8F%AD", Some(Address::Page(own("值班")))),
            ("wiki://page/", None),
            ("wiki://page/a//b", None),
            ("wiki://x", None),
            ("review://01", Some(Address::Proposal(own("01")))),
            ("review://", None),
            ("review://01/more", None),
            ("", None),
        ] {
            assert_eq!(address(uri), expected, "{uri}");
        }
    }
}
