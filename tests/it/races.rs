//! Two sessions at one job, on the installed functions: the first holds its transaction open after
//! its step, the second is seen to wait (or seen not to), the first ends either way.
//!
//! Each race is a plain function of a lab, so that `mutants` can run it against a lab whose
//! functions were broken on purpose, and see it fail.

pub(crate) mod acknowledged;
pub(crate) mod ahead;
pub(crate) mod awaited;
pub(crate) mod batches;
pub(crate) mod blocked;
pub(crate) mod calls;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod coalesce;
pub(crate) mod coalesce_ends;
pub(crate) mod completion;
pub(crate) mod crowd;
pub(crate) mod dead_letters;
pub(crate) mod elsewhere;
pub(crate) mod gate;
pub(crate) mod handover;
pub(crate) mod isolation;
mod kit;
pub(crate) mod limiters;
pub(crate) mod limits;
pub(crate) mod order;
pub(crate) mod patience;
pub(crate) mod pause;
pub(crate) mod permits;
pub(crate) mod producers;
pub(crate) mod prune;
pub(crate) mod queues;
pub(crate) mod rates;
pub(crate) mod reap;
pub(crate) mod recovery;
pub(crate) mod replayers;
pub(crate) mod reports;
pub(crate) mod reseal;
pub(crate) mod schedules;
pub(crate) mod settle;
pub(crate) mod succession;
pub(crate) mod topics;
pub(crate) mod turns;
pub(crate) mod unique;
pub(crate) mod unique_again;
pub(crate) mod unique_bulk;
pub(crate) mod unique_ends;
pub(crate) mod unique_follow;
pub(crate) mod unique_last;
pub(crate) mod unique_late;
pub(crate) mod unique_marked;
