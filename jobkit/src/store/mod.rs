//! The statements of the runtime: the only place with SQL besides the operators' nouns.
//!
//! The table in `statements.rs` and those in `admin/<noun>/statements.rs`, with the files in the
//! `sql/` beside each, are the complete answer to "what does this library do to my database?". The
//! transitions themselves are the functions in `migrations/`: one that may wait for a lock has to
//! take a fresh snapshot after the wait.
//!
//! A statement is a function that returns a [`Statement`]; a [`Link`] sends it.

mod address;
mod announce;
mod ask;
mod batches;
mod call;
mod claim;
mod completion;
mod count;
mod enqueue;
mod executor;
mod idle;
mod insert;
mod job;
mod lane;
mod link;
mod next_work;
mod notifications;
mod pause;
mod queues;
mod read;
mod record;
mod reports;
mod schedules;
mod session;
mod settle;
mod source;
mod statements;
mod sweep;
#[cfg(feature = "testing")]
mod testing;
mod time;
mod turns;
mod wait;

pub(crate) use self::announce::{
    ChangedLimit, SaidLimit, announce, announce_limits, announce_subscriptions,
};
pub(crate) use self::ask::Ask;
pub(crate) use self::batches::{
    add_to_batch, batch_of_callback, close_batch, look_at_batches, members_ended, open_batch,
    prune_batches,
};
pub(crate) use self::call::{Call, Statement, statements};
pub(crate) use self::claim::{Claim, ClaimId, Claimed};
pub(crate) use self::completion::{complete, completion, part};
pub(crate) use self::count::number;
pub(crate) use self::enqueue::{enqueue, enqueue_all, enqueue_unique, publish};
pub use self::executor::Executor;
pub(crate) use self::idle::IdleConnections;
pub(crate) use self::insert::Insert;
pub(crate) use self::job::{ClaimedJob, NewJob, UniqueKey};
pub(crate) use self::lane::Lane;
pub(crate) use self::link::Link;
pub(crate) use self::next_work::next_work;
pub(crate) use self::notifications::{News, Notifications};
pub(crate) use self::pause::{limiter_paused, pause_key, pause_key_of, take_slot};
pub(crate) use self::queues::{
    Says, Serves, look_at_bounds, matching_queues, register, rise, sleep,
};
pub(crate) use self::read::{Answer, FromColumn, FromRow, One, ReadColumn, from_column, from_row};
pub(crate) use self::reports::{
    last_checkpoint, prune_reports, prune_steps, report, save_step, steps_of,
};
pub(crate) use self::schedules::{
    Decided, DueSchedule, Instant, NewSchedule, WaitingSchedule, clock, declaration,
    declare_schedules, due_schedules, fire, hasten_schedules, scheduled_payloads,
    schedules_of_others, waiting_schedules,
};
pub(crate) use self::session::{Deadlines, Plans};
pub(crate) use self::settle::{
    EXHAUSTED, Ending, Failure, Next, Outcome, Ran, Seen, Settle, Settlement, Unblocked, Written,
};
pub(crate) use self::source::Source;
pub(crate) use self::statements::{
    Measured, SchemaCheck, claim_jobs, crashed, days_there, deregister, durability, expired_days,
    hidden_tables, lost_jobs, measure, next_operation, operate, orphaned_claims, prepare_days,
    promote, prune_audit, prune_keys, prune_measures, prune_resolved, prune_runs, reap_claim,
    reap_look, reap_workers, release_lost, renew_lease, replay_due, set_aside, stick,
    stop_operation, stored_payloads, sweep_begin, sweep_cancelled, sweep_note, sweep_start,
    sweep_unserved, unknown_kinds, unserved_queues, unstick,
};
pub(crate) use self::sweep::sweep_all;
#[cfg(feature = "testing")]
pub(crate) use self::testing::{
    Asked, Mailbox, Prepared, StoredJob, drop_listeners, kinds_stored, lose_lease, mailbox,
    prepared, queues_ready, shift_times, stored_jobs, transaction_age,
};
pub(crate) use self::time::{Time, interval, interval_text};
pub(crate) use self::turns::Turns;
pub(crate) use self::wait::{Awaited, await_jobs, ends_of};
