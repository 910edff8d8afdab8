//! The result of a job, as its history keeps it.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{self, RESULT_BYTES};
use crate::{JobError, exact};

/// A handler's future, boxed once.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = crate::Result<Returned>> + Send>>;

/// What a handler returned with `Ok`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Returned {
    /// `()`: nothing is kept.
    Nothing,
    /// Its JSON.
    Value(String),
    /// Why it is not kept. The job has done its work, so it succeeds nevertheless.
    Unfit(String),
}

impl Returned {
    pub(crate) fn of<T: Serialize + DeserializeOwned + 'static>(value: &T) -> Self {
        if TypeId::of::<T>() == TypeId::of::<()>() {
            return Self::Nothing;
        }
        json(value).map_or_else(Self::Unfit, Self::Value)
    }
}

/// The JSON of a result, or why it is not kept.
fn json<T: Serialize + DeserializeOwned>(value: &T) -> Result<String, String> {
    let unfit = |why: &dyn std::fmt::Display| format!("the result is not kept: {why}");
    let written = catch_unwind(AssertUnwindSafe(|| serde_json::to_string(value)));
    let written = written.map_err(|panic| unfit(&JobError::panicked(panic)))?;
    let json = written.map_err(|error| unfit(&error))?;
    let bytes = json.len();
    if bytes > RESULT_BYTES {
        return Err(unfit(&format_args!("{bytes} bytes of JSON, the limit is {RESULT_BYTES}")));
    }
    limits::json("result", "nesting of the result", &json).map_err(|error| unfit(&error))?;
    if limits::escapes_surrogate(&json) {
        serde_json::from_str::<serde_json::Value>(&json).map_err(|error| unfit(&error))?;
    }
    let same = || exact::compare(value, &serde_json::from_str(&json)?);
    let read = catch_unwind(AssertUnwindSafe(same));
    let read = read.map_err(|panic| unfit(&JobError::panicked(panic)))?;
    read.map_err(|error| unfit(&error))?;
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit<T: Serialize + DeserializeOwned + 'static>(value: &T) -> String {
        match Returned::of(value) {
            Returned::Unfit(why) => why,
            kept => panic!("kept: {kept:?}"),
        }
    }

    #[test]
    fn what_fits_is_kept_as_json_and_nothing_of_nothing() {
        assert_eq!(Returned::of(&()), Returned::Nothing);
        let json = r#"["a",1]"#.to_owned();
        assert_eq!(Returned::of(&("a".to_owned(), 1)), Returned::Value(json));
        assert!(matches!(Returned::of(&"x".repeat(RESULT_BYTES - 2)), Returned::Value(_)));
    }

    /// It would run again, although it has done its work.
    #[test]
    fn what_panics_as_it_is_written_is_unfit_and_no_failure() {
        #[derive(serde::Deserialize)]
        struct Broken;
        impl Serialize for Broken {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                panic!("no words for it")
            }
        }
        assert_eq!(unfit(&Broken), "the result is not kept: panicked: no words for it");
    }

    #[test]
    fn what_the_history_cannot_hold_says_why() {
        let large = unfit(&"x".repeat(RESULT_BYTES - 1));
        assert_eq!(large, "the result is not kept: 65537 bytes of JSON, the limit is 65536");
        assert!(unfit(&f64::NAN).starts_with("the result is not kept: invalid type: null"));
        let lost = "the result is not kept: the value at `.` is read back as something else";
        assert_eq!(unfit(&Some(f64::NAN)), lost);
        assert!(unfit(&"a\0b".to_owned()).starts_with("the result is not kept: "));
        let keyed = std::collections::HashMap::from([((1, 2), 3)]);
        assert!(unfit(&keyed).contains("key must be a string"), "{}", unfit(&keyed));
    }
}
