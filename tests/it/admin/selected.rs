//! Operations on jobs and dead letters that were selected one by one.

use jobkit::JobId;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterId};
use jobkit::admin::jobs::State;
use jobkit::admin::operations::{BulkAction, OperationState, Selected};
use jobkit::admin::{AdminError, Count};
use jobkit::error::InvalidValue;

use super::kit::Desk;

/// With whom an operation did not go as asked.
async fn skipped(desk: &Desk, id: i64) -> Vec<(i64, String)> {
    let results = desk.admin.operation(id).results().await.unwrap();
    results.into_iter().map(|result| (result.subject, result.outcome)).collect()
}

#[tokio::test]
async fn only_the_selected_jobs_are_cancelled_and_it_says_of_which_it_could_not() {
    let desk = Desk::new().await;
    let (_, running) = desk.running("a").await;
    let blocked = desk.blocked("a").await;
    let later = desk.pay_later("b").await;
    let ready = desk.pay_all((0..30).map(|n| format!("c{n}"))).await;
    let gone = ready[29];
    let nobody = JobId(i64::MAX);
    let mut jobs = vec![nobody, running, blocked, later, gone, later];
    jobs.extend(&ready[..20]);
    let action = BulkAction::Selected(Selected::Cancel(jobs));
    let preview = desk.admin.preview(&action).await.unwrap();
    assert_eq!((preview.count, preview.jobs.len()), (Count::Exactly(24), 5));
    let begun = desk.begin(&action, "click").await;
    assert_eq!((&*begun.verb, begun.total), ("cancel", Some(24)));
    let ids = begun.filter["ids"].as_array().unwrap();
    assert!(ids.len() == 25 && ids.contains(&nobody.to_string().into()), "{ids:?}");
    desk.admin.job(gone).cancel().await.unwrap();
    let ended = desk.finish(begun.id, 7).await;
    assert_eq!((ended.state, ended.done, ended.skipped), (OperationState::Done, 23, 2));
    assert!(desk.job(running).await.cancel_requested && ended.stop_requested == 1);
    let mut told =
        vec![(gone.0, "already ended".to_owned()), (nobody.0, "already ended".to_owned())];
    told.sort();
    assert_eq!(skipped(&desk, begun.id).await, told);
    assert_eq!(desk.place(later).await, "cancel: cancelled");
    for job in &ready[20..29] {
        assert_eq!(desk.state(*job).await, State::Ready, "it was not selected");
    }
}

#[tokio::test]
async fn selected_jobs_are_discarded_for_a_reason_and_run_at_once() {
    let desk = Desk::new().await;
    let (first, second) = (desk.pay_later("a").await, desk.pay_later("b").await);
    let now = BulkAction::Selected(Selected::Reschedule(vec![first], None));
    let begun = desk.begin(&now, "a").await;
    let ended = desk.finish(begun.id, 500).await;
    assert_eq!((&*ended.verb, ended.done), ("reschedule", 1));
    assert_eq!(
        (desk.state(first).await, desk.state(second).await),
        (State::Ready, State::Scheduled)
    );
    let discard = BulkAction::Selected(Selected::Discard(vec![first, second]));
    let begun = desk.admin.begin_operation(&discard, "no such account", "b").await.unwrap();
    assert_eq!(desk.finish(begun.id, 500).await.done, 2);
    assert_eq!(desk.place(first).await, "discard: no such account");
}

#[tokio::test]
async fn only_the_selected_dead_letters_are_replayed_and_discarded() {
    let desk = Desk::new().await;
    desk.letters(30).await;
    let all = desk.admin.dead_letters(&DeadLetterFilter::all(), None, 100).await.unwrap().entries;
    let ids: Vec<_> = all.iter().map(|entry| entry.id).collect();
    desk.admin.dead_letter(ids[0]).replay().await.unwrap();
    let nobody = DeadLetterId(i64::MAX);
    let selected = [&ids[..20], &[nobody]].concat();
    let replay = BulkAction::Selected(Selected::Replay(selected.clone()));
    let preview = desk.admin.preview(&replay).await.unwrap();
    assert_eq!((preview.count, preview.dead_letters.len()), (Count::Exactly(19), 5));
    let begun = desk.begin(&replay, "replay").await;
    let ended = desk.finish(begun.id, 7).await;
    assert_eq!((&*ended.verb, ended.done, ended.skipped), ("replay", 19, 2));
    let mut told =
        vec![(ids[0].0, "replaying".to_owned()), (nobody.0, "does not exist".to_owned())];
    told.sort();
    assert_eq!(skipped(&desk, begun.id).await, told);
    let open = desk.admin.count_dead_letters(&DeadLetterFilter::all()).await.unwrap();
    assert_eq!(open, Count::Exactly(10));
    // Those that are replayed stay.
    let discard = BulkAction::Selected(Selected::DiscardDeadLetters(ids[15..25].to_vec()));
    let begun = desk.begin(&discard, "discard").await;
    let ended = desk.finish(begun.id, 500).await;
    assert_eq!((&*ended.verb, ended.done, ended.skipped), ("discard_dead_letters", 5, 5));
    assert_eq!(desk.lab.count("jobkit.dead_letters").await, 25);
}

#[tokio::test]
async fn what_failed_again_since_or_is_in_other_hands_is_left_alone() {
    let desk = Desk::new().await;
    desk.letters(3).await;
    let all = desk.admin.dead_letters(&DeadLetterFilter::all(), None, 100).await.unwrap().entries;
    let ids: Vec<_> = all.iter().map(|entry| entry.id).collect();
    let replay = BulkAction::Selected(Selected::Replay(ids.clone()));
    let begun = desk.begin(&replay, "replay").await;
    let again = format!("set failed_at = clock_timestamp() where id = {}", ids[0]);
    desk.lab.run(&format!("update jobkit.dead_letters {again}")).await;
    let mut holder = desk.lab.direct().begin().await.unwrap();
    sqlx::query("select from jobkit.dead_letters where id = $1 for update")
        .bind(ids[1].0)
        .execute(&mut *holder)
        .await
        .unwrap();
    let ended = desk.finish(begun.id, 500).await;
    holder.rollback().await.unwrap();
    assert_eq!((ended.done, ended.skipped), (1, 2));
    let mut told = vec![
        (ids[0].0, "failed again".to_owned()),
        (ids[1].0, "locked by another session".to_owned()),
    ];
    told.sort();
    assert_eq!(skipped(&desk, begun.id).await, told);
}

#[tokio::test]
async fn one_to_five_hundred_can_be_selected() {
    let desk = Desk::without_worker().await;
    for number in [0, 501] {
        let jobs = (0..number).map(JobId).collect();
        let action = BulkAction::Selected(Selected::Cancel(jobs));
        let refused = desk.admin.begin_operation(&action, "", "k").await.unwrap_err();
        assert!(matches!(refused, AdminError::Invalid(InvalidValue::Range { .. })), "{refused}");
    }
    let action = BulkAction::Selected(Selected::Cancel((0..500).map(JobId).collect()));
    assert_eq!(desk.begin(&action, "k").await.total, Some(0));
}
