//! JSON schemas that every client understands, from the types of the façade.
//!
//! Clients and models differ in what they make of `$ref`, `anyOf`, type lists, `null` and number formats, so there are none:
//! one root object, sub-objects in place, optional is what `required` does not name. [`simplify`] is the one place that
//! does it; it knows the shapes schemars gives and nothing of the tools.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// Schema of a request; exactly the fields in `required` are required, as the façade takes the others' defaults.
pub fn input<T: JsonSchema>(required: &[&str]) -> Map<String, Value> {
    let mut schema = flat::<T>(SchemaSettings::draft2020_12().for_deserialize());
    schema.remove("required");
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// Schema of a reply; required is what is always there.
pub fn output<T: JsonSchema>() -> Map<String, Value> {
    flat::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn flat<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let generator = settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    match schema {
        Value::Object(mut fields) => {
            // The tool's own description says it better.
            fields.remove("description");
            fields
        }
        // `true`, the schema of anything; no request or reply is one.
        _ => Map::new(),
    }
}

/// Rewrites one schema and those within it.
fn simplify(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for word in ["$schema", "$defs", "title", "format"] {
        fields.remove(word);
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(Value::Array(choices)) = fields.remove(word) {
            choose(fields, choices);
        }
    }
    if let Some(Value::Array(types)) = fields.get("type") {
        let chosen = types.iter().find(|name| *name != "null").cloned();
        fields.insert("type".to_owned(), chosen.unwrap_or_default());
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // An empty default says no more than that the field is optional.
    if fields.get("default").is_some_and(is_empty) {
        fields.remove("default");
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if fields.get("type").is_some_and(|name| name == "object") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(items) = fields.get_mut("items") {
        simplify(items);
    }
}

/// An optional value is the value; a list of named values is an enum. Words beside the choice, such as the description of
/// the field, come before those of the chosen type.
fn choose(fields: &mut Map<String, Value>, choices: Vec<Value>) {
    let choices: Vec<Value> = choices.into_iter().filter(|choice| choice["type"] != "null").collect();
    let names: Option<Vec<Value>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    match names {
        Some(names) => {
            fields.insert("type".to_owned(), "string".into());
            fields.insert("enum".to_owned(), names.into());
        }
        None => {
            for (word, value) in choices.into_iter().take(1).filter_map(|choice| choice.as_object().cloned()).flatten()
            {
                fields.entry(word).or_insert(value);
            }
            // What was taken over may itself be a list of types or a choice.
            let mut again = Value::Object(std::mem::take(fields));
            simplify(&mut again);
            if let Value::Object(done) = again {
                *fields = done;
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(Value::is_null),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Pace {
        /// Takes its time.
        Slow,
        /// Does not.
        Fast,
    }

    #[derive(Default, Deserialize, Serialize, JsonSchema)]
    #[serde(default)]
    struct Inner {
        /// Where.
        title: Option<String>,
        count: Option<u32>,
    }

    #[derive(Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        /// What.
        text: String,
        weight: Option<f64>,
        #[schemars(extend("enum" = ["a", "b"]))]
        letter: Option<String>,
        many: Vec<String>,
        /// The inner one.
        inner: Option<Inner>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pace: Option<Pace>,
        quiet: bool,
    }

    #[test]
    fn a_request_becomes_one_flat_object() {
        let expected = json!({
            "type": "object",
            "properties": {
                "text": {"description": "What.", "type": "string"},
                "weight": {"type": "number"},
                "letter": {"type": "string", "enum": ["a", "b"]},
                "many": {"type": "array", "items": {"type": "string"}},
                "inner": {
                    "description": "The inner one.",
                    "type": "object",
                    "properties": {"title": {"description": "Where.", "type": "string"}, "count": {"type": "integer", "minimum": 0}},
                    "additionalProperties": false
                },
                "pace": {"type": "string", "enum": ["slow", "fast"]},
                "quiet": {"type": "boolean", "default": false}
            },
            "additionalProperties": false,
            "required": ["text"]
        });
        assert_eq!(Value::Object(input::<Outer>(&["text"])), expected);
    }

    #[test]
    fn of_a_reply_everything_is_required_that_is_never_left_out() {
        let schema = output::<Outer>();
        assert_eq!(schema["required"], json!(["text", "weight", "letter", "many", "inner", "quiet"]));
    }
}
