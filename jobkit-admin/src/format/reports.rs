//! Progress and logs that attempts report.

use chrono::{DateTime, Utc};
use jobkit::admin::jobs::{AttemptReport, Checkpoint, KeptStep, LogLine, Progress};
use serde_json::{Value, json};

use crate::format::show::{ago, bytes, iso, worker};

/// The reported progress of an attempt.
pub(crate) fn progress(progress: &Progress) -> Value {
    json!({
        "done": progress.done,
        "total": progress.total,
        "percent": progress.percent(),
        "note": progress.note,
        "at": iso(&progress.at),
    })
}

/// Everything that an attempt reported.
pub(crate) fn json(report: &AttemptReport) -> Value {
    let line = |line: &LogLine| {
        json!({
            "at": iso(&line.at), "level": line.level, "target": line.target, "text": line.text,
        })
    };
    json!({
        "attempt": report.attempt,
        "worker": worker(&report.worker),
        "began_at": iso(&report.began_at),
        "progress": report.progress.as_ref().map(progress),
        "lines": report.lines.iter().map(line).collect::<Vec<_>>(),
    })
}

pub(crate) fn checkpoint(checkpoint: &Checkpoint) -> Value {
    json!({
        "attempt": checkpoint.attempt,
        "saved_at": iso(&checkpoint.saved_at),
        "bytes": checkpoint.bytes,
    })
}

pub(crate) fn step(step: &KeptStep) -> Value {
    let mut value = checkpoint(&step.saved);
    value["name"] = json!(step.name);
    value
}

/// `[####------] 40 of 100, importing rows (40 %, 3 s ago)`; without a bar if no total is known.
#[cfg(feature = "cli")]
pub(crate) fn said(progress: &Progress, now: &DateTime<Utc>) -> String {
    let ago = ago(&progress.at, now);
    let Some(percent) = progress.percent() else { return format!("{progress} ({ago})") };
    let full = usize::from(percent / 10);
    let bar = ["#".repeat(full), "-".repeat(10 - full)].concat();
    format!("[{bar}] {progress} ({percent} %, {ago})")
}

/// `by attempt 2, 3 s ago, 812 B`.
pub(crate) fn saved(checkpoint: &Checkpoint, now: &DateTime<Utc>) -> String {
    let Checkpoint { attempt, saved_at, bytes: size, .. } = checkpoint;
    format!("by attempt {attempt}, {}, {}", ago(saved_at, now), bytes(size))
}

/// `12:30:44.120 WARN shop::import: row 7 has no price`, one to a line.
pub(crate) fn log(lines: &[LogLine]) -> String {
    let line = |line: &LogLine| {
        let (at, level) = (line.at.format("%H:%M:%S%.3f"), &line.level);
        format!("{at} {level:5} {}: {}\n", line.target, line.text)
    };
    lines.iter().map(line).collect()
}
