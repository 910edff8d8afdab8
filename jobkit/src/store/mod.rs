//! The only place with SQL.
//!
//! Every statement is a file in `sql/`; the folder listing is the complete answer to "what does
//! this library do to my database?". The transitions themselves are the functions in
//! `migrations/`: one that may wait for a lock has to take a fresh snapshot after the wait.
//!
//! A statement of the engine is a struct that implements [`Call`]; a [`Link`] runs it.

mod audit;
mod call;
mod claim;
mod count;
mod dead_letters;
mod doctor;
mod ear;
mod enqueue;
mod explain;
mod inspect;
mod jobs;
mod keep;
mod link;
mod maintain;
mod measures;
mod observed;
mod operate;
mod operations;
mod overview;
mod payloads;
mod queues;
mod recover;
mod replay;
mod selected;
mod semaphores;
mod session;
mod settle;
mod stuck;
mod sweep;
mod time;
mod worker;

pub(crate) use self::audit::{Audit, PruneAudit};
pub(crate) use self::call::Call;
pub(crate) use self::claim::{Claim, Claimed, ClaimedJob, LANES};
pub(crate) use self::dead_letters::{
    DeadLetterCount, DeadLetterGroups, DeadLetters, Meant, WholeDeadLetters,
};
pub(crate) use self::doctor::{
    DurabilitySettings, HorizonHolders, Indexes, InspectSchema, ServerSettings, Tables,
    Unpublishable, Upkeep, UpkeepRow, Violations,
};
pub(crate) use self::ear::Ear;
pub(crate) use self::enqueue::{NewJob, enqueue, enqueue_all};
pub(crate) use self::explain::{Ahead, AheadRow, EndedJob, ExplainEnded, ExplainJob, LiveJob};
pub(crate) use self::inspect::{JobState, UnknownKinds, UnservedQueues};
pub(crate) use self::jobs::{JobsCount, JobsList, Listed, OneJob};
pub(crate) use self::keep::Keep;
pub(crate) use self::link::Link;
pub(crate) use self::maintain::{
    Crashed, ExpiredDays, OrphanedClaims, PrepareDays, Promote, ReapClaim, ReapLook, ReapWorkers,
};
pub(crate) use self::measures::{AddMeasures, Measured, MeasuresOfKinds, PruneMeasures, Series};
pub(crate) use self::observed::{Kinds, WorkerJobs, Workers};
pub(crate) use self::operate::{
    Act, CancelMark, CancelTake, LimitGroup, LimitKey, Pause, PausedQueues, Reschedule, Resume,
    StopWorker,
};
pub(crate) use self::operations::{
    BeginOperation, NextOperation, Operate, OperationResults, Operations, StopOperation,
};
pub(crate) use self::overview::{
    KeysAtLimit, LateQueues, LostWorkers, OldestOperation, OverviewCounts, OverviewRow,
    PausedBacklogs, UnservedKinds,
};
pub(crate) use self::queues::{
    Held, KnownQueue, KnownQueues, QueuesBlocked, QueuesReady, QueuesRunning, QueuesScheduled,
};
pub(crate) use self::recover::{Exhausted, PruneResolved, Recover, RecoverLook, ReplayDue};
pub(crate) use self::replay::{DiscardDeadLetter, Otherwise, ReplayDeadLetter, Until};
pub(crate) use self::selected::{DeadLettersOf, LiveOf};
pub(crate) use self::semaphores::{
    FirstBlocked, Groups, PermitsHeld, SemaphoreRow, SemaphoresPage,
};
pub(crate) use self::session::{Deadlines, Plans};
pub(crate) use self::settle::{Ending, Next, Outcome, Ran, Settle, Settlement, Unblocked};
pub(crate) use self::stuck::{ClaimJobs, SetAside, Stick, StuckJobs, Unstick};
pub(crate) use self::sweep::{
    SweepBegin, SweepCancelled, SweepNote, SweepStart, SweepUnserved, sweep_all,
};
pub(crate) use self::time::Time;
pub(crate) use self::worker::{
    Announce, AnnounceLimits, Deregister, Durability, Heartbeat, LostJobs, Register, ReleaseLost,
    Rise, SchemaCheck, Sleep,
};
