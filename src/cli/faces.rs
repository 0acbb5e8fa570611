//! The way of the commands `wiki` and `review`: through the tools of MCP where there is one, else through GraphQL. Both are
//! in this process when it holds the data folder, and over HTTP when a service does; so a command has one path.

use serde_json::{Map, Value, json};

use super::{Context, memory::Target, remote::Access};
use crate::{
    error::{Error, ErrorCode},
    graphql::{Answer, Graphql, Operations, Request},
    mcp,
};

/// Calls a tool; its answer.
pub(super) async fn tool(ctx: &Context, target: Target, name: &str, arguments: Value) -> anyhow::Result<Value> {
    let arguments = without_nulls(arguments);
    match Access::open(ctx, target).await? {
        Access::Local(opened, caller) => {
            let answer = mcp::call_tool(&opened.service, &caller, name, arguments).await;
            opened.close().await?;
            Ok(serde_json::from_str(&answer?)?)
        }
        Access::Remote(remote) => remote.call(name, &arguments).await,
    }
}

/// Runs a document of one field; what the field gives, in the names and values of the façade.
pub(super) async fn query(ctx: &Context, target: Target, document: &str, variables: Value) -> anyhow::Result<Value> {
    let answer = match Access::open(ctx, target).await? {
        Access::Local(opened, caller) => {
            let graphql = Graphql::new(opened.service.clone(), ctx.config.server.graphql.clone());
            let Value::Object(variables) = variables else { anyhow::bail!("variables are an object") };
            let request = Request { query: document.to_owned(), operation_name: None, variables };
            let answer = graphql.execute(std::sync::Arc::new(caller), request, Operations::Single).await;
            drop(graphql);
            opened.close().await?;
            match answer {
                Answer::Executed(answer) | Answer::Refused(answer) | Answer::NotHere(answer) => answer,
            }
        }
        Access::Remote(remote) => remote.graphql(document, variables).await?,
    };
    let field = answer["data"].as_object().and_then(|data| data.values().next()).cloned().unwrap_or_default();
    if let Some(refusal) = refusal(&answer, &field) {
        return Err(refusal.into());
    }
    Ok(plain(field))
}

/// The error of a request, or the first of an input.
fn refusal(answer: &Value, field: &Value) -> Option<Error> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let of_request = &answer["errors"][0];
    let (details, message) = if of_request.is_object() {
        (&of_request["extensions"], &of_request["message"])
    } else {
        let of_input = &field["userErrors"][0];
        (of_input.is_object().then_some(of_input)?, &of_input["message"])
    };
    let code = details["code"].as_str().or(answer["error"]["code"].as_str()).and_then(ErrorCode::named);
    let shown = details["field"].as_str();
    let field = shown.map(snake);
    let message = message.as_str().unwrap_or("the service refused the request");
    // The message begins with the field as the schema spells it.
    let message = match (shown.and_then(|shown| message.strip_prefix(shown)), &field) {
        (Some(rest), Some(field)) => format!("{field}{rest}"),
        _ => message.to_owned(),
    };
    let advice = text(&details["advice"]).map(Into::into);
    Some(Error { code: code.unwrap_or(ErrorCode::Internal), field, message, advice, source: None })
}

/// An answer of GraphQL in the names of the façade: fields in snake_case, values of closed lists in small letters, nothing
/// where there is nothing.
fn plain(value: Value) -> Value {
    const LISTS: [&str; 8] = ["outcome", "state", "kind", "change", "authorKind", "reason", "op", "status"];
    match value {
        Value::Object(fields) => {
            let mut found = Map::new();
            for (name, value) in fields {
                let value = match value {
                    Value::String(text) if LISTS.contains(&name.as_str()) && is_name(&text) => {
                        text.to_lowercase().into()
                    }
                    other => plain(other),
                };
                if !value.is_null() && name != "userErrors" {
                    found.insert(snake(&name), value);
                }
            }
            found.into()
        }
        Value::Array(items) => items.into_iter().map(plain).collect(),
        other => other,
    }
}

/// Whether it can be a value of a closed list: a reason in words has other letters.
fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// `contentHash` as the façade spells it.
fn snake(name: &str) -> String {
    let mut spelt = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            spelt.push('_');
        }
        spelt.push(letter.to_ascii_lowercase());
    }
    spelt
}

/// A value of a closed list as the schema writes it; what is none is refused there.
pub(super) fn capitals(name: &str) -> String {
    name.to_uppercase()
}

fn without_nulls(arguments: Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let there = |value: &Value| !value.is_null() && *value != json!([]);
            fields.into_iter().filter(|(_, value)| there(value)).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// The text of `--body`, or of the file or standard input (`-`) of `--file`.
pub(super) fn body(body: Option<String>, file: Option<&std::path::Path>) -> anyhow::Result<Option<String>> {
    use anyhow::Context as _;
    Ok(match (body, file) {
        (given, None) => given,
        (_, Some(path)) if path.as_os_str() == "-" => Some(std::io::read_to_string(std::io::stdin())?),
        (_, Some(path)) => {
            Some(std::fs::read_to_string(path).with_context(|| format!("--file: read {}", path.display()))?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_schema_is_told_in_the_names_of_the_facade() {
        let answer = json!({"outcome": "APPROVAL_NOTED", "operationId": "x", "proposal": {"contentHash": "AB", "state": "PENDING",
            "decision": null, "moves": [{"authorKind": "AGENT", "reason": "It is WRONG"}]}, "userErrors": []});
        let expected = json!({"outcome": "approval_noted", "operation_id": "x", "proposal": {"content_hash": "AB",
            "state": "pending", "moves": [{"author_kind": "agent", "reason": "It is WRONG"}]}});
        assert_eq!(plain(answer), expected);
    }

    #[test]
    fn an_error_has_the_field_of_the_facade_in_its_message_too() {
        let field =
            json!({"userErrors": [{"code": "CONFLICT", "field": "contentHash", "message": "contentHash: changed"}]});
        let error = refusal(&json!({}), &field).expect("an error");
        assert_eq!((error.code, &*error.message), (ErrorCode::Conflict, "content_hash: changed"));
        assert_eq!(error.field.as_deref(), Some("content_hash"));
        assert!(refusal(&json!({"data": {}}), &json!({"userErrors": []})).is_none());
    }
}
