//! The overview as programs read it.

use jobkit::admin::overview::{Attention, Overview};
use serde_json::{Value, json};

use crate::format::show::{iso, worker};
use crate::format::values::{brake, count, of_worker, seconds};

pub(crate) fn json(now: &Overview) -> Value {
    json!({
        "at": iso(&now.at),
        "ready": count(now.ready),
        "ready_age": seconds(now.ready_age),
        "running": now.running,
        "capacity": now.capacity,
        "scheduled": count(now.scheduled),
        "retrying": count(now.retrying),
        "blocked": count(now.blocked),
        "blocked_age": seconds(now.blocked_age),
        "schedule_overdue": seconds(now.overdue),
        "dead": count(now.dead),
        "attention": now.attention.iter().map(attention).collect::<Vec<_>>(),
    })
}

/// What all items have: what it is, how bad, what to say of it; and the values of its own.
fn attention(item: &Attention) -> Value {
    let mut value = match item {
        Attention::NoWorker { jobs } => json!({"jobs": count(*jobs)}),
        Attention::LateWorker(late) => json!({"worker": of_worker(late)}),
        Attention::Unserved { queue, kind, version, announced, jobs } => json!({
            "queue": queue, "kind": kind, "version": version, "announced": announced,
            "jobs": count(*jobs),
        }),
        Attention::LateQueue { queue, oldest, slots, busy } => json!({
            "queue": queue, "oldest": oldest.as_secs_f64(), "slots": slots, "busy": count(*busy),
        }),
        Attention::FullQueue { queue, bound, since } => json!({
            "queue": queue, "bound": bound, "since": iso(since),
        }),
        Attention::LostWorker { id, name, at, jobs } => json!({
            "id": worker(id), "name": name, "at": iso(at), "jobs": jobs,
        }),
        Attention::OverdueSchedule(schedule) => json!({
            "schedule": schedule.name, "times": schedule.times,
            "overdue": schedule.overdue.as_secs_f64(),
        }),
        Attention::StuckOperation { operation, verb, since } => json!({
            "operation": operation.to_string(), "verb": verb, "since": since.as_secs_f64(),
        }),
        Attention::KeyAtLimit { group, key, limit, taken, blocked, blocked_age } => json!({
            "group": group, "key": key, "limit": limit, "taken": taken,
            "blocked": count(*blocked), "blocked_age": blocked_age.as_secs_f64(),
        }),
        Attention::DeadLetters { lately } => json!({"lately": count(*lately)}),
        Attention::PausedQueue { queue, since, actor, reason, ready } => json!({
            "queue": queue, "since": iso(since), "actor": actor, "reason": reason,
            "ready": count(*ready),
        }),
        Attention::PausedScope(held) => brake(held),
        Attention::StuckJob(stuck) => json!({
            "job": stuck.job.to_string(), "transition": stuck.transition, "error": stuck.error,
            "since": iso(&stuck.since), "tries": stuck.tries, "retry_at": iso(&stuck.retry_at),
        }),
        _ => json!({}),
    };
    value["what"] = item.name().into();
    value["severity"] = item.severity().as_str().into();
    value["found"] = item.found().into();
    value["advice"] = item.advice().into();
    value
}
