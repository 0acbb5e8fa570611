//! Puts right what models commonly get wrong about the form of arguments, and never what they mean.
//!
//! Driven by the flat schema of the tool alone. What cannot be put right stays as it came, so that the strict reader behind
//! names the field. To forgive one more mistake: an arm in [`repair`] and a line in its test.

use serde_json::{Map, Number, Value};

/// The arguments as the schema wants them: an explicit null is absent; a list or an object may come as JSON text, a single
/// value for a list of one, a number or a truth value as text, an integer with a zero fraction.
pub fn repair(schema: &Map<String, Value>, value: Value) -> Value {
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("object"), Value::Object(fields)) => Value::Object(repair_fields(schema, fields)),
        (Some("object"), Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => Value::Object(repair_fields(schema, fields)),
            _ => Value::String(text),
        },
        (Some("array"), value) => repair_list(schema, value),
        (Some("number" | "integer"), Value::String(text)) => match text.trim().parse::<Number>() {
            Ok(number) => whole(schema, number),
            Err(_) => Value::String(text),
        },
        (Some("integer"), Value::Number(number)) => whole(schema, number),
        (Some("boolean"), Value::String(text)) => match text.trim() {
            "true" => true.into(),
            "false" => false.into(),
            _ => Value::String(text),
        },
        (_, value) => value,
    }
}

fn repair_fields(schema: &Map<String, Value>, fields: Map<String, Value>) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    fields
        .into_iter()
        .filter_map(|(name, value)| match properties.and_then(|all| all.get(&name)).and_then(Value::as_object) {
            Some(_) if value.is_null() => None,
            Some(property) => Some((name, repair(property, value))),
            None => Some((name, value)),
        })
        .collect()
}

fn repair_list(schema: &Map<String, Value>, value: Value) -> Value {
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            _ => vec![Value::String(text)],
        },
        Value::Null => return Value::Null,
        single => vec![single],
    };
    match schema.get("items").and_then(Value::as_object) {
        Some(item) => items.into_iter().map(|value| repair(item, value)).collect(),
        None => items.into(),
    }
}

/// `5.0` as `5` where the schema wants an integer.
fn whole(schema: &Map<String, Value>, number: Number) -> Value {
    // Every integer up to 2^53 is one float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let integer = schema.get("type").is_some_and(|name| name == "integer");
    match number.as_f64() {
        Some(float) if integer && !number.is_i64() && float.fract() == 0.0 && float.abs() <= EXACT => {
            (float as i64).into()
        }
        _ => number.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn form_is_forgiven_and_meaning_is_kept() {
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string"},
            "limit": {"type": "integer"},
            "share": {"type": "number"},
            "flag": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "event": {"type": "object", "properties": {"actor": {"type": "string"}}}
        }});
        let schema = schema.as_object().expect("an object");
        for (given, expected) in [
            (json!({"text": null, "tags": null, "event": null}), json!({})),
            (json!({"nobody": null}), json!({"nobody": null})),
            (json!({"tags": "[\"a\", \"b\"]"}), json!({"tags": ["a", "b"]})),
            (json!({"tags": "a, b"}), json!({"tags": ["a, b"]})),
            (json!({"tags": "[draft]"}), json!({"tags": ["[draft]"]})),
            (json!({"tags": ""}), json!({"tags": []})),
            (json!({"tags": 7}), json!({"tags": [7]})),
            (json!({"event": "{\"actor\": \"ann\"}"}), json!({"event": {"actor": "ann"}})),
            (json!({"event": {"actor": null}}), json!({"event": {}})),
            (json!({"event": "a party"}), json!({"event": "a party"})),
            (json!({"limit": "5", "share": "0.5", "flag": "true"}), json!({"limit": 5, "share": 0.5, "flag": true})),
            (json!({"limit": 5.0}), json!({"limit": 5})),
            (json!({"limit": 5.5}), json!({"limit": 5.5})),
            (json!({"limit": 1e300}), json!({"limit": 1e300})),
            (json!({"share": "NaN", "limit": "many"}), json!({"share": "NaN", "limit": "many"})),
            (json!({"text": "{\"a\": 1}"}), json!({"text": "{\"a\": 1}"})),
            (json!({"text": "7"}), json!({"text": "7"})),
            (json!({"text": 7}), json!({"text": 7})),
        ] {
            assert_eq!(repair(schema, given.clone()), expected, "{given}");
        }
    }
}
