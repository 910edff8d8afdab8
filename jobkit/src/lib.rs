#![doc = include_str!("docs/crate.md")]

mod admin;
mod backoff;
mod context;
mod dead_letter;
mod declared;
mod detail;
mod enqueue;
mod error;
mod id;
mod job;
mod limits;
mod migrate;
mod observed;
mod operating;
mod operation;
mod options;
mod outcome;
mod payload;
mod policy;
#[doc(hidden)]
pub mod private;
mod query;
mod registration;
mod registry;
mod states;
mod store;
mod summary;
mod worker;

#[doc = include_str!("docs/job.md")]
pub use jobkit_macros::job;

pub use crate::admin::{
    Admin, Begin, BlockedJob, BulkAction, Cancelled, CarryOut, ConcurrencyGroup,
    DeadLetterDiscarded, DeadLetterFilter, Explanation, KeyUse, Limited, PermitHolder, Reason,
    Replay, ReplayError, Rescheduled, Selected, Semaphore, SemaphoreDetail, SemaphoreFilter,
    StopRequest,
};
pub use crate::backoff::Backoff;
pub use crate::context::JobContext;
pub use crate::dead_letter::{
    Count, DeadLetter, DeadLetterCursor, DeadLetterGroup, DeadLetterId, DeadLetterPage,
    DeadLetterState, DeadLetterSummary, DeadReason, FailedAttempt,
};
pub use crate::declared::{Declared, IntoKey};
pub use crate::detail::JobDetail;
pub use crate::enqueue::{Draft, Enqueue, enqueue_all};
pub use crate::error::{Error, Gaps};
pub use crate::id::JobId;
pub use crate::job::Job;
pub use crate::migrate::{migrate, migration_sql};
pub use crate::observed::attention::Attention;
pub use crate::observed::audit::{AuditEntry, AuditFilter, AuditPage};
pub use crate::observed::doctor::{Check, Diagnosis, Finding, HorizonHolder, Severity, TableSize};
pub use crate::observed::histogram::Histogram;
pub use crate::observed::kind::KindSummary;
pub use crate::observed::measure::{MeasureFilter, MeasurePoint, MeasureSeries, Measures};
pub use crate::observed::overview::Overview;
pub use crate::observed::queue::{PausedQueue, QueueKind, QueueSummary};
pub use crate::observed::stuck::StuckJob;
pub use crate::observed::worker::{RunningJob, ServedQueue, WorkerDetail, WorkerSummary};
pub use crate::operation::{Operation, OperationResult, OperationState, Preview};
pub use crate::options::Pending;
pub use crate::outcome::{JobError, Result};
pub use crate::payload::Payload;
pub use crate::policy::{AutoReplay, Concurrency, Policy};
pub use crate::query::{JobQuery, Listing, QueryError};
pub use crate::registration::Registration;
pub use crate::summary::{CursorError, Ended, JobCursor, JobPage, JobSummary, State};
pub use crate::worker::{Counts, Worker, WorkerHandle};
