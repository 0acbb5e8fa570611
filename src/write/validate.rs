//! A request becomes a draft, or an error that names the field. No store is asked.

use jiff::{SignedDuration, Timestamp};

use super::{StoreRequest, WriteSettings, matching::Reading};
use crate::{
    domain::{
        Author, Caller, Kind, Memory, MemoryId, MemoryType, PrincipalKind, Right, RiskFlag, Scope, Status, Verification,
    },
    error::{Error, ErrorCode},
    input,
    ontology::Vocabulary,
    text,
};

/// Longest name, title, tag or key in bytes.
pub(super) const NAME_BYTES: usize = 512;
/// Longest context, summary as given, or part of an event, in bytes.
pub(super) const CONTEXT_BYTES: usize = 8192;
/// Most tags of a memory.
pub(super) const TAGS_MAX: usize = 64;
/// Most references of one kind in a request.
pub(super) const REFERENCES_MAX: usize = 100;

/// A memory as asked for, before anything is known of the others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub memory: Memory,
    pub causes: Vec<MemoryId>,
    pub caused_by: Vec<MemoryId>,
    pub supersedes: Vec<MemoryId>,
    pub idempotency_key: Option<String>,
    pub request_hash: String,
    /// If it waits for a person.
    pub review: Option<Review>,
    /// What its text names.
    pub reading: Reading,
}

/// Why a draft waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Review {
    pub why: String,
    /// Who asks.
    pub author: Author,
    /// What the reviewer should look at twice.
    pub flags: Vec<RiskFlag>,
}

/// Checks `request` and fills in the defaults; `id` and `now` become the memory's.
pub(super) fn draft(
    caller: &Caller,
    request: StoreRequest,
    id: MemoryId,
    now: Timestamp,
    vocabulary: &Vocabulary,
    settings: &WriteSettings,
) -> Result<Draft, Error> {
    let request_hash = hash_of_request(&request);
    let content = input::text("content", request.content, settings.max_content_bytes)?;
    let title = input::optional_text("title", request.title, NAME_BYTES)?;
    let context = input::optional_text("context", request.context, CONTEXT_BYTES)?;
    let summary = input::optional_text("summary", request.summary, CONTEXT_BYTES)?;
    let speaker = input::optional_text("speaker", request.speaker, NAME_BYTES)?;
    let session_id = input::optional_text("session_id", request.session_id, NAME_BYTES)?;
    let task_id = input::optional_text("task_id", request.task_id, NAME_BYTES)?;
    let external_id = input::optional_text("external_id", request.external_id, NAME_BYTES)?;
    external_id.iter().try_for_each(|id| not_of_pages("external_id", id))?;
    let idempotency_key = input::optional_text("idempotency_key", request.idempotency_key, NAME_BYTES)?;
    let event = request.event.map(crate::domain::EventDetail::from);
    if let Some(event) = &event {
        let parts = [&event.timestamp, &event.actor, &event.action, &event.object, &event.result, &event.context];
        for part in parts.into_iter().flatten() {
            if part.len() > CONTEXT_BYTES || part.contains('\0') {
                return Err(Error::bad_input(
                    "event",
                    format!("each part takes at most {CONTEXT_BYTES} bytes and no NUL"),
                ));
            }
        }
    }
    let kind = input::optional_name::<Kind>("kind", request.kind.as_deref())?.unwrap_or(match event {
        Some(_) => Kind::Episodic,
        None => Kind::Semantic,
    });
    let memory_type = input::optional_name("type", request.r#type.as_deref())?.unwrap_or(if kind == Kind::Episodic {
        MemoryType::Event
    } else {
        MemoryType::Fact
    });
    let source = input::optional_name("source", request.source.as_deref())?.unwrap_or(crate::domain::Source::Observed);
    let importance = request
        .importance
        .map(|value| input::share("importance", value))
        .transpose()?
        .unwrap_or(settings.default_importance);
    let confidence =
        request.confidence.map(|value| input::share("confidence", value)).transpose()?.unwrap_or(source.confidence());
    let occurred_at = input::optional_time("occurred_at", request.occurred_at.as_deref())?.unwrap_or(now);
    let valid_from = input::optional_time("valid_from", request.valid_from.as_deref())?;
    let valid_to = input::optional_time("valid_to", request.valid_to.as_deref())?;
    if let (Some(from), Some(to)) = (valid_from, valid_to)
        && from >= to
    {
        return Err(Error::bad_input("valid_to", "must be after valid_from"));
    }
    let expires_at = request.ttl_secs.map(|secs| expiry(secs, now)).transpose()?;
    let scope = scope(caller, request.scope.as_deref(), request.group)?;
    let tags = tags(request.tags)?;
    let mut memory = Memory {
        id,
        external_id,
        kind,
        memory_type,
        summary: text::summary(summary.as_deref().unwrap_or(&content), Memory::SUMMARY_CHARS),
        content_hash: String::new(),
        terms: String::new(),
        language: text::language(&content),
        content,
        title,
        context,
        tags,
        speaker,
        importance,
        confidence,
        source,
        provenance: Vec::new(),
        session_id,
        task_id,
        user_id: caller.principal.clone(),
        agent_id: (caller.kind == PrincipalKind::Agent).then(|| caller.principal.clone()),
        scope,
        status: Status::Active,
        valid_from,
        valid_to,
        recorded_at: now,
        retired_at: None,
        occurred_at,
        expires_at,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        verification: (kind == Kind::Reflective).then_some(Verification::Unverified),
        revision: 1,
        spaces: Vec::new(),
        event,
    };
    memory.content_hash = hash_of(&memory);
    memory.terms = terms_of(&memory);
    let asked = || request.review.then(|| "its author asks for a review".to_owned());
    let why = quarantined(&memory, settings).or_else(asked);
    let draft = Draft {
        review: None,
        reading: Reading::of(memory.title.as_deref(), &memory.content, vocabulary),
        memory,
        causes: input::memory_ids("causes", &request.causes, REFERENCES_MAX)?,
        caused_by: input::memory_ids("caused_by", &request.caused_by, REFERENCES_MAX)?,
        supersedes: input::memory_ids("supersedes", &request.supersedes, REFERENCES_MAX)?,
        idempotency_key,
        request_hash,
    };
    Ok(match why {
        Some(why) => draft.waiting(why, Author::of(caller), None),
        None => draft,
    })
}

impl Draft {
    /// A draft that waits for a person, for this reason too.
    pub fn waiting(mut self, why: String, author: Author, flag: Option<RiskFlag>) -> Self {
        self.memory.status = Status::Quarantined;
        let review = self.review.get_or_insert_with(|| Review { why: String::new(), author, flags: Vec::new() });
        if !review.why.is_empty() {
            review.why.push_str("; ");
        }
        review.why.push_str(&why);
        review.flags.extend(flag);
        self
    }
}

/// What the keyword arm searches a memory by.
pub(super) fn terms_of(memory: &Memory) -> String {
    let optional = [&memory.title, &memory.speaker, &memory.context].into_iter().flatten();
    optional
        .chain([&memory.content])
        .chain(&memory.tags)
        .flat_map(|part| text::terms(part))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Equal for two memories of a scope that are the same. The same words said again are another turn, so a turn of a
/// dialogue is told apart by who, where and when.
pub(super) fn hash_of(memory: &Memory) -> String {
    let turn = memory.speaker.as_ref().map(|speaker| {
        format!("{speaker}\n{}\n{}", memory.session_id.as_deref().unwrap_or_default(), memory.occurred_at)
    });
    text::content_hash(memory.title.as_deref(), &memory.content, turn.as_deref().or(memory.context.as_deref()))
}

/// The word of `write.quarantine` for which a memory waits for a person, in a sentence; `None` if it has none.
pub(super) fn quarantined(memory: &Memory, settings: &WriteSettings) -> Option<String> {
    if settings.quarantine.is_empty() {
        return None;
    }
    let optional = [&memory.title, &memory.context].into_iter().flatten();
    let said: Vec<String> =
        optional.chain([&memory.content, &memory.summary]).map(|text| text.to_lowercase()).collect();
    let has = |word: &&String| said.iter().any(|text| text.contains(&word.to_lowercase()));
    settings.quarantine.iter().find(has).map(|word| format!("contains {word:?}, a word of write.quarantine"))
}

pub(super) fn tags(given: Vec<String>) -> Result<Vec<String>, Error> {
    if given.len() > TAGS_MAX {
        return Err(Error::bad_input("tags", format!("at most {TAGS_MAX} tags")));
    }
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let tag = input::text("tags", tag, NAME_BYTES)?;
        not_of_pages("tags", &tag)?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Ok(tags)
}

pub(super) fn scope(caller: &Caller, name: Option<&str>, group: Option<String>) -> Result<Scope, Error> {
    let group = input::optional_text("group", group, NAME_BYTES)?;
    match (name.unwrap_or(if group.is_some() { "shared" } else { "private" }), group) {
        ("private", None) => Ok(caller.private_scope()),
        ("global", None) if caller.kind == PrincipalKind::Agent => {
            Err(Error::new(ErrorCode::Forbidden, "scope: an agent cannot write to global")
                .advise("store it for a group or privately, and ask a person to publish it"))
        }
        ("global", None) => input::require(caller, Right::MemoryGlobal).map(|()| Scope::Global),
        ("shared", Some(group)) if caller.groups.contains(&group) => Ok(Scope::Shared(group)),
        ("shared", Some(_)) => Err(Error {
            field: Some("group".into()),
            ..Error::new(ErrorCode::Forbidden, "group: the token is not a member of this group")
        }),
        ("shared", None) => Err(Error::bad_input("group", "is needed for scope shared")),
        ("private" | "global", Some(_)) => Err(Error::bad_input("group", "goes with scope shared only")),
        _ => Err(Error::bad_input("scope", "unknown value, expected one of private, shared, global")),
    }
}

/// Refuses a name that only parts of pages have.
fn not_of_pages(field: &str, name: &str) -> Result<(), Error> {
    if name.starts_with(super::PAGES) {
        return Err(Error::bad_input(field, format!("{:?} begins the names of pages", super::PAGES)));
    }
    Ok(())
}

fn expiry(ttl_secs: i64, now: Timestamp) -> Result<Timestamp, Error> {
    if ttl_secs < 1 {
        return Err(Error::bad_input("ttl_secs", "must be at least 1"));
    }
    now.checked_add(SignedDuration::from_secs(ttl_secs))
        .map_err(|_| Error::bad_input("ttl_secs", "too far in the future"))
}

fn hash_of_request(request: &StoreRequest) -> String {
    let mut keyless = request.clone();
    keyless.idempotency_key = None;
    super::hash_of_json(&keyless)
}
