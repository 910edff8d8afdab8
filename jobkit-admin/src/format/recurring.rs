//! Schedules as JSON.

use jobkit::admin::schedules::{ScheduleDetail, ScheduleRun, ScheduleSummary};
use jobkit::schedule::{CatchUp, Overlap};
use serde_json::{Value, json};

use crate::access::Redaction;
use crate::format::show::iso;
use crate::format::values::{seconds, with_payloads};

pub(crate) fn schedule(schedule: &ScheduleSummary) -> Value {
    let (last, job) = schedule.last.unzip();
    json!({
        "name": schedule.name,
        "times": schedule.times,
        "kind": schedule.kind,
        "queue": schedule.queue,
        "next_at": schedule.next_at.as_ref().map(iso),
        "overdue": seconds(schedule.overdue),
        "last_at": last.as_ref().map(iso),
        "last_job": job.map(|job| job.to_string()),
        "missed": schedule.missed,
        "skipped_by_pause": schedule.skipped_by_pause,
        "catch_up": catch_up(schedule.catch_up),
        "overlap": overlap(schedule.overlap),
        "jitter": schedule.jitter.as_secs_f64(),
        "paused": schedule.paused.as_ref().map(|pause| json!({
            "since": iso(&pause.since), "actor": pause.actor, "reason": pause.reason,
        })),
        "declared_at": schedule.declared_at.as_ref().map(iso),
        "edited": schedule.edited,
    })
}

/// `none`, `latest`, or `all` with its bounds.
fn catch_up(catch_up: CatchUp) -> Value {
    match catch_up {
        CatchUp::None => json!("none"),
        CatchUp::All { max, window } => json!({"max": max, "window": window.as_secs_f64()}),
        _ => json!("latest"),
    }
}

fn overlap(overlap: Overlap) -> &'static str {
    if overlap == Overlap::SkipIfRunning { "skip_if_running" } else { "allow" }
}

pub(crate) fn schedule_detail(detail: &ScheduleDetail, redaction: Option<Redaction>) -> String {
    let mut value = schedule(&detail.summary);
    value["version"] = detail.version.into();
    value["priority"] = detail.priority.into();
    value["max_attempts"] = detail.max_attempts.into();
    value["tags"] = json!(detail.tags);
    value["concurrency"] = detail
        .concurrency
        .as_ref()
        .map_or(Value::Null, |(group, key)| json!({"group": group, "key": key}));
    value["dead_letter_key"] = json!(detail.dead_letter_key);
    with_payloads(&value, &detail.args, detail.metadata.as_ref(), redaction)
}

pub(crate) fn schedule_run(run: &ScheduleRun) -> Value {
    json!({
        "instant": iso(&run.instant),
        "job": run.job.map(|job| job.to_string()),
        "skipped": run.skipped,
        "since": run.since.as_ref().map(iso),
        "by_hand": run.by_hand,
        "actor": run.actor,
        "decided_at": iso(&run.decided_at),
    })
}
