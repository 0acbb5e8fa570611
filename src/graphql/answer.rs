//! From a request to its answer: parse, limits, then execution or a stream. Every error leaves with a code of the one table.

use std::sync::Arc;

use async_graphql::{
    Data, ServerError, Value, Variables,
    parser::{parse_query, types::OperationType},
};
use futures::{Stream, StreamExt, future::Either, stream};
use serde_json::json;

use super::{Asking, Whole, builder, limits, mutation::shown, subscription::PollEvery};
use crate::{
    config,
    domain::Caller,
    error::{Error, ErrorCode},
    service::Service,
    telemetry,
};

/// The schema on a service. Cheap to clone.
#[derive(Clone)]
pub struct Graphql {
    schema: Whole,
    service: Arc<Service>,
    limits: config::Graphql,
}

/// A request as it came, its parts of the right types.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The document.
    pub query: String,
    /// Which of its operations.
    pub operation_name: Option<String>,
    /// Values of its variables.
    pub variables: serde_json::Map<String, serde_json::Value>,
}

/// Which operations a transport takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Queries (GET).
    Queries,
    /// Queries and mutations (POST).
    Single,
    /// All (a web socket).
    All,
}

/// An answer, as JSON of the specification's response.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Nothing was run: the document or its variables are wrong. Has errors and no data.
    Refused(serde_json::Value),
    /// Nothing was run: the transport does not take this operation.
    NotHere(serde_json::Value),
    /// It was run; data may be there in part.
    Executed(serde_json::Value),
}

/// Where an error belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Into `userErrors` of a mutation: the user can put it right.
    User,
    /// Among the errors of the request.
    Request,
}

/// The one mapping of codes to places.
pub(super) fn place(code: ErrorCode) -> Place {
    match code {
        ErrorCode::BadUserInput
        | ErrorCode::NotFound
        | ErrorCode::Conflict
        | ErrorCode::StaleBase
        | ErrorCode::PayloadTooLarge
        | ErrorCode::IdempotencyKeyReused => Place::User,
        ErrorCode::Unauthenticated
        | ErrorCode::Forbidden
        | ErrorCode::RateLimited
        | ErrorCode::Degraded
        | ErrorCode::Timeout
        | ErrorCode::Unavailable
        | ErrorCode::Internal => Place::Request,
    }
}

impl Graphql {
    /// The schema on `service`.
    pub fn new(service: Arc<Service>, limits: config::Graphql) -> Self {
        let schema = builder()
            .data(service.clone())
            .data(PollEvery(std::time::Duration::from_millis(limits.poll_ms)))
            .limit_complexity(limits.max_complexity)
            .limit_recursive_depth(RECURSION)
            .finish();
        Self { schema, service, limits }
    }

    /// Answers a query or a mutation.
    pub async fn execute(&self, caller: Arc<Caller>, request: Request, taken: Operations) -> Answer {
        match self.prepare(caller, request, taken) {
            Ok(prepared) => executed(self.schema.execute(prepared).await),
            Err(refused) => refused,
        }
    }

    /// Answers an operation of any kind: once for a query or a mutation, for a subscription again and again.
    pub fn stream(&self, caller: Arc<Caller>, request: Request) -> impl Stream<Item = Answer> + Send + use<> {
        match self.prepare(caller, request, Operations::All) {
            Ok(prepared) => {
                let data = Arc::new(Data::default());
                Either::Left(self.schema.execute_stream_with_session_data(prepared, data).map(executed))
            }
            Err(refused) => Either::Right(stream::iter([refused])),
        }
    }

    fn prepare(
        &self,
        caller: Arc<Caller>,
        request: Request,
        taken: Operations,
    ) -> Result<async_graphql::Request, Answer> {
        if request.query.len() > self.limits.max_query_bytes {
            let message =
                format!("query: longer than {} bytes; long texts belong into variables", self.limits.max_query_bytes);
            return Err(Answer::Refused(failure(&Error::new(ErrorCode::PayloadTooLarge, message))));
        }
        let document = parse_query(&request.query).map_err(|error| {
            let error = ServerError::from(error);
            let mut shown = json!({"message": format!("query: {}", one_line(&error.message)), "extensions": extensions(ErrorCode::BadUserInput)});
            if !error.locations.is_empty() {
                shown["locations"] = json!(error.locations);
            }
            Answer::Refused(json!({"errors": [shown]}))
        })?;
        limits::check(&document, &self.limits).map_err(|error| Answer::Refused(failure(&error)))?;
        let kind = limits::kind(&document, request.operation_name.as_deref()).unwrap_or(OperationType::Query);
        let refusal = match (taken, kind) {
            (Operations::Queries, OperationType::Mutation | OperationType::Subscription) => {
                Some("only queries are taken here; POST a mutation")
            }
            (Operations::Single, OperationType::Subscription) => {
                Some("subscriptions are taken over a web socket (graphql-transport-ws)")
            }
            _ => None,
        };
        if let Some(message) = refusal {
            return Err(Answer::NotHere(failure(&Error::new(ErrorCode::BadUserInput, message))));
        }
        let variables = limits::variables(&document, request.operation_name.as_deref(), request.variables)
            .map_err(|error| Answer::Refused(failure(&error)))?;
        let mut prepared = async_graphql::Request::new(request.query)
            .variables(Variables::from_json(variables.into()))
            .data(Asking::new(self.service.clone(), caller));
        prepared.operation_name = request.operation_name;
        prepared.set_parsed_query(document);
        Ok(prepared)
    }
}

/// Levels of selections that the library's own check lets pass; ours counts fields and is stricter.
const RECURSION: usize = 64;

/// A response of one error and no data.
pub fn failure(error: &Error) -> serde_json::Value {
    json!({"errors": [{"message": shown(error), "extensions": details(error)}]})
}

fn executed(response: async_graphql::Response) -> Answer {
    // What is found wrong before execution has no path and leaves no data.
    let refused = response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty());
    let errors: Vec<serde_json::Value> = response.errors.iter().map(coded).collect();
    if refused {
        return Answer::Refused(json!({"errors": errors}));
    }
    let data = response.data.into_json().unwrap_or_default();
    Answer::Executed(if errors.is_empty() { json!({"data": data}) } else { json!({"errors": errors, "data": data}) })
}

/// An error of the library as the specification writes it, with our code. Ours come along as its source.
fn coded(error: &ServerError) -> serde_json::Value {
    let ours = error.source::<Error>();
    telemetry::count_error("graphql", ours.map_or(ErrorCode::BadUserInput, |ours| ours.code).name());
    let (message, extensions) = match ours {
        Some(ours) => (shown(ours), details(ours)),
        None => (one_line(&error.message), extensions(ErrorCode::BadUserInput)),
    };
    let mut shown = json!({"message": message, "extensions": extensions});
    if !error.locations.is_empty() {
        shown["locations"] = json!(error.locations);
    }
    if !error.path.is_empty() {
        shown["path"] = json!(error.path);
    }
    shown
}

fn details(error: &Error) -> serde_json::Value {
    let mut extensions = extensions(error.code);
    if let Some(field) = &error.field {
        extensions["field"] = super::convert::camel(field).into();
    }
    if let Some(advice) = error.advice.as_deref() {
        extensions["advice"] = advice.into();
    }
    extensions
}

fn extensions(code: ErrorCode) -> serde_json::Value {
    json!({"code": code.name(), "retryable": code.retryable()})
}

/// The parser draws its errors over several lines; the last one says what was expected.
fn one_line(message: &str) -> String {
    let last = message.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    last.trim_start_matches("= ").to_owned()
}
