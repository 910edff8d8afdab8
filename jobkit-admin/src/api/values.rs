//! Values as programs read them.

use std::time::Duration;

use jobkit::{
    AuditEntry, Count, DeadLetter, DeadLetterSummary, FailedAttempt, Overview, QueueSummary,
    Semaphore, WorkerSummary,
};
use serde_json::{Value, json};

use crate::show::{iso, redacted, worker};
use crate::visit::Visit;

/// A number, and whether there may be more.
pub(super) fn count(count: Count) -> Value {
    json!({"number": count.number(), "more": matches!(count, Count::AtLeast(_))})
}

/// Seconds, with their fraction.
pub(super) fn seconds(time: Option<Duration>) -> Value {
    time.map_or(Value::Null, |time| json!(time.as_secs_f64()))
}

pub(super) fn overview(now: &Overview) -> Value {
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
        "dead": count(now.dead),
    })
}

pub(super) fn queue(queue: &QueueSummary) -> Value {
    json!({
        "queue": queue.queue,
        "ready": count(queue.ready),
        "ready_age": seconds(queue.ready_age),
        "running": count(queue.running),
        "capacity": queue.capacity,
        "workers": queue.workers,
        "blocked": count(queue.blocked),
        "blocked_age": seconds(queue.blocked_age),
        "scheduled": count(queue.scheduled),
        "retrying": count(queue.retrying),
        "paused": queue.paused.as_ref().map(|pause| json!({
            "since": iso(&pause.since), "actor": pause.actor, "reason": pause.reason,
        })),
    })
}

pub(super) fn of_worker(summary: &WorkerSummary) -> Value {
    let queue =
        |served: &jobkit::ServedQueue| json!({"queue": served.queue, "slots": served.slots});
    json!({
        "id": worker(&summary.id),
        "name": summary.name,
        "started_at": iso(&summary.started_at),
        "heartbeat_age": summary.heartbeat_age.as_secs_f64(),
        "lease": summary.lease.as_secs_f64(),
        "lapsed": summary.lapsed,
        "late": summary.late,
        "stopping": summary.stopping,
        "running": summary.running,
        "queues": summary.queues.iter().map(queue).collect::<Vec<_>>(),
        "kinds": summary.kinds,
    })
}

pub(super) fn semaphore(semaphore: &Semaphore) -> Value {
    json!({
        "group": semaphore.group,
        "key": semaphore.key,
        "limit": semaphore.limit,
        "override_limit": semaphore.override_limit,
        "taken": semaphore.taken,
        "blocked": semaphore.blocked,
        "blocked_since": semaphore.blocked_since.as_ref().map(iso),
    })
}

pub(super) fn dead_letter_summary(entry: &DeadLetterSummary) -> Value {
    json!({
        "id": entry.id.to_string(),
        "state": entry.state.as_str(),
        "kind": entry.kind,
        "queue": entry.queue,
        "key": entry.key,
        "reason": entry.reason.as_str(),
        "error": entry.error,
        "fingerprint": entry.fingerprint,
        "cycles": entry.cycles,
        "attempts": entry.attempts,
        "first_failed_at": iso(&entry.first_failed_at),
        "failed_at": iso(&entry.failed_at),
    })
}

fn failed_attempt(failed: &FailedAttempt) -> Value {
    json!({
        "job": failed.job.to_string(),
        "attempt": failed.attempt,
        "outcome": failed.outcome,
        "error": failed.error,
        "error_type": failed.error_type,
        "ended_at": iso(&failed.ended_at),
        "took": seconds(failed.took),
    })
}

pub(crate) fn dead_letter(visit: &Visit, letter: &DeadLetter) -> Value {
    let mut value = dead_letter_summary(&letter.summary);
    let redaction = visit.redaction();
    value["error"] = json!(letter.error);
    value["errors"] = letter.errors.iter().map(failed_attempt).collect();
    value["job"] = json!(letter.job.to_string());
    value["replay"] = json!(letter.replay.map(|job| job.to_string()));
    value["args"] = redacted(&letter.args, redaction);
    value["metadata"] =
        letter.metadata.as_ref().map_or(Value::Null, |metadata| redacted(metadata, redaction));
    value["tags"] = json!(letter.tags);
    value
}

pub(super) fn audit_entry(visit: &Visit, entry: &AuditEntry) -> Value {
    json!({
        "id": entry.id.to_string(),
        "at": iso(&entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "subject": entry.subject,
        "subject_name": entry.subject_name,
        "subject_id": entry.subject_id.map(|id| id.to_string()),
        "detail": redacted(&entry.detail, visit.redaction()),
    })
}
