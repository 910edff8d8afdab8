//! The overview as JSON.

use chrono::{DateTime, Utc};
use jobkit::admin::overview::{Acknowledged, Attention, Hold, Overview};
use serde_json::{Value, json};

use crate::format::show::{iso, worker};
use crate::format::values::{count, of_worker, pause, seconds};

pub(crate) fn json(now: &Overview) -> Value {
    json!({
        "at": iso(&now.at),
        "ready": count(now.ready),
        "ready_age": seconds(now.ready_age),
        "running": now.running,
        "stopping": now.stopping,
        "gone": now.gone,
        "capacity": now.capacity,
        "scheduled": count(now.scheduled),
        "retrying": count(now.retrying),
        "blocked": count(now.blocked),
        "blocked_age": seconds(now.blocked_age),
        "schedule_overdue": seconds(now.overdue),
        "dead": count(now.dead),
        "open_batches": count(now.open_batches),
        "batch_tallies": count(now.batch_tallies),
        "attention": now.attention.iter().map(|it| attention(it, now.at)).collect::<Vec<_>>(),
        "acknowledged": now.acknowledged.iter().map(|it| known(it, now.at)).collect::<Vec<_>>(),
    })
}

/// An acknowledged item, and who acknowledged it.
fn known(known: &Acknowledged, now: DateTime<Utc>) -> Value {
    let Acknowledged { item, actor, reason, at, .. } = known;
    let mut value = attention(item, now);
    value["acknowledged"] = json!({"actor": actor, "reason": reason, "at": iso(at)});
    value
}

/// The common fields of an item (name, severity, since when, texts) and its own values.
fn attention(item: &Attention, now: DateTime<Utc>) -> Value {
    let mut value = of_workers(item).or_else(|| of_work(item)).unwrap_or_else(|| json!({}));
    value["what"] = item.name().into();
    value["subject"] = item.subject().into();
    value["severity"] = item.severity().as_str().into();
    value["since"] = iso(&item.since(now)).into();
    value["found"] = item.found().into();
    value["advice"] = item.advice().into();
    value
}

fn of_workers(item: &Attention) -> Option<Value> {
    Some(match item {
        Attention::NoWorker { jobs, schedules, operation, silent, .. } => json!({
            "jobs": count(*jobs), "schedules": count(*schedules), "operation": operation,
            "silent": silent,
        }),
        Attention::StandbyAwaited { sessions, longest, names } => json!({
            "sessions": sessions, "longest": longest.as_secs_f64(), "names": names,
        }),
        Attention::LateWorker(late) => json!({"worker": of_worker(late)}),
        Attention::Unserved { queue, kind, version, announced, jobs, .. } => json!({
            "queue": queue, "kind": kind, "version": version, "announced": announced,
            "jobs": count(*jobs),
        }),
        Attention::LateQueue { queue, oldest, slots, busy, stopping, gone } => json!({
            "queue": queue, "oldest": oldest.as_secs_f64(), "slots": slots, "busy": count(*busy),
            "stopping": stopping, "gone": gone,
        }),
        Attention::LostWorker { name, times, id, at, jobs, back, .. } => json!({
            "id": worker(id), "name": name, "times": times, "at": iso(at), "jobs": jobs,
            "back": back.as_ref().map(iso),
        }),
        Attention::LongRun { queue, kind, job, worker: id, name, ran, usual, jobs, .. } => json!({
            "queue": queue, "kind": kind, "job": job.to_string(), "worker": worker(id),
            "name": name, "ran": ran.as_secs_f64(), "usual": seconds(*usual), "jobs": jobs,
        }),
        _ => return None,
    })
}

/// What holds the jobs of a key back.
fn hold(by: &Hold) -> Value {
    match by {
        Hold::Limit { limit, taken } => json!({"by": "limit", "limit": limit, "taken": taken}),
        Hold::Rate { rate, next_at } => json!({
            "by": "rate", "rate": rate.map(|rate| rate.to_string()),
            "next_at": next_at.as_ref().map(iso),
        }),
        _ => json!({}),
    }
}

fn of_work(item: &Attention) -> Option<Value> {
    Some(match item {
        Attention::FullQueue { queue, limit, .. } => json!({"queue": queue, "limit": limit}),
        Attention::OverdueSchedule(schedule) => json!({
            "schedule": schedule.name, "times": schedule.times,
            "overdue": schedule.overdue.as_secs_f64(),
        }),
        Attention::StuckOperation { operation, verb, since } => json!({
            "operation": operation.to_string(), "verb": verb, "stuck": since.as_secs_f64(),
        }),
        Attention::UnclosedBatch { batch, ago, .. } => json!({
            "batch": batch.to_string(), "age": ago.as_secs_f64(),
        }),
        Attention::HeldKey { group, key, by, blocked, blocked_age } => {
            let mut value = hold(by);
            value["group"] = group.as_str().into();
            value["key"] = key.as_str().into();
            value["blocked"] = count(*blocked);
            value["blocked_age"] = blocked_age.as_secs_f64().into();
            value
        }
        Attention::DeadLetters { lately, .. } => json!({"lately": count(*lately)}),
        Attention::PausedQueue { queue, actor, reason, ready, .. } => json!({
            "queue": queue, "actor": actor, "reason": reason, "ready": count(*ready),
        }),
        Attention::PausedScope { scope, pause: paused } => json!({
            "scope": scope.word(), "name": scope.name(), "paused": pause(paused),
        }),
        Attention::PausedKey { group, key, until, blocked, blocked_age } => json!({
            "group": group, "key": key, "until": iso(until), "blocked": count(*blocked),
            "blocked_age": blocked_age.as_secs_f64(),
        }),
        Attention::PausedSchedule(schedule) => json!({
            "schedule": schedule.name, "times": schedule.times, "actor": schedule.actor,
            "reason": schedule.reason,
        }),
        Attention::StuckJob(stuck) => json!({
            "job": stuck.job.to_string(), "transition": stuck.transition, "error": stuck.error,
            "tries": stuck.tries, "retry_at": iso(&stuck.retry_at),
        }),
        _ => return None,
    })
}
