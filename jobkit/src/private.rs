//! What the expansion of `#[job]` and bounds of public functions refer to. Not part of the public
//! API: it may change in any release.

pub use inventory;

pub use crate::enqueue::{Topic, subscribed};
pub use crate::job_type::{
    IntoKey, Itself, JobType, Key, Presence, Scheduled, Through, Way, key, key_or_none,
    optional_key, scheduled, upcast,
};
pub use crate::job_types::JobTypes;
pub use crate::policy::Rate;
pub use crate::policy::{AutoReplay, Chunk, Concurrency, Policy};
pub use crate::stored::Stored;
pub use crate::unique::{OnDuplicate, Unique, While};
pub use crate::{Backoff, Registration};
