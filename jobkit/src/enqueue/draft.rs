//! From a job to what is stored of it.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Serialize, de};
use serde_json::value::RawValue;
use tracing::Instrument;

use crate::encryption::{self, Reading};
use crate::enqueue::Executor;
use crate::error::{EncryptError, EnqueueError, InvalidValue};
use crate::hooks::{Sent, sent};
use crate::job_type::JobType;
use crate::limits::{self, KEY_BYTES, LENGTHS, NAME_BYTES, PAYLOAD_BYTES};
use crate::policy::Policy;
use crate::redact::astray;
use crate::store::{NewJob, UniqueKey};
use crate::stored::Stored;
use crate::terms::Terms;
use crate::unique::{Enqueued, OnDuplicate, While};
use crate::{JobId, exact, meter, store};

/// Options of a unique key that override the type's policy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uniqueness {
    pub(crate) key: Option<String>,
    /// Whether that is the key of a job that coalesces.
    pub(crate) coalesces: bool,
    pub(crate) group: Option<String>,
    pub(crate) holds: Option<While>,
    pub(crate) at_least: Option<Duration>,
    pub(crate) on_duplicate: Option<OnDuplicate>,
}

/// The unique key of a job, or its coalesce key: its own, or that of its type.
pub(super) fn unique<J: JobType>(
    job: &J,
    given: Uniqueness,
) -> Result<Option<UniqueKey>, EnqueueError> {
    let policy = J::POLICY.unique;
    let coalesces =
        if given.key.is_some() { given.coalesces } else { J::POLICY.coalesce.is_some() };
    let [what, group] = key_names(coalesces);
    let own = if coalesces { JobType::coalesce_key } else { JobType::unique_key };
    let own = given.key.or_else(|| own(job));
    let Some(own) = key(what, own)? else { return Ok(None) };
    let declared = if coalesces { J::POLICY.coalesce } else { policy.map(|unique| unique.group) };
    let scope = given.group.unwrap_or_else(|| declared.unwrap_or(J::POLICY.kind).to_owned());
    limits::name(group, &scope, NAME_BYTES)?;
    if coalesces {
        let (holds, at_least, on_duplicate) = ("coalesce", None, None);
        return Ok(Some(UniqueKey { scope, key: own, holds, at_least, on_duplicate }));
    }
    let at_least = given.at_least.or(policy.and_then(|unique| unique.at_least));
    let seconds = at_least.map_or(1, |at_least| at_least.as_secs());
    limits::range("seconds that a unique key is held", seconds, LENGTHS, "1 to 31622400")?;
    let holds = given.holds.or(policy.map(|unique| unique.holds)).unwrap_or_default();
    let on_duplicate = given.on_duplicate.or(policy.map(|unique| unique.on_duplicate));
    Ok(Some(UniqueKey {
        scope,
        key: own,
        holds: holds.as_str(),
        at_least,
        on_duplicate: Some(on_duplicate.unwrap_or_default().as_str()),
    }))
}

/// The names of such a key and its group in errors.
pub(crate) fn key_names(coalesces: bool) -> [&'static str; 2] {
    match coalesces {
        true => ["coalesce key", "group of a coalesce key"],
        false => ["unique key", "group of a unique key"],
    }
}

/// The JSON of a job, or of what is published, with what its policy encrypts sealed, and of its
/// metadata.
pub(super) fn payload<T: Serialize + DeserializeOwned>(
    policy: &Policy,
    job: &T,
    metadata: Option<&serde_json::Value>,
) -> Result<(Box<RawValue>, Option<Box<RawValue>>), EnqueueError> {
    let kind = policy.kind;
    let encode = |source| EnqueueError::Encode { kind, source };
    let args = serde_json::value::to_raw_value(job).map_err(encode)?;
    let metadata = metadata.map(serde_json::value::to_raw_value).transpose().map_err(encode)?;
    let text = metadata.as_deref().map_or("", RawValue::get);
    let fits = |args: &RawValue| {
        let bytes = args.get().len() + text.len();
        let too_large = EnqueueError::PayloadTooLarge { kind, bytes, limit: PAYLOAD_BYTES };
        if bytes > PAYLOAD_BYTES { Err(too_large) } else { Ok(()) }
    };
    fits(&args)?;
    if limits::escapes_surrogate(args.get()) {
        serde_json::from_str::<serde_json::Value>(args.get()).map_err(encode)?;
    }
    limits::json("payload", "nesting of the payload", args.get())?;
    limits::json("metadata", "nesting of the metadata", text)?;
    arrives(policy, job, args.get()).map_err(encode)?;
    hidable(policy, args.get())?;
    let args = sealed(kind, policy.encrypt, args)?;
    fits(&args)?;
    Ok((args, metadata))
}

/// Every payload up to this size, in bytes, is read back. For a larger one that is not worth its
/// cost in a release build, unless it contains something that is known to change.
const READ_BACK: usize = 1024;

/// Whether it contains a null (JSON's form of NaN), or a number that may not fit in 64 bits, which
/// many tagged types cannot read.
fn may_change(json: &str) -> bool {
    json.contains("null")
        || json.as_bytes().split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() >= 19)
}

/// Checks that a worker will get the job as it is here.
fn arrives<T: Serialize + DeserializeOwned>(
    policy: &Policy,
    job: &T,
    json: &str,
) -> serde_json::Result<()> {
    if !cfg!(debug_assertions) && json.len() > READ_BACK && !may_change(json) {
        return Ok(());
    }
    let read: Result<T, _> = Stored::new(json.as_bytes(), policy.version, policy).decode();
    exact::compare(job, &read.map_err(de::Error::custom)?)
}

/// Checks that everything its kind redacts or encrypts is where the policy says.
fn hidable(policy: &Policy, json: &str) -> Result<(), EnqueueError> {
    if policy.redact.is_empty() {
        return Ok(());
    }
    match astray(json, policy.redact).into_iter().next() {
        Some(stray) => {
            let (kind, why) = (policy.kind, stray.to_string());
            Err(EnqueueError::Misplaced { kind, path: stray.path, why })
        }
        None => Ok(()),
    }
}

/// The JSON of a job with what its kind encrypts sealed.
fn sealed(
    kind: &'static str,
    encrypt: &[&str],
    args: Box<RawValue>,
) -> Result<Box<RawValue>, EnqueueError> {
    let sealed = encryption::sealed(kind, encrypt, args.get(), Reading::Job);
    match sealed.map_err(|why| EncryptError { kind: kind.to_owned(), why })? {
        Some(json) => {
            RawValue::from_string(json).map_err(|source| EnqueueError::Encode { kind, source })
        }
        None => Ok(args),
    }
}

/// A key that fits.
pub(crate) fn key(what: &'static str, key: Option<String>) -> Result<Option<String>, InvalidValue> {
    limits::text(what, key.as_deref().unwrap_or(""), KEY_BYTES)?;
    Ok(key)
}

pub(crate) async fn insert_one<'c, X: Executor<'c>>(
    mut draft: NewJob,
    executor: X,
) -> Result<Enqueued, EnqueueError> {
    Terms::carry([&mut draft.terms]);
    let (kind, queue) = (draft.kind, &draft.queue);
    let span = tracing::debug_span!("jobkit.enqueue", job.kind = kind, %queue, jobs = 1);
    if draft.unique.is_none() {
        let id = JobId(store::enqueue(draft, executor).instrument(span).await?);
        meter::enqueued(kind, 1);
        sent(|| Sent { kind: kind.into(), jobs: vec![id] });
        return Ok(Enqueued::New(id));
    }
    let answers = store::enqueue_unique(&[draft], executor).instrument(span).await?;
    let (id, answer) = answers.first().ok_or(sqlx::Error::RowNotFound)?;
    let enqueued = Enqueued::of(*id, answer);
    meter::enqueued(kind, 1);
    sent(|| Sent::of(kind.into(), &[enqueued]));
    Ok(enqueued)
}

#[cfg(test)]
mod tests {
    use super::may_change;

    #[test]
    fn what_may_change_is_read_back_whatever_its_size() {
        for (json, may) in [
            (r#"{"a": null}"#, true),
            (r#"{"a": 18446744073709551616}"#, true),
            (r#"{"a": -9223372036854775809}"#, true),
            (r#"{"a": 123456789012345678, "b": "x", "c": 1.5e300}"#, false),
        ] {
            assert_eq!(may_change(json), may, "{json}");
        }
    }
}
