//! Values as JSON.

use std::time::Duration;

use jobkit::admin::audit::AuditEntry;
use jobkit::admin::dead_letters::{DeadLetter, DeadLetterGroup, DeadLetterSummary, FailedAttempt};
use jobkit::admin::explain::Explanation;
use jobkit::admin::jobs::JobDetail;
use jobkit::admin::limits::{Limit, Pause, Said};
use jobkit::admin::measures::{Histogram, Measures};
use jobkit::admin::queues::QueueSummary;
use jobkit::admin::semaphores::Semaphore;
use jobkit::admin::workers::{ServedQueue, WorkerSummary};
use jobkit::admin::{Count, Payload};
use serde_json::{Value, json};

use crate::access::Redaction;
use crate::format::show::{iso, worker};
use crate::format::{payload, reports};

/// A count, and whether there may be more.
pub(crate) fn count(count: Count) -> Value {
    json!({"number": count.number(), "more": matches!(count, Count::AtLeast(_))})
}

/// Seconds, with their fraction.
pub(crate) fn seconds(time: Option<Duration>) -> Value {
    time.map_or(Value::Null, |time| json!(time.as_secs_f64()))
}

pub(crate) fn queue(queue: &QueueSummary) -> Value {
    json!({
        "queue": queue.queue,
        "ready": count(queue.ready),
        "ready_age": seconds(queue.ready_age),
        "running": count(queue.running),
        "running_age": seconds(queue.running_age),
        "stopping": count(queue.stopping),
        "gone": count(queue.gone),
        "capacity": queue.capacity,
        "workers": queue.workers,
        "blocked": count(queue.blocked),
        "blocked_age": seconds(queue.blocked_age),
        "scheduled": count(queue.scheduled),
        "retrying": count(queue.retrying),
        "paused": queue.paused.as_ref().map(pause),
        "waiting": queue.waiting.as_ref().map(|waiting| json!({
            "most": waiting.most, "counted": waiting.counted,
            "full_since": waiting.full_since.as_ref().map(iso),
        })),
    })
}

pub(crate) fn pause(pause: &Pause) -> Value {
    json!({
        "since": iso(&pause.since), "until": pause.until.as_ref().map(iso), "actor": pause.actor,
        "reason": pause.reason,
    })
}

/// A part of a limit; its value is null if it was explicitly set to no limit.
fn said<T>(said: Option<Said<T>>, value: impl Fn(T) -> Value) -> Value {
    said.map_or(
        Value::Null,
        |Said { value: of, by, .. }| json!({"value": of.map(value), "by": by.as_str()}),
    )
}

pub(crate) fn limit(limit: &Limit) -> Value {
    json!({
        "scope": limit.scope.word(),
        "name": limit.scope.name(),
        "key": limit.scope.key(),
        "running": said(limit.running, |most| json!(most)),
        "rate": said(limit.rate, |rate| json!(rate.to_string())),
        "waiting": said(limit.waiting, |most| json!(most)),
        "paused": limit.paused.as_ref().map(pause),
        "runs": limit.runs,
        "waits": limit.waits,
        "full_since": limit.full_since.as_ref().map(iso),
    })
}

pub(crate) fn of_worker(summary: &WorkerSummary) -> Value {
    let queue = |served: &ServedQueue| {
        json!({
            "queue": served.queue, "slots": served.slots, "pool": served.pool,
            "weight": served.weight,
        })
    };
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
        "zones": summary.zones,
    })
}

/// The measured outcomes, and run and wait times in seconds.
pub(crate) fn measures(measures: &Measures) -> Value {
    let Measures { finished, retried, snoozed, buried, discarded, cancelled, .. } = measures;
    let (expired, superseded) = (measures.expired, measures.superseded);
    let half_and_tail = |times: &Histogram| {
        let at = |share| seconds(times.percentile(share));
        json!({"p50": at(0.5), "p95": at(0.95)})
    };
    json!({
        "finished": finished, "retried": retried, "snoozed": snoozed, "buried": buried,
        "discarded": discarded, "cancelled": cancelled, "expired": expired,
        "superseded": superseded, "failure_rate": measures.failure_rate(),
        "run": half_and_tail(&measures.run), "wait": half_and_tail(&measures.wait),
    })
}

pub(crate) fn dead_letter_group(group: &DeadLetterGroup) -> Value {
    json!({
        "fingerprint": group.fingerprint,
        "kind": group.kind,
        "count": count(group.count),
        "error": group.error,
        "sample": group.sample.to_string(),
        "first_failed_at": iso(&group.first_failed_at),
        "last_failed_at": iso(&group.last_failed_at),
        "lately": group.lately,
        "note": group.note.as_ref().map(|note| json!({
            "text": note.text, "actor": note.actor, "at": iso(&note.at),
        })),
        "muted_until": group.muted_until.as_ref().map(iso),
    })
}

pub(crate) fn semaphore(semaphore: &Semaphore) -> Value {
    json!({
        "group": semaphore.group,
        "key": semaphore.key,
        "limit": semaphore.limit,
        "override_limit": semaphore.override_limit,
        "rate": semaphore.rate.map(|rate| rate.to_string()),
        "paused_until": semaphore.paused_until.as_ref().map(iso),
        "next_at": semaphore.next_at.as_ref().map(iso),
        "taken": semaphore.taken,
        "blocked": semaphore.blocked,
        "blocked_since": semaphore.blocked_since.as_ref().map(iso),
    })
}

pub(crate) fn dead_letter_summary(entry: &DeadLetterSummary) -> Value {
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

pub(crate) fn job_summary(job: &jobkit::admin::jobs::JobSummary) -> Value {
    json!({
        "id": job.id.to_string(),
        "state": job.state.as_str(),
        "ended": job.ended.map(jobkit::admin::jobs::Ended::as_str),
        "kind": job.kind,
        "queue": job.queue,
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "worker": job.worker.as_ref().map(worker),
        "cancel_requested": job.cancel_requested,
        "run_at": iso(&job.run_at),
        "created_at": iso(&job.created_at),
        "since": job.since.as_ref().map(iso),
        "took": seconds(job.took),
        "concurrency": job.concurrency.as_ref().map(|(group, key)| json!({
            "group": group, "key": key,
        })),
        "tags": job.tags,
        "error": job.error,
    })
}

/// The reasons, each as a sentence.
pub(crate) fn reasons(explanation: &Explanation) -> Vec<String> {
    explanation.reasons.iter().map(ToString::to_string).collect()
}

/// A job, and the reasons why it is not running.
pub(crate) fn job(
    job: &JobDetail,
    explanation: Option<&Explanation>,
    redaction: Option<Redaction>,
) -> String {
    let mut value = job_summary(&job.summary);
    value["why"] = json!(explanation.map(|explanation| &explanation.sentence));
    value["reasons"] = json!(explanation.map_or_else(Vec::new, reasons));
    value["schedule"] = job
        .schedule
        .as_ref()
        .map_or(Value::Null, |(name, instant)| json!({"name": name, "instant": iso(instant)}));
    value["version"] = json!(job.version);
    value["attempts"] = job.attempts.iter().map(failed_attempt).collect();
    value["reports"] = job.reports.iter().map(reports::json).collect();
    value["checkpoint"] = job.checkpoint.as_ref().map_or(Value::Null, reports::checkpoint);
    value["steps"] = job.steps.iter().map(reports::step).collect();
    value["crashes"] = json!(job.crashes);
    value["snoozes"] = json!(job.snoozes);
    value["reason"] = json!(job.reason);
    value["unique_group"] = json!(job.unique_group);
    value["unique_key"] = json!(job.unique_key);
    value["coalesces"] = json!(job.coalesces);
    value["batch"] = json!(job.batch.map(|batch| batch.to_string()));
    value["callback_of"] = json!(job.callback_of.map(|batch| batch.to_string()));
    value["dead_letter"] = json!(job.dead_letter.map(|id| id.to_string()));
    let mut text = with_payloads(&value, &job.args, job.metadata.as_ref(), redaction);
    if let Some(result) = &job.result {
        text.truncate(text.len().saturating_sub(1));
        text.push_str(&format!(",\"result\":{}}}", payload::json(result, redaction)));
    }
    text
}

pub(crate) fn operation(operation: &jobkit::admin::operations::Operation) -> Value {
    json!({
        "id": operation.id.to_string(),
        "verb": operation.verb,
        "filter": operation.filter,
        "reason": operation.reason,
        "actor": operation.actor,
        "per_second": operation.per_second,
        "state": operation.state.as_str(),
        "total": operation.total,
        "counted": operation.counted,
        "done": operation.done,
        "stop_requested": operation.stop_requested,
        "skipped": operation.skipped,
        "error": operation.error,
        "created_at": iso(&operation.created_at),
        "ended_at": operation.ended_at.as_ref().map(iso),
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

pub(crate) fn dead_letter(letter: &DeadLetter, redaction: Option<Redaction>) -> String {
    let mut value = dead_letter_summary(&letter.summary);
    value["error"] = json!(letter.error);
    value["errors"] = letter.errors.iter().map(failed_attempt).collect();
    value["version"] = json!(letter.version);
    value["job"] = json!(letter.job.to_string());
    value["replay"] = json!(letter.replay.map(|job| job.to_string()));
    value["tags"] = json!(letter.tags);
    with_payloads(&value, &letter.args, letter.metadata.as_ref(), redaction)
}

/// An object with a payload and metadata, whose numbers keep all their digits.
pub(crate) fn with_payloads(
    value: &Value,
    args: &Payload,
    metadata: Option<&Payload>,
    redaction: Option<Redaction>,
) -> String {
    let mut text = value.to_string();
    text.truncate(text.len().saturating_sub(1));
    let metadata = metadata.map(|metadata| payload::json(metadata, redaction));
    let metadata = metadata.unwrap_or_else(|| "null".to_owned());
    let args = payload::json(args, redaction);
    text.push_str(&format!(",\"args\":{args},\"metadata\":{metadata}}}"));
    text
}

pub(crate) fn audit_entry(entry: &AuditEntry, redaction: Option<Redaction>) -> Value {
    json!({
        "id": entry.id.to_string(),
        "at": iso(&entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "subject": entry.subject,
        "subject_name": entry.subject_name,
        "subject_id": entry.subject_id.map(|id| id.to_string()),
        "detail": entry.detail,
        "args": entry.args.as_ref().map(|args| payload::json(args, redaction)),
    })
}
