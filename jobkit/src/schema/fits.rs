//! Whether payloads that one schema describes can be read by another.

use serde_json::{Map, Value};

use super::shape::REMARKS;

/// Why payloads that fit `kept` may not be read by `now`; empty if all of them are.
pub(super) fn problems(kept: &Value, now: &Value) -> Vec<String> {
    let mut comparison = Comparison { kept, now, open: Vec::new(), found: Vec::new() };
    comparison.compare("$", kept, now);
    comparison.found
}

/// The words that [`Comparison`] understands.
const KNOWN: [&str; 17] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "type",
];

struct Comparison<'a> {
    kept: &'a Value,
    now: &'a Value,
    /// Pairs that are being compared: a type may contain itself.
    open: Vec<(&'a Value, &'a Value)>,
    found: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn compare(&mut self, path: &str, kept: &'a Value, now: &'a Value) {
        let (kept, now) = (resolve(self.kept, kept), resolve(self.now, now));
        let is_open =
            |pair: &(&Value, &Value)| std::ptr::eq(pair.0, kept) && std::ptr::eq(pair.1, now);
        if now == &Value::Bool(true) || self.open.iter().any(is_open) {
            return;
        }
        self.open.push((kept, now));
        match (variants(kept), variants(now)) {
            (Some(variants), _) => variants.iter().for_each(|one| self.compare(path, one, now)),
            (None, Some(variants)) => self.compare_any(path, kept, variants),
            (None, None) => self.compare_plain(path, words(kept), words(now)),
        }
        self.open.pop();
    }

    /// One matching variant is enough; otherwise reports the smallest set of problems.
    fn compare_any(&mut self, path: &str, kept: &'a Value, variants: &'a [Value]) {
        let before = self.found.len();
        let mut fewest: Option<Vec<String>> = None;
        for variant in variants {
            self.compare(path, kept, variant);
            let problems = self.found.split_off(before);
            if fewest.as_ref().is_none_or(|fewest| problems.len() < fewest.len()) {
                fewest = Some(problems);
            }
        }
        match fewest {
            Some(problems) if problems.is_empty() => {}
            _ => self.report(path, &format!("no variant accepts {} any more", name(kept))),
        }
    }

    fn compare_plain(
        &mut self,
        path: &str,
        kept: Option<&'a Map<String, Value>>,
        now: Option<&'a Map<String, Value>>,
    ) {
        let (Some(kept), Some(now)) = (kept, now) else {
            // `now` is not `true`: one is `false`, or what was anything has to be something.
            return self.report(path, "it could be any value, and no longer can");
        };
        self.compare_values(path, kept, now);
        self.compare_bounds(path, kept, now);
        self.compare_fields(path, kept, now);
        self.compare_items(path, kept, now);
        for (word, value) in now {
            let is_known = KNOWN.contains(&word.as_str()) || REMARKS.contains(&word.as_str());
            if !is_known && kept.get(word) != Some(value) {
                self.report(path, &format!("it must now meet `{word}`: {value}"));
            }
        }
    }

    fn compare_values(&mut self, path: &str, kept: &Map<String, Value>, now: &Map<String, Value>) {
        if let Some(read) = values(now) {
            let Some(stored) = values(kept) else {
                return self.report(path, "it may now only be one of a few values");
            };
            for value in stored.iter().filter(|value| !read.contains(value)) {
                self.report(path, &format!("{value} is no longer accepted"));
            }
        }
        let Some(read) = types(now) else { return };
        let Some(stored) = types(kept)
            .or_else(|| values(kept).map(|all| all.iter().map(|one| type_of(one)).collect()))
        else {
            return self
                .report(path, &format!("it was of any type, and is now {}", read.join(" or ")));
        };
        let is_read =
            |one: &&str| read.contains(one) || *one == "integer" && read.contains(&"number");
        if !stored.iter().all(is_read) {
            self.report(
                path,
                &format!("it was {}, and is now {}", stored.join(" or "), read.join(" or ")),
            );
        }
    }

    fn compare_bounds(&mut self, path: &str, kept: &Map<String, Value>, now: &Map<String, Value>) {
        for (word, is_lower) in
            [("minimum", true), ("minItems", true), ("maximum", false), ("maxItems", false)]
        {
            let Some(read) = now.get(word).and_then(Value::as_f64) else { continue };
            let stored = kept.get(word).and_then(Value::as_f64);
            if !stored.is_some_and(|stored| if is_lower { stored >= read } else { stored <= read })
            {
                let was = stored.map_or("none".to_owned(), |stored| stored.to_string());
                self.report(path, &format!("its `{word}` is now {read}, and was {was}"));
            }
        }
        let (stored, read) = (text(kept, "format"), text(now, "format"));
        if read.is_some_and(|read| !holds(read, stored, kept)) {
            let was = stored.map_or("none".to_owned(), |stored| format!("`{stored}`"));
            self.report(
                path,
                &format!("its format is now `{}`, and was {was}", read.unwrap_or_default()),
            );
        }
    }

    fn compare_fields(
        &mut self,
        path: &str,
        kept: &'a Map<String, Value>,
        now: &'a Map<String, Value>,
    ) {
        for name in names(now).filter(|name| !names(kept).any(|other| other == *name)) {
            self.report(
                &format!("{path}.{name}"),
                "it is now required: give it `#[serde(default)]`",
            );
        }
        let rest = now.get("additionalProperties");
        let read = now.get("properties");
        for (name, stored) in
            kept.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let path = format!("{path}.{name}");
            match read.and_then(|read| read.get(name)).or(rest) {
                Some(Value::Bool(false)) => {
                    self.report(&path, "it was removed, and unknown fields are denied");
                }
                Some(read) => self.compare(&path, stored, read),
                None => {}
            }
        }
        match (kept.get("additionalProperties"), rest) {
            (Some(stored), Some(read)) if stored != &Value::Bool(false) => {
                self.compare(&format!("{path}.*"), stored, read);
            }
            _ => {}
        }
    }

    fn compare_items(
        &mut self,
        path: &str,
        kept: &'a Map<String, Value>,
        now: &'a Map<String, Value>,
    ) {
        let first =
            |words: &'a Map<String, Value>| words.get("prefixItems").and_then(Value::as_array);
        let (stored, read) = (first(kept), first(now));
        let longest = [stored, read].into_iter().flatten().map(Vec::len).max().unwrap_or(0);
        let at = |first: Option<&'a Vec<Value>>, words: &'a Map<String, Value>, i: usize| {
            first.and_then(|first| first.get(i)).or_else(|| words.get("items"))
        };
        for i in 0..=longest {
            // The last one stands for all items after those with their own schema.
            let path = if i < longest { format!("{path}[{i}]") } else { format!("{path}[]") };
            match (at(stored, kept, i), at(read, now, i)) {
                (Some(stored), Some(read)) => self.compare(&path, stored, read),
                (None, Some(read)) if may_have(kept, i) && read != &Value::Bool(true) => {
                    self.report(&path, "it could be any value, and no longer can");
                }
                _ => {}
            }
        }
    }

    fn report(&mut self, path: &str, what: &str) {
        self.found.push(format!("{path}: {what}"));
    }
}

/// What a reference names, in its own document.
fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    // A chain of references is no longer than the definitions; a circular one has no end.
    for _ in 0..100 {
        let Some(target) = schema.get("$ref").and_then(Value::as_str) else { return schema };
        match target.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            Some(found) => schema = found,
            None => return schema,
        }
    }
    schema
}

fn variants(schema: &Value) -> Option<&[Value]> {
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf"))?;
    variants.as_array().map(Vec::as_slice)
}

/// `true` is the schema of everything, as is an empty one.
fn words(schema: &Value) -> Option<&Map<String, Value>> {
    schema.as_object()
}

fn text<'a>(words: &'a Map<String, Value>, word: &str) -> Option<&'a str> {
    words.get(word).and_then(Value::as_str)
}

fn names(words: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = words.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// The values it may have, if they are enumerated.
fn values(words: &Map<String, Value>) -> Option<Vec<&Value>> {
    if let Some(one) = words.get("const") {
        return Some(vec![one]);
    }
    Some(words.get("enum")?.as_array()?.iter().collect())
}

fn types(words: &Map<String, Value>) -> Option<Vec<&str>> {
    match words.get("type")? {
        Value::Array(all) => Some(all.iter().filter_map(Value::as_str).collect()),
        one => Some(vec![one.as_str()?]),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether an array of this schema may have an item at this place.
fn may_have(words: &Map<String, Value>, place: usize) -> bool {
    let is_array = types(words).is_none_or(|types| types.contains(&"array"));
    let most = words.get("maxItems").and_then(Value::as_u64);
    is_array && most.is_none_or(|most| (place as u64) < most)
}

/// Whether values of one format also have the other. A wider integer holds a narrower one.
fn holds(read: &str, stored: Option<&str>, kept: &Map<String, Value>) -> bool {
    let Some(stored) = stored else {
        // "double" and "float" hold every number, if inexactly.
        return ["double", "float"].contains(&read) || values(kept).is_some();
    };
    match (bits(read), bits(stored)) {
        (Some((read_sign, read)), Some((sign, stored))) => match (read_sign, sign) {
            (true, false) => read > stored,
            (false, true) => false,
            _ => read >= stored,
        },
        (None, Some(_)) => ["double", "float"].contains(&read),
        _ => read == stored || [read, stored] == ["double", "float"],
    }
}

/// Whether it is signed, and its width. `isize` and `usize` count as 64 bits.
fn bits(format: &str) -> Option<(bool, u32)> {
    let (sign, width) = match format.strip_prefix("uint") {
        Some(width) => (false, width),
        None => (true, format.strip_prefix("int")?),
    };
    if width.is_empty() { Some((sign, 64)) } else { width.parse().ok().map(|width| (sign, width)) }
}

/// The name of a variant, for a message.
fn name(schema: &Value) -> String {
    if let Some(words) = words(schema) {
        if let Some(values) = values(words) {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            return values.join(" or ");
        }
        let tag = words.get("properties").and_then(Value::as_object);
        let tag = tag.into_iter().flatten().find_map(|(_, field)| field.get("const"));
        if let Some(tag) = tag {
            return tag.to_string();
        }
        if let Some(only) = names(words).next() {
            return format!("what has `{only}`");
        }
        if let Some(types) = types(words) {
            return types.join(" or ");
        }
    }
    "it".to_owned()
}
