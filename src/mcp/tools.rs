//! The table of tools. To add one: a row in [`TOOLS`], or in `wiki` for one of the wiki and the review queue; listing,
//! schemas, checks and dispatch follow from it.

use std::sync::{Arc, LazyLock};

use futures::{FutureExt, future::BoxFuture};
use rmcp::model::{Tool, ToolAnnotations};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{lenient, schema, wiki};
use crate::{
    domain::Caller,
    error::{Error, ErrorCode},
    input,
    read::{
        AssociateReply, AssociateRequest, ExplainReply, ExplainRequest, GetReply, GetRequest, RecallReply,
        RecallRequest, SummarizeReply, SummarizeRequest,
    },
    service::{Service, UpdateReply},
    write::{
        FeedbackReply, FeedbackRequest, ForgetReply, ForgetRequest, LinkReply, LinkRequest, ObserveReply,
        ObserveRequest, StoreReply, StoreRequest, UpdateRequest,
    },
};

/// What a tool does to the world; the four annotations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds; nothing is lost.
    Adds,
    /// Sets something; the same again changes nothing more, and what was is kept as history.
    Sets,
    /// May remove or weaken.
    Removes,
}

pub(super) type Call = for<'a> fn(&'a Service, &'a Caller, Value) -> BoxFuture<'a, Result<String, Error>>;

/// A tool.
pub(super) struct Row {
    pub name: &'static str,
    pub title: &'static str,
    /// For the model that decides whether to call it.
    pub description: &'static str,
    pub effect: Effect,
    pub required: &'static [&'static str],
    pub input: fn(&[&str]) -> Map<String, Value>,
    pub output: fn() -> Map<String, Value>,
    pub call: Call,
}

static TOOLS: [Row; 11] = [
    Row {
        name: "memory_store",
        title: "Store a memory",
        description: "Remember something for later sessions: a fact, a preference, a correction, a rule to keep, a \
            procedure, an event, a lesson. One self-contained statement per call, in full sentences, with names instead of \
            pronouns. Give `title` (what it is about) so that it is found through its subject, `session_id` or `task_id` so \
            that it is linked to what came before, `supersedes` when it replaces an older memory, `causes` or `caused_by` \
            when one led to the other. The answer is durable; storing the same again is recognised. Private unless `scope` \
            says otherwise. Do not store secrets.",
        effect: Effect::Adds,
        required: &["content"],
        input: schema::input::<StoreRequest>,
        output: schema::output::<StoreReply>,
        call: |service, caller, given| async move { answer(&service.store(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_recall",
        title: "Recall memories",
        description: "Find memories that answer a question, best first, each with its score and why. Call it before you \
            answer or act on anything that may have been said, decided or learnt earlier. Ask in plain words of any language. \
            Mode hybrid fits most questions; associative also follows the graph, for questions that need several memories \
            together; recent lists the latest and takes an empty query. `as_of` and `known_at` look into the past. A match \
            marked weak may be beside the point; an empty list means nothing is known. `constraints` are rules in force: keep \
            them. With a `cursor` in the answer there is more: ask the same again with it.",
        effect: Effect::Reads,
        required: &["query"],
        input: schema::input::<RecallRequest>,
        output: schema::output::<RecallReply>,
        call: |service, caller, given| async move { answer(&service.recall(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_associate",
        title: "Associate through the graph",
        description: "What a question, or given memories, bring to mind through the graph: over sessions, tasks, causes, \
            replacements and shared subjects, each with the path that leads to it. Call it after a recall to find what \
            belongs together though the words differ: the cause of a fault, what else is known of a person, what came before. \
            Give either `query` or `ids`, not both. The memories it starts from are in `seeds`, not among the items.",
        effect: Effect::Reads,
        required: &[],
        input: schema::input::<AssociateRequest>,
        output: schema::output::<AssociateReply>,
        call: |service, caller, given| async move { answer(&service.associate(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_get",
        title: "Read memories by id",
        description: "Read memories in full by their ids, as recall, associate or store gave them: every field, whatever \
            their status. With `known_at`, as they were believed then.",
        effect: Effect::Reads,
        required: &["ids"],
        input: schema::input::<GetRequest>,
        output: schema::output::<GetReply>,
        call: |service, caller, given| async move { answer(&service.get(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_update",
        title: "Change a memory",
        description: "Change fields of one memory by its id: wording, title, tags, importance, dates. Absent fields stay. The \
            earlier text is kept as history, and `known_at` finds it. For a fact that has become another, store the new one \
            with `supersedes` instead. Give `expected_revision` as memory_get showed it, so that nobody else's change is lost.",
        effect: Effect::Adds,
        required: &["id"],
        input: schema::input::<UpdateRequest>,
        output: schema::output::<UpdateReply>,
        call: |service, caller, given| async move { answer(&service.update(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_forget",
        title: "Forget memories",
        description: "Forget memories by their ids: delete removes every copy for good, archive keeps them but recalls them \
            no more, decay makes them weigh less. Only when a person asks for it or a memory is wrong and nothing replaces \
            it; for a corrected fact, store the new one with `supersedes` instead. A deleted memory takes the session summaries that quote it along. Give \
            the reason.",
        effect: Effect::Removes,
        required: &["ids"],
        input: schema::input::<ForgetRequest>,
        output: schema::output::<ForgetReply>,
        call: |service, caller, given| async move { answer(&service.forget(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_link",
        title: "Link two memories",
        description: "Say how two memories belong together: `from` CAUSES `to`, `from` SUPERSEDES `to` (the older one is \
            retired and kept), or `from` SUPPLEMENTS `to`. Call it when you see a connection that was not given when they \
            were stored; associate follows it from then on. The same link again changes nothing.",
        effect: Effect::Sets,
        required: &["from", "to", "edge"],
        input: schema::input::<LinkRequest>,
        output: schema::output::<LinkReply>,
        call: |service, caller, given| async move { answer(&service.link(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_feedback",
        title: "Say whether a memory helped",
        description: "Vote on a recalled memory after you used it: `useful` true when it was right and helped, false when it \
            was wrong or misleading. The vote moves its confidence, and with it its place in later answers. One vote each: a \
            second one replaces your first.",
        effect: Effect::Sets,
        required: &["id", "useful"],
        input: schema::input::<FeedbackRequest>,
        output: schema::output::<FeedbackReply>,
        call: |service, caller, given| async move { answer(&service.feedback(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_observe",
        title: "Report an event",
        description: "Report what happens as it happens; every event is kept as it came. Some make a memory at once, whose id \
            is in the answer: task_succeeded with a text makes an episode, task_failed a warning, user_correction a \
            correction, session_ended a summary of the session from its memories. Say in `text` what was done and learnt, in \
            full sentences. Use memory_store for what you want to remember in your own words.",
        effect: Effect::Adds,
        required: &["event"],
        input: schema::input::<ObserveRequest>,
        output: schema::output::<ObserveReply>,
        call: |service, caller, given| async move { answer(&service.observe(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_summarize",
        title: "Sum up memories",
        description: "Sum up what happened in a time (`since`, `until`), in a session or about a topic, in the memories' own \
            sentences, oldest first, with the ids of those it quotes. For a report, a hand-over, or to catch up. For one \
            question ask memory_recall.",
        effect: Effect::Reads,
        required: &[],
        input: schema::input::<SummarizeRequest>,
        output: schema::output::<SummarizeReply>,
        call: |service, caller, given| async move { answer(&service.summarize(caller, read(given)?).await?) }.boxed(),
    },
    Row {
        name: "memory_explain",
        title: "Explain a memory's place",
        description: "Why memory_recall brings or does not bring a memory for a query: what each arm makes of it, its place, \
            its score in parts, what keeps it back (superseded, archived, expired), and the way to it through the graph. For \
            debugging a recall that surprised you.",
        effect: Effect::Reads,
        required: &["id", "query"],
        input: schema::input::<ExplainRequest>,
        output: schema::output::<ExplainReply>,
        call: |service, caller, given| async move { answer(&service.explain(caller, read(given)?).await?) }.boxed(),
    },
];

fn rows() -> impl Iterator<Item = &'static Row> {
    TOOLS.iter().chain(&wiki::TOOLS)
}

/// The tools as clients see them, in the order of the table.
pub(super) fn tools() -> &'static [Tool] {
    static LISTED: LazyLock<Vec<Tool>> = LazyLock::new(|| rows().map(listed).collect());
    &LISTED
}

/// The listing that `recollect schema` writes and a test compares.
pub fn tool_listing() -> Value {
    serde_json::json!({ "tools": tools() })
}

/// Calls the tool `name`; `None` if there is none. The answer is compact JSON.
pub(super) fn call<'a>(
    service: &'a Service,
    caller: &'a Caller,
    name: &str,
    arguments: Map<String, Value>,
) -> Option<BoxFuture<'a, Result<String, Error>>> {
    let (tool, row) = tools().iter().zip(rows()).find(|(_, row)| row.name == name)?;
    let arguments = lenient::repair(&tool.input_schema, arguments.into());
    Some((row.call)(service, caller, arguments))
}

/// What the tool `name` answers, as JSON, for whoever is in the same process.
pub async fn call_tool(service: &Service, caller: &Caller, name: &str, arguments: Value) -> Result<String, Error> {
    let unknown = || Error::bad_input("name", "no such tool");
    let row = rows().find(|row| row.name == name).ok_or_else(unknown)?;
    (row.call)(service, caller, arguments).await
}

fn listed(row: &Row) -> Tool {
    let reads = row.effect == Effect::Reads;
    let annotations = ToolAnnotations::with_title(row.title)
        .read_only(reads)
        .destructive(row.effect == Effect::Removes)
        .idempotent(matches!(row.effect, Effect::Reads | Effect::Sets))
        // The memory is a closed world: no tool reaches anything else.
        .open_world(false);
    Tool::new(row.name, row.description, (row.input)(row.required))
        .with_title(row.title)
        .with_raw_output_schema(Arc::new((row.output)()))
        .with_annotations(annotations)
}

pub(super) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Error> {
    input::read_json(arguments)
}

/// Text straight from the reply: going through a [`Value`] would print an `f32` 0.8 as 0.800000011920929.
pub(super) fn answer(reply: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(reply).map_err(|_| Error::new(ErrorCode::Internal, "internal fault"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A value that a property of this schema takes, and the forms of it that are forgiven.
    fn forms(schema: &Value) -> (Value, Vec<Value>) {
        match schema["type"].as_str().expect("a type") {
            "string" => {
                let text = schema["enum"][0].as_str().unwrap_or("text");
                (json!(text), vec![json!(text)])
            }
            "integer" => (json!(7), vec![json!(7), json!("7"), json!(7.0), json!("7.0"), json!(" 7 ")]),
            "number" => (json!(0.5), vec![json!(0.5), json!("0.5")]),
            "boolean" => (json!(true), vec![json!(true), json!("true"), json!(" true ")]),
            "array" => {
                let (item, items) = forms(&schema["items"]);
                let list = json!([item]);
                let mut forgiven = vec![list.clone(), json!(list.to_string())];
                forgiven.extend(items.iter().cloned());
                forgiven.extend(items.into_iter().map(|item| json!([item])));
                (list, forgiven)
            }
            "object" => {
                let object = one_of_each(schema);
                (object.clone(), vec![object.clone(), json!(object.to_string())])
            }
            other => panic!("no value for {other}"),
        }
    }

    fn one_of_each(schema: &Value) -> Value {
        let properties = schema["properties"].as_object().expect("properties");
        properties.iter().map(|(name, property)| (name.clone(), forms(property).0)).collect::<Map<_, _>>().into()
    }

    #[test]
    fn every_field_of_every_tool_is_forgiven_its_form() {
        for tool in tools() {
            let schema = Value::Object((*tool.input_schema).clone());
            for (name, property) in schema["properties"].as_object().expect("properties") {
                let (meant, forgiven) = forms(property);
                for given in forgiven {
                    let repaired = lenient::repair(&tool.input_schema, json!({ name: given }));
                    assert_eq!(repaired, json!({ name: meant }), "{}.{name} given as {given}", tool.name);
                }
                assert_eq!(lenient::repair(&tool.input_schema, json!({ name: null })), json!({}), "{}", tool.name);
            }
            let whole = one_of_each(&schema);
            let text = json!(whole.to_string());
            assert_eq!(lenient::repair(&tool.input_schema, text), whole, "{} as one text", tool.name);
        }
    }

    #[test]
    fn every_tool_is_strict_inside() {
        for row in rows() {
            let schema = Value::Object((row.input)(row.required));
            let unknown = json!({"no_such_field": 1});
            let repaired = lenient::repair(schema.as_object().expect("an object"), unknown.clone());
            assert_eq!(repaired, unknown, "{}: what is unknown stays for the strict reader", row.name);
            assert_eq!(schema["additionalProperties"], false, "{}", row.name);
        }
    }
}
