use std::any::{TypeId, type_name};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::context::Attempt;
use crate::redact::HIDDEN;
use crate::states::States;
use crate::{Job, JobContext, Policy, Result};

/// A handler's future, boxed once.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result> + Send>>;

/// One job type as workers know it: its policy, the state it needs and how to run it.
///
/// `#[job]` submits one for each struct, so you meet it only when you list jobs by hand with
/// [`Worker::jobs`](crate::Worker::jobs).
#[derive(Clone, Copy)]
pub struct Registration {
    policy: Policy,
    job: fn() -> (TypeId, &'static str),
    state: fn() -> (TypeId, &'static str),
    start: Start,
    key: Key,
}

/// Decodes a payload and makes the handler's future.
type Start = fn(&[u8], Arc<Attempt>, &States) -> Result<Running, String>;

/// Decodes a payload and computes its concurrency key.
type Key = fn(&[u8]) -> Result<Option<String>, String>;

inventory::collect!(Registration);

impl Registration {
    /// The registration of `J`; `S` is inferred: `Registration::of::<SendReceipt, _>()`.
    #[must_use]
    pub const fn of<J: Job<S>, S: Send + Sync + 'static>() -> Self {
        Self {
            policy: J::POLICY,
            job: || (TypeId::of::<J>(), type_name::<J>()),
            state: || (TypeId::of::<S>(), type_name::<S>()),
            start: start::<J, S>,
            key: |payload| Ok(decode::<J>(payload, J::POLICY.redact)?.concurrency_key()),
        }
    }

    /// The policy the job type declares.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The Rust path of the job type, for messages.
    pub(crate) fn job_name(&self) -> &'static str {
        (self.job)().1
    }

    pub(crate) fn job_id(&self) -> TypeId {
        (self.job)().0
    }

    /// Id and Rust path of the state type the job needs.
    pub(crate) fn state(&self) -> (TypeId, &'static str) {
        (self.state)()
    }

    /// Decodes the payload and makes the handler's future; `Err` says, with the path inside the
    /// payload, why it does not decode.
    pub(crate) fn start(
        &self,
        payload: &[u8],
        attempt: Arc<Attempt>,
        states: &States,
    ) -> Result<Running, String> {
        (self.start)(payload, attempt, states)
    }

    /// The concurrency key of the job with this payload; `Err` as for [`start`](Self::start).
    pub(crate) fn key_of(&self, payload: &[u8]) -> Result<Option<String>, String> {
        (self.key)(payload)
    }
}

fn start<J: Job<S>, S: Send + Sync + 'static>(
    payload: &[u8],
    attempt: Arc<Attempt>,
    states: &States,
) -> Result<Running, String> {
    let job = decode::<J>(payload, J::POLICY.redact)?;
    let state = states.get::<S>().expect("the start-up check found every state");
    Ok(Box::pin(job.run(JobContext::new(attempt, state))))
}

fn decode<J: DeserializeOwned>(payload: &[u8], redact: &[&str]) -> Result<J, String> {
    let mut json = serde_json::Deserializer::from_slice(payload);
    // Tracking the path costs more than the decoding itself: only once there is an error to place.
    J::deserialize(&mut json).or_else(|_| decode_by_path(payload, redact))
}

/// What serde says of a value may quote it: where something is redacted, only what cannot.
fn decode_by_path<J: DeserializeOwned>(payload: &[u8], redact: &[&str]) -> Result<J, String> {
    let mut json = serde_json::Deserializer::from_slice(payload);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let message = error.inner().to_string();
        let quotes = !message.starts_with("missing field") && !redact.is_empty();
        let (line, column) = (error.inner().line(), error.inner().column());
        let message = if quotes {
            format!("{HIDDEN} at line {line} column {column} (its kind redacts fields)")
        } else {
            message
        };
        format!("the payload does not decode at `{}`: {message}", error.path())
    })
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("job", &self.job_name())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
