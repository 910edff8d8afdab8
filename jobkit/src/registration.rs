use std::any::{TypeId, type_name};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chunk::{self, ChunkJob};
use crate::context::Attempt;
use crate::encryption;
use crate::enqueue::Draft;
use crate::job_type::JobType;
use crate::policy::Policy;
use crate::returned::{HandlerFuture, Returned};
use crate::states::States;
use crate::stored::Stored;
use crate::{Job, JobContext, Result};

/// A job type as workers know it: its policy, the state it needs and how to run it.
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
    scheduled: fn() -> Option<(&'static str, Draft)>,
    takes_text: fn() -> bool,
}

/// Decodes a payload and makes the handler's future.
type Start = fn(Stored<'_>, Arc<Attempt>, &States) -> Result<HandlerFuture, String>;

/// Decodes a payload and computes its concurrency key.
type Key = fn(Stored<'_>) -> Result<Option<String>, String>;

inventory::collect!(Registration);

impl Registration {
    /// The registration of `J`; `S` is inferred: `Registration::of::<SendReceipt, _>()`.
    #[must_use]
    pub const fn of<J: Job<S>, S: Send + Sync + 'static>() -> Self {
        Self::with::<J, S>(start::<J, S>)
    }

    /// Like [`of`](Self::of), for a job that runs in chunks.
    #[must_use]
    pub const fn of_chunk<J: ChunkJob<S>, S: Send + Sync + 'static>() -> Self {
        Self::with::<J, S>(chunk::start::<J, S>)
    }

    const fn with<J, S: Send + Sync + 'static>(start: Start) -> Self
    where
        J: JobType + Serialize + DeserializeOwned + Send + 'static,
    {
        Self {
            policy: J::POLICY,
            job: || (TypeId::of::<J>(), type_name::<J>()),
            state: || (TypeId::of::<S>(), type_name::<S>()),
            start,
            key: |stored| Ok(stored.job::<J>()?.concurrency_key()),
            scheduled: || J::scheduled().map(|(times, job)| (times, Draft::from(job))),
            takes_text: takes_text::<J>,
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

    /// Whether a payload may be a JSON string: unknown if earlier versions are read as well.
    pub(crate) fn takes_text(&self) -> Option<bool> {
        Some((self.takes_text)()).filter(|takes| *takes || self.policy.upcasts.is_empty())
    }

    /// When such a job recurs, and the job.
    pub(crate) fn scheduled(&self) -> Option<(&'static str, Draft)> {
        (self.scheduled)()
    }

    /// Checks that the job type can read a payload of this version, as a worker would. Use it in a
    /// test that keeps payloads of old releases next to the code.
    ///
    /// ```
    /// # use jobkit::{Job, JobContext, Registration, job};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// #[job]
    /// struct SendReceipt {
    ///     order_id: i64,
    ///     #[serde(default)]
    ///     copies: u8,
    /// }
    /// # impl Job for SendReceipt {
    /// #     async fn run(self, _cx: JobContext) -> jobkit::Result { Ok(()) }
    /// # }
    /// Registration::of::<SendReceipt, _>().reads(1, r#"{"order_id": 7}"#).unwrap();
    /// ```
    ///
    /// # Errors
    /// What is wrong, with the path inside the payload.
    pub fn reads(&self, version: u16, payload: &str) -> Result<(), String> {
        self.key_of(self.policy.kind, version, payload.as_bytes()).map(drop)
    }

    /// Decodes an [opened](encryption::opened) payload and makes the handler's future; `Err` says,
    /// with the path inside the payload, why it does not decode.
    pub(crate) fn start(
        &self,
        version: u16,
        payload: &[u8],
        attempt: Arc<Attempt>,
        states: &States,
    ) -> Result<HandlerFuture, String> {
        (self.start)(Stored::new(payload, version, &self.policy), attempt, states)
    }

    /// The concurrency key of the job that is stored with this payload, under this kind or alias;
    /// `Err` as for [`start`](Self::start), and where it cannot be opened.
    pub(crate) fn key_of(
        &self,
        kind: &str,
        version: u16,
        payload: &[u8],
    ) -> Result<Option<String>, String> {
        let opened = encryption::opened(&self.policy, kind, version, payload);
        let opened = opened.map_err(|why| why.to_string())?;
        (self.key)(Stored::new(&opened, version, &self.policy))
    }
}

/// A type that expects something else rejects any string.
fn takes_text<J: DeserializeOwned>() -> bool {
    serde_json::from_str::<J>("\"\"")
        .map_or_else(|error| !error.to_string().starts_with("invalid type: string"), |_| true)
}

fn start<J: Job<S>, S: Send + Sync + 'static>(
    stored: Stored<'_>,
    attempt: Arc<Attempt>,
    states: &States,
) -> Result<HandlerFuture, String> {
    let job = stored.job::<J>()?;
    let state = states.get::<S>().expect("the start-up check found every state");
    let context = JobContext::new(attempt, state);
    Ok(Box::pin(async move { Ok(Returned::of(&job.run(context).await?)) }))
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("job", &self.job_name())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
