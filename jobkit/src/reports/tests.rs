use std::time::Instant;

use super::*;
use crate::JobContext;
use crate::context::Report;
use crate::error::ContextError;
use crate::returned::Returned;
use crate::store::{ClaimId, Failure, Outcome};

const CLAIM: ClaimId = ClaimId { worker: 1, n: 7 };
const OF_CLAIM: (i64, i64) = (CLAIM.worker, CLAIM.n);

/// An attempt of a worker with these reports.
fn context(reports: &Arc<Reports>, hidden: &[&str]) -> (JobContext, Arc<Attempt>) {
    let mut attempt = Attempt::for_test();
    let hidden = hidden.iter().map(ToString::to_string).collect();
    let listener = Arc::downgrade(reports);
    attempt.report = Report::of(OF_CLAIM, Instant::now(), hidden, listener);
    let attempt = Arc::new(attempt);
    (JobContext::new(Arc::clone(&attempt), Arc::new(())), attempt)
}

fn settlement(outcome: Outcome) -> Settlement {
    Settlement::of(CLAIM, 0, outcome)
}

fn failed() -> Outcome {
    let failure = Failure::from("no".to_owned());
    Outcome::Retry { failure, delay: std::time::Duration::ZERO, reason: "exhausted" }
}

fn rows(reports: &Reports) -> Vec<Reported> {
    reports.take().unwrap_or_default().rows
}

#[test]
fn calls_between_two_beats_are_one_row_and_silence_is_none() {
    let reports = Arc::default();
    let (cx, _attempt) = context(&reports, &[]);
    assert!(reports.take().is_none());
    for done in 0..1000 {
        cx.progress(done, 1000, "rows");
    }
    let [row] = &*rows(&reports) else { panic!("one row") };
    assert_eq!((row.done, row.total, row.note.as_deref()), (Some(999), Some(1000), Some("rows")));
    assert!(reports.take().is_none(), "nothing is new");
    cx.progress(1000, None, "");
    let [row] = &*rows(&reports) else { panic!("one row") };
    assert_eq!((row.done, row.total, row.note.as_deref()), (Some(1000), None, None));
}

#[test]
fn what_could_not_be_written_is_written_again_as_it_is_by_then() {
    let reports = Arc::default();
    let (cx, _attempt) = context(&reports, &[]);
    cx.progress(1, 3, "");
    let batch = reports.take().expect("a row");
    cx.progress(2, 3, "");
    reports.put_back(batch);
    assert_eq!(rows(&reports).iter().map(|row| row.done).collect::<Vec<_>>(), [Some(2)]);
    cx.progress(3, 3, "");
    reports.settled(&settlement(failed()), None);
    let batch = reports.take().expect("a row");
    reports.put_back(batch);
    assert_eq!(rows(&reports).iter().map(|row| row.done).collect::<Vec<_>>(), [Some(3)]);
    assert!(reports.take().is_none());
}

#[test]
fn the_last_word_is_written_of_what_failed_or_is_kept() {
    let kept = Some(std::time::Duration::from_secs(1));
    for (outcome, keep, ending, written) in [
        (failed(), None, None, true),
        (Outcome::Release(None), None, None, true),
        (Outcome::Finish(Returned::Nothing), kept, None, true),
        (Outcome::Finish(Returned::Nothing), None, None, false),
        (Outcome::Finish(Returned::Nothing), None, Some(Ending::Cancelled), true),
        (failed(), None, Some(Ending::Lost), false),
    ] {
        let reports = Arc::default();
        let (cx, attempt) = context(&reports, &[]);
        cx.progress(1, 3, "");
        attempt.report.close();
        cx.progress(2, 3, "");
        let settlement = Settlement { keep, ..settlement(outcome) };
        reports.settled(&settlement, ending);
        cx.progress(3, 3, "left behind");
        let rows = rows(&reports);
        let expected: &[_] = if written { &[Some(2)] } else { &[] };
        assert_eq!(rows.iter().map(|row| row.done).collect::<Vec<_>>(), expected, "{settlement:?}");
    }
}

#[test]
fn what_ends_is_told_of_once_it_was_written() {
    let reports: Arc<Reports> = Arc::default();
    let (cx, attempt) = context(&reports, &[]);
    cx.progress(1, 3, "");
    assert_eq!(rows(&reports).len(), 1);
    attempt.say(|said| said.checkpointed = true);
    reports.settled(&settlement(Outcome::Finish(Returned::Nothing)), None);
    let batch = reports.take().expect("an end");
    assert_eq!((batch.rows.len(), &*batch.over, &*batch.unkept), (0, &[0][..], &[0][..]));
    assert!(reports.take().is_none());
}

#[test]
fn an_outcome_of_another_claim_ends_nothing() {
    let reports: Arc<Reports> = Arc::default();
    let (cx, _attempt) = context(&reports, &[]);
    cx.progress(1, 3, "");
    let other = Settlement::of(ClaimId { worker: 1, n: 6 }, 0, Outcome::Finish(Returned::Nothing));
    reports.settled(&other, Some(Ending::Lost));
    assert_eq!(rows(&reports).len(), 1);
}

#[test]
fn nobody_who_was_left_behind_begins_to_speak() {
    let reports: Arc<Reports> = Arc::default();
    let (cx, attempt) = context(&reports, &[]);
    attempt.report.close();
    cx.progress(1, 3, "");
    assert!(reports.take().is_none());
}

#[test]
fn a_note_has_no_hidden_text_and_an_end() {
    let reports = Arc::default();
    let (cx, _attempt) = context(&reports, &["s3cret"]);
    cx.progress(1, 3, &format!("with s3cret\0{}", "ä".repeat(200)));
    let [row] = &*rows(&reports) else { panic!("one row") };
    let note = row.note.as_deref().unwrap_or_default();
    assert!(note.starts_with("with •••\\0ä") && note.ends_with("ä…"), "{note}");
    assert!(note.len() <= 203, "{note}");
}

#[test]
fn a_statement_and_what_waits_for_it_have_an_end() {
    let reports: Arc<Reports> = Arc::default();
    let line = |text: &str| crate::context::Line {
        at: 0,
        level: "INFO",
        target: String::new(),
        text: text.repeat(500),
    };
    for job in 0..1_000 {
        let mut attempt = Attempt::for_test();
        attempt.id.0 = job;
        let listener = Arc::downgrade(&reports);
        attempt.report = Report::of(OF_CLAIM, Instant::now(), Vec::new(), listener);
        let attempt = Arc::new(attempt);
        (0..60).for_each(|_| Report::line(&attempt, line("x")));
        reports.settled(&Settlement { job, ..settlement(failed()) }, None);
    }
    let (mut statements, mut rows) = (0, 0);
    while let Some(batch) = reports.take() {
        let bytes: usize = batch.rows.iter().map(Reported::bytes).sum();
        assert!(bytes < STATEMENT + 50 * 700, "{bytes}");
        assert!(batch.rows.iter().all(|row| row.lines.len() == 50));
        (statements, rows) = (statements + 1, rows + batch.rows.len());
    }
    assert!((8..=9).contains(&statements) && (270..290).contains(&rows), "{statements} {rows}");
}

#[tokio::test]
async fn a_context_of_a_test_keeps_its_checkpoint() {
    let cx = JobContext::for_test(());
    assert_eq!(cx.last_checkpoint::<u32>().await.expect("memory"), None);
    cx.checkpoint(&7).await.expect("memory");
    assert_eq!(cx.last_checkpoint::<u32>().await.expect("memory"), Some(7));
    assert!(matches!(cx.last_checkpoint::<String>().await, Err(ContextError::Checkpoint(_))));
    let large = "x".repeat(64 * 1024);
    assert!(matches!(cx.checkpoint(&large).await, Err(ContextError::Invalid(_))));
    assert_eq!(cx.last_checkpoint::<u32>().await.expect("memory"), Some(7));
}
