use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::limits::{NAME_BYTES, PAYLOAD_BYTES};

/// The part of metadata that is jobkit's, and what is carried in it.
const PART: [&str; 2] = ["jobkit", "carried"];
/// The most that is carried, names and values.
const LARGEST: usize = 8 * 1024;

/// Named texts that a job carries from its enqueue to its handler, such as the context of a trace.
/// They are stored in its metadata, under `jobkit.carried`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Carried(BTreeMap<String, String>);

impl Carried {
    /// Carries a text. Names longer than 128 bytes, texts with a NUL, and whatever exceeds 8 KiB in
    /// all are left out, so an enqueue never fails because of it.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        let fits = name.len() <= NAME_BYTES && !name.contains('\0') && !value.contains('\0');
        let others = self.0.iter().filter(|(other, _)| **other != name);
        let bytes: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        if fits && bytes + name.len() + value.len() <= LARGEST {
            self.0.insert(name, value);
        } else {
            tracing::debug!(name, bytes = value.len(), "jobkit: it is too large to be carried");
        }
    }

    /// The text of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Says it in metadata; false where that has no room for it, since it is no object.
    fn within(&self, metadata: &mut Option<Value>) -> bool {
        let metadata = metadata.get_or_insert_with(|| Value::Object(Map::new()));
        let Some(metadata) = metadata.as_object_mut() else { return false };
        let part = metadata.entry(PART[0]).or_insert_with(|| Value::Object(Map::new()));
        let Some(part) = part.as_object_mut() else { return false };
        let texts = self.iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
        part.insert(PART[1].to_owned(), texts.collect());
        true
    }
}

/// A function was set already: there is one for the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is already installed; a process can have only one")]
pub struct AlreadySet;

type Fill = Box<dyn Fn(&mut Carried) + Send + Sync>;

static FILL: OnceLock<Fill> = OnceLock::new();

/// From now on, asks `fill` what jobs enqueued by this process carry: one or many, by type or by
/// the name of the kind, through sqlx or another driver. Their handlers and [layers](crate::around)
/// find it in [`JobContext::carried`](crate::JobContext::carried).
///
/// It is called once for each call that enqueues, within that call, so it should be quick; if it
/// panics, nothing is carried. Schedules carry nothing, whoever declares them; a replay carries
/// what the original job did. Jobs whose metadata is not an object carry nothing, since they have
/// no room for it.
///
/// ```
/// # tokio::task_local! { static REQUEST: String; }
/// jobkit::hooks::propagate(|carried| {
///     if let Ok(id) = REQUEST.try_with(String::clone) {
///         carried.set("request", id);
///     }
/// })?;
/// # Ok::<(), jobkit::hooks::AlreadySet>(())
/// ```
///
/// # Errors
/// [`AlreadySet`]: there is one for each process.
pub fn propagate(fill: impl Fn(&mut Carried) + Send + Sync + 'static) -> Result<(), AlreadySet> {
    FILL.set(Box::new(fill)).map_err(|_| AlreadySet)
}

/// What jobs carry that are enqueued here and now; `None` is nothing.
fn carried() -> Option<Carried> {
    let fill = FILL.get()?;
    let mut carried = Carried::default();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| fill(&mut carried))) {
        // Its drop may panic in its turn.
        std::mem::forget(panic);
        tracing::error!("jobkit: what jobs are to carry panicked; they carry nothing");
        return None;
    }
    Some(carried).filter(|carried| !carried.0.is_empty())
}

/// Has jobs carry what they are to, each by its payload's size and its metadata.
pub(crate) fn carry<'a>(jobs: impl IntoIterator<Item = (usize, &'a mut Option<Box<RawValue>>)>) {
    let Some(carried) = carried() else { return };
    for (payload, metadata) in jobs {
        let said = metadata.as_deref().map(|text| serde_json::from_str(text.get()));
        let Ok(mut said) = said.transpose() else { continue };
        let fits = |text: &RawValue| payload + text.get().len() <= PAYLOAD_BYTES;
        if carried.within(&mut said)
            && let Some(text) = to_raw_value(&said).ok().filter(|text| fits(text))
        {
            *metadata = Some(text);
        }
    }
}

/// The same for one whose metadata is not text yet.
pub(crate) fn carry_value(payload: impl FnOnce() -> usize, metadata: &mut Option<Value>) {
    let Some(carried) = carried() else { return };
    let mut said = metadata.clone();
    let fits = |said: &Value| payload() + said.to_string().len() <= PAYLOAD_BYTES;
    if carried.within(&mut said) && said.as_ref().is_some_and(fits) {
        *metadata = said;
    }
}

/// What metadata says is carried. Whoever wrote it, what is not understood is nothing.
pub(crate) fn of_metadata(metadata: &RawValue) -> Carried {
    #[derive(Deserialize)]
    struct Metadata {
        jobkit: Part,
    }
    #[derive(Deserialize)]
    struct Part {
        carried: Carried,
    }
    let said = metadata.get().contains(PART[1]);
    let metadata = said.then(|| serde_json::from_str::<Metadata>(metadata.get()).ok());
    metadata.flatten().map(|metadata| metadata.jobkit.carried).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Carried {
        Carried(BTreeMap::from([("a".to_owned(), "1".to_owned())]))
    }

    fn within(metadata: Value) -> Option<Value> {
        let mut said = Some(metadata);
        some().within(&mut said).then_some(said).flatten()
    }

    #[test]
    fn what_is_carried_is_read_again_beside_what_was_there() {
        let metadata = serde_json::json!({ "who": "ada", "jobkit": { "expires": 9.0 } });
        let said = within(metadata).expect("an object has room");
        let text = r#"{"jobkit":{"carried":{"a":"1"},"expires":9.0},"who":"ada"}"#;
        assert_eq!(said.to_string(), text);
        assert_eq!(of_metadata(&to_raw_value(&said).expect("it is JSON")), some());
        let mut none = None;
        assert!(some().within(&mut none));
        assert_eq!(none.map(|said| said.to_string()), Some(text[..30].to_owned() + "}}"));
    }

    #[test]
    fn what_has_no_room_stays_as_it_is() {
        for metadata in [serde_json::json!([1]), serde_json::json!({ "jobkit": 1 })] {
            assert_eq!(within(metadata), None);
        }
        for text in ["[]", r#"{"jobkit":{"carried":1}}"#, r#"{"carried":{"a":"1"}}"#] {
            let metadata = RawValue::from_string(text.to_owned()).expect("it is JSON");
            assert_eq!(of_metadata(&metadata), Carried::default(), "{text}");
        }
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        let mut carried = some();
        carried.set("b", "x".repeat(LARGEST - 2));
        carried.set("n".repeat(129), "1");
        carried.set("c", "a\0b");
        assert_eq!(carried, some());
        carried.set("a", "x".repeat(LARGEST - 1));
        assert_eq!(carried.get("a").map(str::len), Some(LARGEST - 1));
        assert_eq!(carried.iter().count(), 1);
    }
}
