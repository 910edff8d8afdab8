//! Operations beside others that work on the same jobs.

use std::time::Duration;

use jobkit::admin::jobs::JobQuery;
use jobkit::admin::operations::BulkAction;
use jobkit_tests::wait;

use super::bulk::cancel;
use super::kit::{Desk, settle};

/// T22: a discard of the second holder is under way when the first one finishes.
#[tokio::test]
async fn a_finish_behind_a_discard_unblocks_the_next_job_once() {
    for end in ["commit", "rollback"] {
        let desk = Desk::new().await;
        desk.limit(2).await;
        let jobs = desk.pay_all((0..3).map(|_| "a".to_owned())).await;
        let (n, claimed) = desk.claim().await;
        assert_eq!(claimed, jobs[..2]);
        desk.settle(n, jobs[1], "release").await;
        assert_eq!(desk.place(jobs[1]).await, "ready with a permit");
        desk.lab.run(&format!("select jobkit.cancel_mark('{{{}}}')", jobs[1])).await;

        let mut discard = desk.lab.session("discard").await;
        let take = format!("select jobkit.cancel_take('{{{}}}', 'discard', 'why')", jobs[1]);
        discard.run(&["begin; ", &take].concat()).await.unwrap();
        let mut finish = desk.lab.session("finish").await;
        let (pid, call) = (finish.pid, settle(n, jobs[0], "finish"));
        let finished = tokio::spawn(async move { finish.run(&call).await });
        desk.lab.until_blocked(pid, discard.pid).await;
        discard.run(end).await.unwrap();
        finished.await.unwrap().unwrap();

        assert_eq!(desk.place(jobs[2]).await, "ready with a permit", "{end}");
        let taken = desk.admin.semaphore("pay", "a").await.unwrap().unwrap().semaphore.taken;
        let expected = if end == "commit" { 1 } else { 2 };
        assert_eq!(taken, expected, "{end}");
        desk.lab.check_invariants().await;
    }
}

#[tokio::test]
async fn a_job_that_is_just_changing_hands_ends_as_soon_as_it_is_put_down() {
    let desk = Desk::new().await;
    let jobs = desk.pay_all(["a", "b"].map(str::to_owned)).await;
    let mut other = desk.lab.session("other").await;
    let hold = format!("begin; select from jobkit.ready where job_id = {} for update", jobs[0]);
    other.run(&hold).await.unwrap();
    let cancelled = desk.all(&cancel("")).await;
    assert_eq!((cancelled.total, cancelled.done, cancelled.stop_requested), (Some(2), 2, 1));
    let moved = desk.all(&BulkAction::Reschedule(JobQuery::default(), None)).await;
    assert_eq!((moved.total, moved.done, moved.skipped), (Some(1), 0, 1));
    other.run("commit").await.unwrap();
    // It is marked: a claim hands it out to be ended only, and so does this.
    let cancelled = desk.all(&cancel("")).await;
    assert_eq!((cancelled.done, cancelled.stop_requested), (1, 0));
    desk.lab.check_invariants().await;
}

/// What is enqueued after the beginning is not met, however long it takes.
#[tokio::test]
async fn jobs_that_come_later_are_not_met() {
    let desk = Desk::new().await;
    let first = desk.pay("a").await;
    let mut other = desk.lab.session("other").await;
    let hold = format!("begin; select from jobkit.jobs where id = {first} for update");
    other.run(&hold).await.unwrap();
    let admin = desk.admin.clone();
    let id = admin.begin_operation(&cancel(""), "", "once").await.unwrap().id;
    let cancelled = tokio::spawn(async move { admin.operation(id).run().await });
    let waits = "exists (select from pg_stat_activity
        where datname = current_database() and application_name = 'jobkit admin'
        and wait_event_type = 'Lock')";
    desk.lab.until(waits).await;
    let later = desk.pay("b").await;
    other.run("commit").await.unwrap();
    let cancelled = cancelled.await.unwrap().unwrap().unwrap();
    assert_eq!((cancelled.total, cancelled.done), (Some(1), 1));
    assert_eq!(desk.place(later).await, "ready");
    desk.lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_discard_beside_real_workers_leaves_nothing_behind() {
    let desk = Desk::without_worker().await;
    let workers = [desk.start().await, desk.start().await];
    desk.limit(3).await;
    for _round in 0..3 {
        let jobs = desk.pay_all((0..400).map(|i| (i % 4).to_string())).await;
        let runs = "count(*) = 12 from jobkit.permits p
            join jobkit.claims c on p.job_id = any (c.job_ids)";
        desk.lab.until(runs).await;
        let discarded = desk.all(&BulkAction::Discard(JobQuery::default())).await;
        assert_eq!((discarded.done, discarded.skipped), (jobs.len() as u64, 0));
        assert!(discarded.done - discarded.stop_requested >= 388 - 20, "{discarded:?}");
        desk.lab.until("not exists (select from jobkit.jobs)").await;
        desk.lab.check_invariants().await;
        assert_eq!(desk.lab.count("jobkit.semaphores").await, 0);
    }
    let none = async || desk.all(&cancel("state:running")).await.done == 0;
    wait(Duration::from_secs(10), "nothing runs", none).await;
    for worker in workers {
        worker.stop().await;
    }
    desk.lab.check_invariants().await;
}
