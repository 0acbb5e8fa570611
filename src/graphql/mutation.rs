//! What can be changed. What is wrong with an input comes back in `userErrors`; a missing right or a store that is down is
//! an error of the request.

use std::sync::Arc;

use async_graphql::{Context, MergedObject, Object, Result};

use super::{
    answer::{Place, place},
    convert::{NodeType, camel, global, named, plain, reply, request},
    input::{
        CreateTokenInput, ForgetMemoriesInput, GiveFeedbackInput, ImportOntologyInput, LinkMemoriesInput, ObserveInput,
        RevokeTokenInput, RollbackOntologyInput, RunJobInput, StoreMemoryInput, UpdateMemoryInput,
    },
    loader::{MemoryOf, asking, service},
    names::{Job, Outcome},
    review_mutation::ReviewMutation,
    types::{
        CreateTokenPayload, Doctor, ForgetMemoriesPayload, GiveFeedbackPayload, ImportOntologyPayload,
        LinkMemoriesPayload, Memory, ObservePayload, RevokeTokenPayload, RollbackOntologyPayload, RunJobPayload,
        StoreMemoryPayload, Token, UpdateMemoryPayload, UserError, count,
    },
    wiki::proposal_of,
};
use crate::{
    error::{Error, ErrorCode},
    ontology::ImportRequest,
    service::Service,
    telemetry,
};

/// Everything that can be changed. Each mutation says its outcome, and in `userErrors` why an input was not taken.
#[derive(MergedObject, Default)]
pub(super) struct Mutation(MemoryMutation, ReviewMutation);

/// Changes of memories, tokens and jobs.
#[derive(Default)]
pub(super) struct MemoryMutation;

#[Object]
impl MemoryMutation {
    /// Keeps a memory. Durable when it answers; the same content stored again is recognised.
    async fn store_memory(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The memory.")] input: StoreMemoryInput,
    ) -> Result<StoreMemoryPayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.store(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok(stored) => {
                let mut payload: StoreMemoryPayload = reply(&stored)?;
                if let Some(id) = payload.id.as_deref() {
                    payload.memory = memory(ctx, id).await?;
                }
                payload
            }
            Err(user_errors) => StoreMemoryPayload {
                memory: None,
                id: None,
                outcome: None,
                state: None,
                links: Vec::new(),
                superseded: Vec::new(),
                redactions: Vec::new(),
                reason: None,
                review_id: None,
                operation_id: None,
                user_errors,
            },
        })
    }

    /// Changes fields of a memory; the earlier revision is kept as history.
    async fn update_memory(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The memory and its new fields.")] input: UpdateMemoryInput,
    ) -> Result<UpdateMemoryPayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.update(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok(update) => UpdateMemoryPayload {
                memory: Some(reply(&update.memory)?),
                outcome: Some(if update.review_id.is_some() { Outcome::Quarantined } else { Outcome::Updated }),
                review_id: update.review_id,
                user_errors: Vec::new(),
            },
            Err(user_errors) => UpdateMemoryPayload { memory: None, outcome: None, review_id: None, user_errors },
        })
    }

    /// Forgets memories, all or none. Needs the right MEMORY_FORGET.
    async fn forget_memories(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The memories, and how to forget them.")] input: ForgetMemoriesInput,
    ) -> Result<ForgetMemoriesPayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.forget(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok(done) => ForgetMemoriesPayload {
                forgotten: done.forgotten,
                operation_id: Some(done.operation_id),
                outcome: Some(Outcome::Forgotten),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ForgetMemoriesPayload { forgotten: 0, operation_id: None, outcome: None, user_errors },
        })
    }

    /// Makes an edge between two memories.
    async fn link_memories(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The two memories and what the edge says of them.")] input: LinkMemoriesInput,
    ) -> Result<LinkMemoriesPayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.link(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok(done) => LinkMemoriesPayload {
                from: memory(ctx, &done.from).await?,
                to: memory(ctx, &done.to).await?,
                operation_id: Some(done.operation_id),
                outcome: Some(Outcome::Linked),
                user_errors: Vec::new(),
            },
            Err(user_errors) => {
                LinkMemoriesPayload { from: None, to: None, operation_id: None, outcome: None, user_errors }
            }
        })
    }

    /// Notes whether a memory helped: one vote of each principal, which moves its confidence.
    async fn give_feedback(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The memory and the vote.")] input: GiveFeedbackInput,
    ) -> Result<GiveFeedbackPayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.feedback(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok(done) => GiveFeedbackPayload {
                memory: memory(ctx, &done.id).await?,
                confidence_before: Some(reply(&done.confidence_before)?),
                confidence_after: Some(reply(&done.confidence_after)?),
                operation_id: Some(done.operation_id),
                outcome: Some(Outcome::Voted),
                user_errors: Vec::new(),
            },
            Err(user_errors) => GiveFeedbackPayload {
                memory: None,
                confidence_before: None,
                confidence_after: None,
                operation_id: None,
                outcome: None,
                user_errors,
            },
        })
    }

    /// Keeps a raw event, with the memory that it makes, if it makes one.
    async fn observe(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What happened.")] input: ObserveInput,
    ) -> Result<ObservePayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.observe(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok(done) => ObservePayload {
                event_id: Some(global(NodeType::Event, &done.event_id)),
                state: reply(&Some(done.state))?,
                memories: reply(&done.memories)?,
                operation_id: Some(done.operation_id),
                outcome: Some(Outcome::Observed),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ObservePayload { user_errors, ..ObservePayload::default() },
        })
    }

    /// Makes a bearer token; its secret is shown once. Needs the right ADMIN.
    async fn create_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom it speaks for, and what it may do.")] input: CreateTokenInput,
    ) -> Result<CreateTokenPayload> {
        let done = match request(&input) {
            Ok(request) => service(ctx)?.create_token(&asking(ctx)?.caller, request).await,
            Err(error) => Err(error),
        };
        Ok(match taken(done)? {
            Ok((token, secret)) => CreateTokenPayload {
                token: Some(Token::try_from(token)?),
                secret: Some(secret),
                outcome: Some(Outcome::Created),
                user_errors: Vec::new(),
            },
            Err(user_errors) => CreateTokenPayload { token: None, secret: None, outcome: None, user_errors },
        })
    }

    /// Removes a bearer token: it opens nothing from then on. Needs the right ADMIN.
    async fn revoke_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token.")] input: RevokeTokenInput,
    ) -> Result<RevokeTokenPayload> {
        Ok(match taken(service(ctx)?.revoke_token(&asking(ctx)?.caller, &input.id).await)? {
            Ok(()) => {
                RevokeTokenPayload { id: Some(input.id), outcome: Some(Outcome::Revoked), user_errors: Vec::new() }
            }
            Err(user_errors) => RevokeTokenPayload { id: None, outcome: None, user_errors },
        })
    }

    /// Imports an ontology, or says what that would do. The same file again changes nothing. Needs the right ONTOLOGY_IMPORT;
    /// with WIKI_PROPOSE alone it becomes a proposal of the kind ONTOLOGY_CHANGE.
    async fn import_ontology(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The file.")] input: ImportOntologyInput,
    ) -> Result<ImportOntologyPayload> {
        let ImportOntologyInput { name, content, vocabulary, mapping, dry_run, allow_removals, rationale, run_id } =
            input;
        let bytes = content.into_bytes();
        let request = ImportRequest { name, bytes, vocabulary, mapping, dry_run, allow_removals, rationale, run_id };
        Ok(match taken(service(ctx)?.import_ontology(&asking(ctx)?.caller, request).await)? {
            Ok(imported) => {
                let proposal = match &imported.proposal_id {
                    Some(id) => proposal_of(ctx, id).await?,
                    None => None,
                };
                ImportOntologyPayload {
                    imported: Some(reply(&imported)?),
                    outcome: Some(if proposal.is_some() { Outcome::Proposed } else { Outcome::Done }),
                    proposal,
                    user_errors: Vec::new(),
                }
            }
            Err(user_errors) => ImportOntologyPayload { user_errors, ..ImportOntologyPayload::default() },
        })
    }

    /// Makes an earlier version of all ontologies the one in force again, as a new version. Needs the right ONTOLOGY_IMPORT.
    async fn rollback_ontology(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The version.")] input: RollbackOntologyInput,
    ) -> Result<RollbackOntologyPayload> {
        Ok(match taken(service(ctx)?.rollback_ontology(&asking(ctx)?.caller, input.version).await)? {
            Ok(version) => RollbackOntologyPayload {
                version: Some(reply(&version)?),
                outcome: Some(Outcome::Done),
                user_errors: Vec::new(),
            },
            Err(user_errors) => RollbackOntologyPayload { user_errors, ..RollbackOntologyPayload::default() },
        })
    }

    /// Runs a job and waits for its end. Needs the right ADMIN.
    async fn run_job(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The job.")] input: RunJobInput,
    ) -> Result<RunJobPayload> {
        let service = ctx.data::<Arc<Service>>()?.clone();
        let caller = asking(ctx)?.caller.clone();
        // In a task of its own: who stops waiting does not stop it half way.
        let job = tokio::spawn(async move {
            Ok(match input.name {
                Job::Doctor => {
                    let report = service.doctor(&caller, input.repair).await?;
                    let doctor = Doctor {
                        ok: report.ok(),
                        missing: count(report.missing),
                        orphan: count(report.orphan),
                        stale: count(report.stale),
                        half_links: count(report.half_links),
                    };
                    RunJobPayload { doctor: Some(doctor), ..RunJobPayload::default() }
                }
                Job::Reindex => {
                    let indexed = service.reindex(&caller, |_, _| {}).await?;
                    RunJobPayload { indexed: Some(count(indexed)), ..RunJobPayload::default() }
                }
                Job::ExpireProposals => {
                    let expired = service.expire_proposals(&caller).await?;
                    RunJobPayload { expired: Some(count(expired)), ..RunJobPayload::default() }
                }
            })
        });
        let done = job.await.unwrap_or_else(|_| Err(Error::new(ErrorCode::Internal, "internal fault")));
        Ok(match taken(done)? {
            Ok(done) => RunJobPayload { outcome: Some(Outcome::Done), ..done },
            Err(user_errors) => RunJobPayload { user_errors, ..RunJobPayload::default() },
        })
    }
}

/// What was done, or what the user can put right; the outer error is the request's.
pub(super) fn taken<T>(done: std::result::Result<T, Error>) -> Result<std::result::Result<T, Vec<UserError>>> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(error) => match place(error.code) {
            Place::Request => Err(error.into()),
            Place::User => {
                telemetry::count_error("graphql", error.code.name());
                let field = error.field.as_deref().map(camel);
                Ok(Err(vec![UserError { code: named(error.code.name())?, message: shown(&error), field }]))
            }
        },
    }
}

/// The message, with the field as the schema spells it.
pub(super) fn shown(error: &Error) -> String {
    match &error.field {
        Some(field) => match error.message.strip_prefix(field.as_str()) {
            Some(rest) => format!("{}{rest}", camel(field)),
            None => error.message.clone(),
        },
        None => error.message.clone(),
    }
}

async fn memory(ctx: &Context<'_>, id: &str) -> Result<Option<Memory>> {
    let id = crate::input::memory_id("id", &plain(NodeType::Memory, id))?;
    asking(ctx)?.loader.load_one(MemoryOf(id)).await
}
