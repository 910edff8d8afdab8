//! The parts of a schema that decide which payloads it accepts.

use serde_json::Value;

/// Keywords of JSON Schema that do not matter for that.
pub(super) const REMARKS: [&str; 9] = [
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// The schema without its remarks, in one order.
pub(super) fn of(schema: &Value) -> Value {
    let Value::Object(words) = schema else { return schema.clone() };
    let words = words.iter().filter(|(word, _)| !REMARKS.contains(&word.as_str()));
    words.map(|(word, value)| (word.clone(), within(word, value))).collect()
}

fn within(word: &str, value: &Value) -> Value {
    match (word, value) {
        // The keys here are names, which may be the same as a remark's.
        ("properties" | "$defs", Value::Object(named)) => {
            named.iter().map(|(name, schema)| (name.clone(), of(schema))).collect()
        }
        ("required", Value::Array(names)) => {
            let mut names = names.clone();
            names.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            names.into()
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
            schemas.iter().map(of).collect()
        }
        ("items" | "additionalProperties", schema) => of(schema),
        _ => value.clone(),
    }
}
