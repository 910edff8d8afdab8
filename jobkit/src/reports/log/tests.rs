use std::time::Instant;

use tracing::{Instrument, debug, info, info_span, warn};
use tracing_subscriber::prelude::*;

use super::*;
use crate::reports::Reports;

/// Runs with a log of an attempt that hides these texts, and answers what it kept.
fn logged(log: AttemptLog, hidden: &[&str], run: impl FnOnce()) -> Vec<String> {
    let reports: Arc<Reports> = Arc::default();
    let subscriber = tracing_subscriber::registry().with(log);
    tracing::subscriber::with_default(subscriber, || {
        let span = info_span!(target: "jobkit::worker::run", "jobkit.run", job.id = 7);
        let mut attempt = Attempt::for_test();
        let hidden = hidden.iter().map(ToString::to_string).collect();
        attempt.report = Report::of((1, 7), Instant::now(), hidden, Arc::downgrade(&reports) as _);
        let attempt = Arc::new(attempt);
        logged_by(&attempt);
        info!("before");
        span.in_scope(run);
        info!("after");
    });
    let rows = reports.take().unwrap_or_default().rows;
    let lines = rows.into_iter().flat_map(|row| row.lines);
    lines.map(|line| format!("{} {}", line.level, line.text)).collect()
}

#[test]
fn what_is_logged_within_the_span_is_kept_with_its_fields() {
    let lines = logged(AttemptLog::new(), &[], || {
        info!(row = 7, name = "x", "imported");
        info_span!("inner").in_scope(|| warn!(error = ?Some(1), "nearly {}", "done"));
        debug!("not this");
    });
    assert_eq!(lines, ["INFO imported row=7 name=x", "WARN nearly done error=Some(1)"]);
}

#[test]
fn the_level_is_as_low_as_wanted() {
    let run = || {
        info!("this");
        debug!("and this");
    };
    assert_eq!(logged(AttemptLog::new().level(LevelFilter::WARN), &[], run), [""; 0]);
    let lines = logged(AttemptLog::new().level(LevelFilter::DEBUG), &[], run);
    assert_eq!(lines, ["INFO this", "DEBUG and this"]);
}

#[test]
fn a_task_that_carries_the_span_is_heard() {
    let lines = logged(AttemptLog::new(), &[], || {
        let work = async { info!("from a task") }.in_current_span();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async { tokio::spawn(work).await.expect("it ends") });
    });
    assert_eq!(lines, ["INFO from a task"]);
}

#[test]
fn the_last_fifty_lines_are_kept() {
    let lines = logged(AttemptLog::new(), &[], || (0..120).for_each(|n| info!("line {n}")));
    assert_eq!(lines.len(), 50);
    assert_eq!([&*lines[0], &*lines[49]], ["INFO line 70", "INFO line 119"]);
}

#[test]
fn hidden_texts_are_taken_out_wherever_a_line_is_cut() {
    let secret = "s3cret".repeat(20);
    for before in [0, 450, LOOKED_AT - 60, LOOKED_AT - 1] {
        let lines = logged(AttemptLog::new(), &[&secret], || {
            info!("{}{secret}{}", "x".repeat(before), "y".repeat(before));
            info!(secret, "{}", "x".repeat(before));
        });
        for line in lines {
            assert!(!line.contains("s3c"), "{before}: {line}");
            assert!(line.len() < 520, "{before}: {}", line.len());
        }
    }
    let lines = logged(AttemptLog::new(), &["y"], || info!("{}\0", "y".repeat(20 * LOOKED_AT)));
    assert!(lines[0].starts_with("INFO •••") && lines[0].ends_with('…'), "{lines:?}");
}
