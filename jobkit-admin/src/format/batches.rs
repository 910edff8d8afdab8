//! Batches as JSON, and in numbers.

use jobkit::admin::batches::{BatchDetail, BatchSummary, Callback};
use jobkit::admin::jobs::{Ended, State};
use serde_json::{Value, json};

use crate::format::show::iso;

pub(crate) fn batch(batch: &BatchSummary) -> Value {
    let counts = &batch.counts;
    json!({
        "id": batch.id.to_string(),
        "state": batch.state().as_str(),
        "created_at": iso(&batch.created_at),
        "closed_at": batch.closed_at.as_ref().map(iso),
        "cancelled_at": batch.cancelled_at.as_ref().map(iso),
        "ended_at": batch.ended_at.as_ref().map(iso),
        "hold_dead": batch.hold_dead,
        "then": batch.then.map(|job| job.to_string()),
        "then_if_all": batch.then_if_all.map(|job| job.to_string()),
        "or_else": batch.or_else.map(|job| job.to_string()),
        "members": counts.members,
        "open": counts.open(),
        "finished": counts.finished,
        "dead": counts.dead,
        "held": batch.held,
        "discarded": counts.discarded,
        "cancelled": counts.cancelled,
        "expired": counts.expired,
        "replaced": counts.replaced,
    })
}

/// A batch with its callbacks.
pub(crate) fn detail(detail: &BatchDetail) -> Value {
    let mut value = batch(&detail.summary);
    let callback = |callback: &Callback| {
        json!({
            "role": callback.role.as_str(),
            "job": callback.job.to_string(),
            "kind": callback.kind,
            "state": callback.state.map(State::as_str),
            "ended": callback.ended.map(Ended::as_str),
        })
    };
    value["callbacks"] = detail.callbacks.iter().map(callback).collect();
    value
}

/// How many of its members have ended, in percent; 100 only if all have.
pub(crate) fn percent(batch: &BatchSummary) -> u64 {
    let (members, open) = (batch.counts.members, batch.counts.open());
    match (members, open) {
        (0, _) => u64::from(batch.state().has_ended()) * 100,
        (_, 0) => 100,
        _ => (u128::from(members - open) * 100 / u128::from(members)).min(99) as u64,
    }
}
