use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES;

/// The maximum size of names and values together.
const LARGEST: usize = 8 * 1024;

/// Named texts that a job carries from its enqueue to its handler, such as the context of a trace.
/// They are stored with its metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Carrier(BTreeMap<String, String>);

impl Carrier {
    /// Carries a text. Names longer than 128 bytes, texts with a NUL, and whatever exceeds 8 KiB in
    /// total are left out, so an enqueue never fails because of it.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        let fits = name.len() <= NAME_BYTES && !name.contains('\0') && !value.contains('\0');
        let others = self.0.iter().filter(|(other, _)| **other != name);
        let bytes: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        if fits && bytes + name.len() + value.len() <= LARGEST {
            self.0.insert(name, value);
        } else {
            tracing::debug!(
                name,
                bytes = value.len(),
                "jobkit: a value is too large to be \
                                                        carried"
            );
        }
    }

    /// The text of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value)
    }

    /// All names and texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The function is already set: a process has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is already set; a process can have only one")]
pub struct AlreadySet;

type Fill = Box<dyn Fn(&mut Carrier) + Send + Sync>;

static FILL: OnceLock<Fill> = OnceLock::new();

/// From now on, calls `fill` to set what jobs enqueued by this process carry, whether one or many,
/// by type or by the name of the kind, through sqlx or another driver. Handlers and
/// [layers](crate::around) find it in [`JobContext::carried`](crate::JobContext::carried).
///
/// It is called once for each call that enqueues, within that call, so it should be quick; if it
/// panics, nothing is carried. Jobs of schedules carry nothing; a replay carries what the original
/// job did.
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
/// [`AlreadySet`] if this process has already called it.
pub fn propagate(fill: impl Fn(&mut Carrier) + Send + Sync + 'static) -> Result<(), AlreadySet> {
    FILL.set(Box::new(fill)).map_err(|_| AlreadySet)
}

/// What jobs that are enqueued now carry; `None` if nothing.
pub(crate) fn carried() -> Option<Carrier> {
    let fill = FILL.get()?;
    let mut carried = Carrier::default();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| fill(&mut carried))) {
        // Dropping it may panic as well.
        std::mem::forget(panic);
        tracing::error!(
            "jobkit: the function given to `propagate` panicked; the jobs carry \
                         nothing"
        );
        return None;
    }
    Some(carried).filter(|carried| !carried.0.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Carrier {
        Carrier(BTreeMap::from([("a".to_owned(), "1".to_owned())]))
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
