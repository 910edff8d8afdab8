#![doc = include_str!("docs/crate.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod admin;
pub mod around;
mod backoff;
pub mod batch;
mod batch_end;
pub mod chunk;
mod connect;
mod context;
mod denied;
#[cfg_attr(not(feature = "encrypt"), path = "encryption/without.rs")]
mod encryption;
mod end;
pub mod enqueue;
pub mod error;
mod error_type;
mod exact;
mod histogram;
mod hold;
pub mod hooks;
mod id;
mod job;
mod job_type;
mod job_types;
pub mod limiter;
mod limits;
mod lock;
mod meter;
mod migrate;
mod operating;
mod outcome;
mod panics;
pub mod policy;
#[doc(hidden)]
pub mod private;
mod reach;
mod redact;
mod registration;
mod registry;
pub mod report;
mod reports;
mod returned;
pub mod schedule;
#[cfg(feature = "schemars")]
mod schema;
mod states;
mod stop;
mod store;
mod stored;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;
pub mod unique;
mod version;
mod work;
mod worker;

#[doc = include_str!("docs/job.md")]
pub use jobkit_macros::job;

pub use crate::admin::Admin;
pub use crate::backoff::Backoff;
pub use crate::batch::Batch;
pub use crate::connect::connect;
pub use crate::context::JobContext;
pub use crate::enqueue::{Enqueue, enqueue_all};
pub(crate) use crate::id::BatchId;
pub use crate::id::JobId;
pub use crate::job::Job;
pub use crate::job_type::JobType;
pub use crate::migrate::{migrate, migration_sql};
pub use crate::outcome::{JobError, Result};
pub use crate::registration::Registration;
pub use crate::stop::StopReason;
pub use crate::worker::{Worker, WorkerHandle, announce};
