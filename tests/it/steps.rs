//! The clock steps back or ahead, by an hour and by a day, under all that goes by a stored time.
//! As in `clock.rs` the tests move what is stored. What was to wait for seconds goes on within
//! seconds; what is meant for a time of the calendar comes late by the step, and is not lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobkit::admin::limits::{Change, To};
use jobkit::admin::operations::BulkAction;
use jobkit::enqueue::{EnqueueError, Pending};
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, JobId, Registration, WorkerHandle, job};
use jobkit_tests::{Lab, announce_group, announce_limiter};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::clock::step_back;
use crate::jobs::{self, Act, EFFECTS, Noop, Then};

in_a_lab![
    a_bound_counts_anew,
    a_slot_that_was_kept_before_a_step_back_counts_for_nothing,
    a_pause_of_a_limiter_lasts_no_longer_than_it_was_to,
    a_later_pause_of_a_key_is_no_longer_than_it_says,
    what_is_stuck_is_tried_again,
    an_operation_rests_for_a_second_at_most,
    an_acknowledgement_silences_nothing_that_comes_later,
    what_is_due_in_an_hour_comes_late_and_is_not_lost,
];

/// How far: back, and ahead.
const STEPS: [&str; 4] = ["1 hour", "1 day", "-1 hour", "-1 day"];

/// Back.
const BACK: [&str; 2] = [STEPS[0], STEPS[1]];

/// How long it may take until all goes on.
const SOON: Duration = Duration::from_secs(40);

#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "k", rate = "10/s", burst = 2)]
struct Paced;

impl Job<PgPool> for Paced {
    async fn run(self, _cx: JobContext<PgPool>) -> jobkit::Result {
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "k")]
struct Resting;

impl Job<PgPool> for Resting {
    async fn run(self, _cx: JobContext<PgPool>) -> jobkit::Result {
        Ok(())
    }
}

/// Is told to wait twice.
#[derive(Serialize, Deserialize)]
#[job]
struct Busy;

impl Job<PgPool> for Busy {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        match cx.snoozes() {
            0 | 1 => Err(JobError::wait(Duration::from_millis(10), "429")),
            _ => Ok(()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[job(coalesce_key = "k")]
struct Once;

impl Job<PgPool> for Once {
    async fn run(self, _cx: JobContext<PgPool>) -> jobkit::Result {
        Ok(())
    }
}

fn unique() -> Pending<Act> {
    Act::then(Then::Succeed).options().unique_key("k").queue("held")
}

/// What waits in a queue that is paused: a job with a unique key, which is returned, and others
/// that will fail, snooze or be told to wait, as some have been before.
async fn hold(lab: &Lab) -> JobId {
    Admin::new(lab.pool()).queue("held").pause("").await.unwrap();
    let first = unique().enqueue(lab.pool()).await.unwrap();
    let again = [Then::FailTimes(2), Then::SnoozeTimes(2)].map(Act::then);
    let again = again.into_iter().map(|act| act.options().queue("held"));
    jobkit::enqueue_all(again, lab.pool()).await.unwrap();
    let busy = (0..3).map(|_| Busy.options().queue("held"));
    jobkit::enqueue_all(busy, lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..5).map(|_| Once.options().queue("held")), lab.pool()).await.unwrap();
    lab.run("update jobkit.jobs set waits_since = clock_timestamp() where kind = 'busy'").await;
    first
}

/// Enqueues duplicates of a unique key, in transactions that overlap, until told.
async fn produce(pool: PgPool, at: u64, stop: Arc<AtomicBool>) {
    tokio::time::sleep(Duration::from_millis(at)).await;
    while !stop.load(Ordering::Relaxed) {
        let mut tx = pool.begin().await.unwrap();
        unique().enqueue(&mut *tx).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        tx.commit().await.unwrap();
    }
}

/// The clock steps; what is paused is resumed, and the unique job runs although they go on.
async fn the_clock_steps_beside_producers(lab: &Lab, by: &str, unique: JobId) {
    let stop = Arc::new(AtomicBool::new(false));
    let producers =
        [0, 25, 50, 75].map(|at| tokio::spawn(produce(lab.pool().clone(), at, Arc::clone(&stop))));
    let all = "count(*) = 4 from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'";
    lab.until(all).await;
    step_back(lab, by).await;
    let admin = Admin::new(lab.pool());
    admin.queue("full").resume().await.unwrap();
    admin.queue("held").resume().await.unwrap();
    let ran = format!("exists (select from effects where job_id = {unique})");
    lab.until_within(SOON, &ran).await;
    stop.store(true, Ordering::Relaxed);
    for producer in producers {
        producer.await.unwrap();
    }
}

async fn start(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().lease(Duration::from_secs(4)).state(lab.pool().clone());
    let own = [Registration::of::<Paced, _>(), Registration::of::<Resting, _>()];
    let own = own.into_iter().chain([Registration::of::<Busy, _>(), Registration::of::<Once, _>()]);
    let worker = worker.jobs(jobs::all().into_iter().chain(own));
    let queues = ["default", "limited", "full", "held"];
    queues.into_iter().fold(worker, |worker, queue| worker.queue(queue, 20)).start().await.unwrap()
}

/// Everything of it at once, with a worker that lives.
async fn all_goes_on_after(by: &str) {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let admin = Admin::new(lab.pool());
    let worker = start(&lab).await;
    lab.run(
        "select jobkit.set_limit('queue', 'limited', null,
            '{\"rate\": {\"every\": \"100 ms\", \"burst\": 20}}')",
    )
    .await;
    lab.run("select jobkit.pause_key('resting', 'k', '10 s')").await;
    admin.queue("full").pause("").await.unwrap();
    let _ = admin.queue("full").set(&Change::new().waiting(5)).await.unwrap();
    jobkit::enqueue_all((0..5).map(|_| Noop.options().queue("full")), lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..60).map(|_| Paced), lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..3).map(|_| Resting), lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..100).map(|_| Noop.options().queue("limited")), lab.pool())
        .await
        .unwrap();
    let unique = hold(&lab).await;
    let later = Duration::from_secs(7 * 24 * 3600);
    let delayed = |_| Act::then(Then::Succeed).options().after(later).tags(["gone"]);
    jobkit::enqueue_all((0..30).map(delayed), lab.pool()).await.unwrap();
    let gone = BulkAction::Cancel("tag:gone".parse().unwrap());
    let _begun = admin.begin_operation(&gone, "", "once").per_second(10).await.unwrap();
    lab.until(
        "exists (select from jobkit.bounds where full_since is not null)
        and exists (select from jobkit.turns where tat > clock_timestamp())
        and exists (select from jobkit.semaphores where concurrency_group = 'paced'
            and tat > clock_timestamp())
        and (select count(*) from jobkit.blocked_executions
            where concurrency_group = 'resting') = 3",
    )
    .await;
    the_clock_steps_beside_producers(&lab, by, unique).await;
    lab.until_within(SOON, "not exists (select from jobkit.jobs where tags is null)").await;
    jobkit_tests::wait(SOON, "the queue opens", || async {
        !matches!(
            Noop.options().queue("full").enqueue(lab.pool()).await,
            Err(EnqueueError::QueueFull(_))
        )
    })
    .await;
    lab.until_within(SOON, "not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_goes_on_after_a_step_back_of_an_hour() {
    all_goes_on_after(STEPS[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_goes_on_after_a_step_back_of_a_day() {
    all_goes_on_after(STEPS[1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_goes_on_after_a_step_ahead_of_an_hour() {
    all_goes_on_after(STEPS[2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_goes_on_after_a_step_ahead_of_a_day() {
    all_goes_on_after(STEPS[3]).await;
}

/// Neither does an empty queue refuse nor does one let in more than may wait; with a worker that
/// looks, and without.
pub(crate) async fn a_bound_counts_anew(lab: Lab) {
    let admin = Admin::new(lab.pool());
    let add = async || Noop.enqueue(lab.pool()).await.map(drop);
    for by in STEPS {
        for looks in [true, false] {
            let _ = admin.queue("default").set(&Change::new().waiting(3)).await.unwrap();
            for _ in 0..3 {
                add().await.unwrap();
            }
            lab.run("select jobkit.look_at_bounds('default')").await;
            assert!(matches!(add().await, Err(EnqueueError::QueueFull(_))), "{by}");
            step_back(&lab, by).await;
            lab.run("delete from jobkit.ready; delete from jobkit.jobs").await;
            if looks {
                assert_eq!(lab.value::<i32>("select jobkit.look_at_bounds()").await, 1, "{by}");
            }
            add().await.unwrap();
            lab.run("select jobkit.look_at_bounds('default')").await;
            step_back(&lab, by).await;
            for _ in 0..2 {
                add().await.unwrap();
            }
            if looks {
                assert_eq!(lab.value::<i32>("select jobkit.look_at_bounds()").await, 1, "{by}");
            }
            assert!(matches!(add().await, Err(EnqueueError::QueueFull(_))), "{by}");
            lab.run("delete from jobkit.ready; delete from jobkit.jobs").await;
            let _ = admin.queue("default").set(&Change::new().waiting(To::Reset)).await.unwrap();
        }
    }
}

/// A slot of a limiter, as `wait in seconds, taken`.
async fn take(lab: &Lab, job: i64, most: &str) -> (f64, bool) {
    let sql = format!(
        "select array[extract(epoch from wait)::float8, taken::integer::float8]
        from jobkit.take_slot('api', 'api', {job}, '{most}')"
    );
    let row: Vec<f64> = lab.value(&sql).await;
    (row[0], row[1] > 0.5)
}

async fn limiter(lab: &Lab) {
    lab.run(&announce_limiter("api", "10 s")).await;
}

/// Nobody waits longer than a minute behind slots that nobody will take.
pub(crate) async fn a_slot_that_was_kept_before_a_step_back_counts_for_nothing(lab: Lab) {
    limiter(&lab).await;
    for by in STEPS {
        assert!(take(&lab, 1, "1 s").await.1);
        for job in 2..30 {
            assert!(!take(&lab, job, "1 s").await.1);
        }
        step_back(&lab, by).await;
        let (wait, _) = take(&lab, 99, "1 min").await;
        assert!(wait <= 70.0, "{by}: {wait} s");
        let (wait, _) = take(&lab, 29, "1 min").await;
        assert!(wait <= 80.0, "{by}: {wait} s");
        lab.run("delete from jobkit.kept_slots; update jobkit.semaphores set tat = null").await;
    }
}

pub(crate) async fn a_pause_of_a_limiter_lasts_no_longer_than_it_was_to(lab: Lab) {
    limiter(&lab).await;
    for by in BACK {
        lab.run("select jobkit.pause_key('api', 'api', '30 s')").await;
        step_back(&lab, by).await;
        let (wait, _) = take(&lab, 1, "1 min").await;
        assert!(wait <= 30.0, "{by}: {wait} s");
        let left = "select extract(epoch from paused_until - clock_timestamp())::float8
            from jobkit.semaphores";
        assert!(lab.value::<f64>(left).await <= 30.0, "the others ask behind the same pause");
        lab.run("delete from jobkit.semaphores; delete from jobkit.kept_slots").await;
    }
}

/// Of two pauses the one that ends later holds, but not one that ends so late by the step alone.
pub(crate) async fn a_later_pause_of_a_key_is_no_longer_than_it_says(lab: Lab) {
    lab.run(&announce_group("g", 1)).await;
    let left = "select extract(epoch from paused_until - clock_timestamp())::float8 || ' ' ||
        extract(epoch from paused_for)::float8 from jobkit.semaphores";
    let left_of = async || {
        let text: String = lab.value(left).await;
        text.split(' ').map(|part| part.parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    for by in BACK {
        lab.run("select jobkit.pause_key('g', 'k', '30 s')").await;
        step_back(&lab, by).await;
        lab.run("select jobkit.pause_key('g', 'k', '10 s')").await;
        let left = left_of().await;
        assert!((25.0..=30.0).contains(&left[0]) && left[1] <= 30.0, "{by}: {left:?}");
        // One that is over says nothing of the next.
        lab.run("update jobkit.semaphores set paused_until = null").await;
        lab.run("select jobkit.pause_key('g', 'k', '10 s')").await;
        let left = left_of().await;
        assert!(left[0] <= 10.0 && left[1] <= 10.0, "{by}: {left:?}");
        lab.run("delete from jobkit.due_keys; delete from jobkit.semaphores").await;
    }
}

/// By whatever was to be left alone for five minutes at most.
pub(crate) async fn what_is_stuck_is_tried_again(lab: Lab) {
    for by in BACK {
        lab.run("select jobkit.stick('settle', '{7}', '{oops}', 1)").await;
        assert_eq!(lab.value::<Vec<i64>>("select jobkit.stuck()").await, [7]);
        step_back(&lab, by).await;
        assert_eq!(lab.value::<Vec<i64>>("select jobkit.stuck()").await, [0; 0], "{by}");
    }
}

pub(crate) async fn an_operation_rests_for_a_second_at_most(lab: Lab) {
    let admin = Admin::new(lab.pool());
    let later = Duration::from_secs(7 * 24 * 3600);
    for by in BACK {
        jobkit::enqueue_all((0..9).map(|_| Noop.options().after(later)), lab.pool()).await.unwrap();
        let noops = BulkAction::Cancel("kind:noop".parse().unwrap());
        let _begun = admin.begin_operation(&noops, "", by).per_second(3).await.unwrap();
        let step = "select coalesce(jobkit.operate(max(id), 1000), 'rests') from jobkit.operations";
        let step = async || lab.value::<String>(step).await;
        while step().await != "rests" {}
        step_back(&lab, by).await;
        assert_eq!(step().await, "step", "{by}");
        lab.run(
            "delete from jobkit.operations; delete from jobkit.scheduled; delete from jobkit.jobs",
        )
        .await;
    }
}

/// Whatever an operator acknowledged before the step back.
pub(crate) async fn an_acknowledgement_silences_nothing_that_comes_later(lab: Lab) {
    let admin = Admin::new(lab.pool());
    let lost = "insert into jobkit.lost_workers (id, name, jobs) values (7, 'web-2:7', 0)";
    for by in BACK {
        lab.run(lost).await;
        assert!(admin.attention("lost_worker", "web-2").acknowledge(None, "").await.unwrap());
        assert_eq!(admin.overview().await.unwrap().attention, [], "{by}");
        step_back(&lab, by).await;
        lab.run("delete from jobkit.lost_workers").await;
        lab.run(lost).await;
        assert_eq!(admin.overview().await.unwrap().attention.len(), 1, "{by}");
        assert!(admin.attention("lost_worker", "web-2").acknowledge(None, "").await.unwrap());
        assert_eq!(admin.overview().await.unwrap().attention, [], "{by}");
        lab.run("delete from jobkit.lost_workers").await;
    }
}

/// A job that waits for its time, a retry and the replay of a dead letter: they have no other time
/// than the one that is stored.
pub(crate) async fn what_is_due_in_an_hour_comes_late_and_is_not_lost(lab: Lab) {
    let hour = Duration::from_secs(3600);
    let job = Noop.options().after(hour).enqueue(lab.pool()).await.unwrap();
    step_back(&lab, "1 hour").await;
    assert_eq!(lab.value::<i32>("select promoted from jobkit.promote(9)").await, 0);
    let due = "select extract(epoch from run_at - clock_timestamp())::float8 from jobkit.jobs";
    assert!((7100.0..=7200.0).contains(&lab.value::<f64>(due).await));
    step_back(&lab, "-2 hours").await;
    assert_eq!(lab.value::<i32>("select promoted from jobkit.promote(9)").await, 1);
    assert_eq!(lab.count(&format!("jobkit.ready where job_id = {job}")).await, 1);
}
