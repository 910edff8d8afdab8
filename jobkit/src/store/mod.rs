//! What the runtime asks of the database: the only place with SQL beside the operators' nouns.
//!
//! Every statement is a file in `sql/` or in `admin/<noun>/sql/`; their listing is the complete
//! answer to "what does this library do to my database?". The transitions themselves are the
//! functions in `migrations/`: one that may wait for a lock has to take a fresh snapshot after the
//! wait.
//!
//! A statement of the engine is a struct that implements [`Call`]; a [`Link`] runs it.

mod call;
mod claim;
mod count;
mod enqueue;
mod idle;
mod inspect;
mod lane;
mod link;
mod maintain;
mod measures;
mod notifications;
mod operations;
mod prune;
mod replay;
mod session;
mod settle;
mod stuck;
mod sweep;
mod time;
mod worker;

pub(crate) use self::call::Call;
pub(crate) use self::claim::{Claim, ClaimId, Claimed, ClaimedJob};
pub(crate) use self::count::{duration, number};
pub(crate) use self::enqueue::{NewJob, enqueue, enqueue_all};
pub(crate) use self::idle::IdleConnections;
pub(crate) use self::inspect::{UnknownKinds, UnservedQueues};
pub(crate) use self::lane::Lane;
pub(crate) use self::link::Link;
pub(crate) use self::maintain::{
    Crashed, ExpiredDays, OrphanedClaims, PrepareDays, Promote, ReapClaim, ReapLook, ReapWorkers,
    wait,
};
pub(crate) use self::measures::{AddMeasures, Measured};
pub(crate) use self::notifications::Notifications;
pub(crate) use self::operations::{NextOperation, Operate, StopOperation};
pub(crate) use self::prune::{PruneAudit, PruneMeasures, PruneResolved};
pub(crate) use self::replay::ReplayDue;
pub(crate) use self::session::{Deadlines, Plans};
pub(crate) use self::settle::{
    EXHAUSTED, Ending, Failure, Next, Outcome, Ran, Settle, Settlement, Unblocked,
};
pub(crate) use self::stuck::{ClaimJobs, SetAside, Stick, Unstick};
pub(crate) use self::sweep::{
    SweepBegin, SweepCancelled, SweepNote, SweepStart, SweepUnserved, sweep_all,
};
pub(crate) use self::time::{Time, Times};
pub(crate) use self::worker::{
    Announce, AnnounceLimits, Deregister, Durability, LostJobs, Register, ReleaseLost, RenewLease,
    Rise, SchemaCheck, Sleep, interval,
};
