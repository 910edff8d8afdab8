//! The clock of the database's host steps back. For what is stored that is as if it had all been
//! written so much later: the tests move the rows, not the clock.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use jobkit::Enqueue;
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Then};
use crate::lifecycle::{act, outcome};

in_a_lab![
    who_was_dead_before_a_step_back_is_reaped_one_lease_after_it,
    a_step_back_of_less_than_two_leases_costs_no_more_than_one,
    a_beat_leaves_the_leases_of_others_as_they_are,
    who_dies_after_a_step_back_is_reaped,
    a_worker_that_lives_outlives_a_step_back,
    a_small_step_back_costs_no_living_worker_its_lease,
    a_reaper_that_has_not_beaten_since_a_step_back_reaps_nobody,
    a_reaper_whose_lease_has_lapsed_reaps_nobody,
    a_reaper_waits_for_the_longer_of_two_leases,
    a_step_ahead_costs_no_living_worker_its_lease,
    an_operator_judges_by_the_lease_alone,
    a_sweep_that_began_later_than_now_makes_the_next_one_due,
    a_cancel_asked_for_later_than_now_is_completed,
];

/// Moves all times that are stored ahead, but for those of the history and of measures, and the one
/// that never comes. Beside workers and producers it takes its locks in another order than they do;
/// so it gives up and starts anew before the second is over after which the server fails one of
/// two that wait for each other.
pub(crate) async fn step_back(lab: &Lab, by: &str) {
    let step = format!(
        "set lock_timeout = 100; set statement_timeout = 900;
        do $$ declare v_sql text; begin
            for v_sql in
                select format('update jobkit.%I set ', c.relname)
                    || string_agg(format('%I = case when %1$I = jobkit.parked() then %1$I
                        else %1$I + interval %L end', a.attname, '{by}'), ', ')
                from pg_class c join pg_attribute a on a.attrelid = c.oid
                where c.relnamespace = 'jobkit'::regnamespace and c.relkind = 'r'
                    and c.relname !~ '^finished_[0-9]' and c.relname <> 'measures'
                    and a.atttypid = 'timestamptz'::regtype and not a.attisdropped
                group by c.relname
            loop execute v_sql; end loop;
        end $$"
    );
    let mut session = lab.session("clock").await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Err(error) = session.run(&step).await {
        assert!(Instant::now() < deadline, "others have the rows locked: {error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A worker whose last beat was so long ago, and that had been steady for ten minutes then.
async fn worker(lab: &Lab, id: i64, lease: &str, beat_ago: &str) {
    lab.run(&format!(
        "insert into jobkit.workers (id, name, queues, kinds, lease, heartbeat_at, lease_until,
            steady_since)
        select {id}, 'w', '{{default}}', '{{act}}', '{lease}', b, b + '{lease}',
            b - interval '10 min'
        from (select clock_timestamp() - interval '{beat_ago}' as b) b"
    ))
    .await;
}

/// A lab on a server that was started more than 20 s ago: no lease here is longer.
async fn after_the_start(lab: Lab) -> Lab {
    lab.until("pg_postmaster_start_time() + interval '20 s' < clock_timestamp()").await;
    lab
}

/// Whether a beat says that the lease had a gap.
async fn beat(lab: &Lab, worker: i64) -> bool {
    lab.value(&format!("select lapsed from jobkit.heartbeat({worker}, false)")).await
}

/// So much time passes in which a worker beats, and no other does.
async fn steady_for(lab: &Lab, worker: i64, time: &str) {
    lab.run(&format!(
        "update jobkit.workers set steady_since = steady_since - interval '{time}',
            heartbeat_at = heartbeat_at - interval '{time}' * (id <> {worker})::integer,
            lease_until = lease_until - interval '{time}' * (id <> {worker})::integer"
    ))
    .await;
}

/// Whom a worker reaps.
async fn reap(lab: &Lab, reaper: i64) -> String {
    let sql = "select coalesce(string_agg(w::text, ' ' order by w), '')";
    lab.value(&format!("{sql} from jobkit.reap_workers({reaper}) w")).await
}

pub(crate) async fn who_was_dead_before_a_step_back_is_reaped_one_lease_after_it(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "10 s").await;
    worker(&lab, 2, "20 s", "1 s").await;
    step_back(&lab, "5 min").await;
    assert_eq!(reap(&lab, 2).await, "");
    assert!(beat(&lab, 2).await, "what it knew is of no use any more");
    assert_eq!(reap(&lab, 2).await, "");
    steady_for(&lab, 2, "21 s").await;
    assert_eq!(reap(&lab, 2).await, "1");
    assert!(!beat(&lab, 2).await);
}

/// However far it went: what is stored does not say how far that was.
pub(crate) async fn a_step_back_of_less_than_two_leases_costs_no_more_than_one(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "1 s").await;
    worker(&lab, 2, "20 s", "1 s").await;
    step_back(&lab, "30 s").await;
    assert!(beat(&lab, 2).await);
    steady_for(&lab, 2, "10 s").await;
    assert_eq!(reap(&lab, 2).await, "", "it may have lived, and beats within a lease");
    steady_for(&lab, 2, "11 s").await;
    assert_eq!(reap(&lab, 2).await, "1");
}

/// Each has what is left of its own.
pub(crate) async fn a_beat_leaves_the_leases_of_others_as_they_are(lab: Lab) {
    worker(&lab, 1, "20 s", "4 s").await;
    worker(&lab, 2, "20 s", "1 s").await;
    let lease = "select lease_until from jobkit.workers where id = 1";
    let before: DateTime<Utc> = lab.value(lease).await;
    assert!(!beat(&lab, 2).await);
    assert_eq!(lab.value::<DateTime<Utc>>(lease).await, before);
}

pub(crate) async fn who_dies_after_a_step_back_is_reaped(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 2, "20 s", "1 s").await;
    step_back(&lab, "1 hour").await;
    beat(&lab, 2).await;
    steady_for(&lab, 2, "21 s").await;
    worker(&lab, 1, "5 s", "6 s").await;
    assert_eq!(reap(&lab, 2).await, "1");
}

/// However long its lease is, beside that of the reaper: it has one more of its own to beat.
pub(crate) async fn a_worker_that_lives_outlives_a_step_back(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "4 s").await;
    worker(&lab, 2, "2 s", "1 s").await;
    step_back(&lab, "1 hour").await;
    beat(&lab, 2).await;
    steady_for(&lab, 2, "10 s").await;
    assert_eq!(reap(&lab, 2).await, "");
    beat(&lab, 1).await;
    steady_for(&lab, 2, "10 s").await;
    assert_eq!(reap(&lab, 2).await, "");
    assert_eq!(lab.count("jobkit.workers").await, 2);
}

/// Its reaper does not notice the step, since it has not beaten for longer than that.
pub(crate) async fn a_small_step_back_costs_no_living_worker_its_lease(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "1 s").await;
    worker(&lab, 2, "20 s", "9 s").await;
    step_back(&lab, "5 s").await;
    assert!(!beat(&lab, 2).await);
    assert_eq!(reap(&lab, 2).await, "");
    let whole = "jobkit.workers where id = 1 and lease_until > clock_timestamp() + interval '11 s'";
    assert_eq!(lab.count(whole).await, 1, "it has a whole one to beat");
}

/// It cannot know, since its last beat was longer ago than the step went back. The other has a
/// shorter lease, and has beaten a moment ago.
pub(crate) async fn a_reaper_that_has_not_beaten_since_a_step_back_reaps_nobody(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "4 s", "0 s").await;
    worker(&lab, 2, "20 s", "10 s").await;
    step_back(&lab, "8 s").await;
    assert_eq!(reap(&lab, 2).await, "");
    assert_eq!(lab.count("jobkit.workers").await, 2);
}

/// Not before it has held a new one for as long as that lasts: the others had no chance either.
pub(crate) async fn a_reaper_whose_lease_has_lapsed_reaps_nobody(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "5 s", "6 s").await;
    worker(&lab, 2, "20 s", "21 s").await;
    assert_eq!(reap(&lab, 2).await, "");
    assert!(beat(&lab, 2).await);
    assert_eq!(reap(&lab, 2).await, "");
    steady_for(&lab, 2, "21 s").await;
    assert_eq!(reap(&lab, 2).await, "1");
}

/// After an outage the others get as long to beat as their own leases last.
pub(crate) async fn a_reaper_waits_for_the_longer_of_two_leases(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "21 s").await;
    worker(&lab, 2, "2 s", "3 s").await;
    assert!(beat(&lab, 2).await);
    lab.run("update jobkit.workers set lease_until = lease_until + interval '1 min' where id = 2")
        .await;
    steady_for(&lab, 2, "3 s").await;
    assert_eq!(reap(&lab, 2).await, "");
    steady_for(&lab, 2, "18 s").await;
    assert_eq!(reap(&lab, 2).await, "1");
}

/// All leases lapse at once, and all begin anew before anybody may judge.
pub(crate) async fn a_step_ahead_costs_no_living_worker_its_lease(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "4 s").await;
    worker(&lab, 2, "20 s", "1 s").await;
    step_back(&lab, "-1 hour").await;
    assert_eq!(reap(&lab, 2).await, "");
    assert!(beat(&lab, 2).await);
    assert_eq!(reap(&lab, 2).await, "");
    assert!(beat(&lab, 1).await);
    steady_for(&lab, 2, "15 s").await;
    assert!(!beat(&lab, 1).await);
    steady_for(&lab, 2, "15 s").await;
    assert_eq!(reap(&lab, 2).await, "");
    assert_eq!(lab.count("jobkit.workers").await, 2);
}

/// He cannot know how long each had to beat since.
pub(crate) async fn an_operator_judges_by_the_lease_alone(lab: Lab) {
    let lab = after_the_start(lab).await;
    worker(&lab, 1, "20 s", "4 s").await;
    step_back(&lab, "1 hour").await;
    assert_eq!(lab.count("jobkit.reap_workers()").await, 0);
    lab.run("update jobkit.workers set lease_until = now() - interval '1 s'").await;
    assert_eq!(lab.count("jobkit.reap_workers()").await, 1);
}

pub(crate) async fn a_sweep_that_began_later_than_now_makes_the_next_one_due(lab: Lab) {
    let begin = "select format('%s %s', due, explained) from jobkit.sweep_begin('1 hour')";
    Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    lab.run("update jobkit.jobs set cancel_requested_at = now()").await;
    assert_eq!(lab.value::<String>(begin).await, "t f");
    assert_eq!(lab.value::<String>(begin).await, "f f");
    step_back(&lab, "2 hours").await;
    assert_eq!(lab.value::<String>(begin).await, "t t");
    assert_eq!(lab.value::<String>(begin).await, "f f");
}

pub(crate) async fn a_cancel_asked_for_later_than_now_is_completed(lab: Lab) {
    let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    lab.run(&format!("select jobkit.cancel_mark('{{{job}}}')")).await;
    assert_eq!(lab.value::<i32>("select jobkit.sweep_cancelled(9)").await, 0);
    step_back(&lab, "1 hour").await;
    assert_eq!(lab.value::<i32>("select jobkit.sweep_cancelled(9)").await, 1);
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

/// All of it by a worker that runs: the job of a dead one is taken back, its own goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_takes_jobs_back_after_a_step_back_and_loses_none() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    lab.run("select jobkit.register(7, 'dead', '{default}', '{act}', '2 s')").await;
    let orphan = act(&lab, Then::Succeed).await;
    lab.run("select * from jobkit.claim(7, 1, '{act}', '{default}', '{1}')").await;
    let handle = lab.worker().lease(Duration::from_secs(4)).state(lab.pool().clone());
    let handle = handle.jobs(jobs::all()).queue("default", 10).start().await.unwrap();
    let long = act(&lab, Then::Sleep(Duration::from_secs(12))).await;
    lab.until(&format!("exists (select from effects where job_id = {long})")).await;
    let id: i64 = lab.value("select id from jobkit.workers where id <> 7").await;
    step_back(&lab, "1 hour").await;
    assert_eq!(outcome(&lab, orphan).await, "finish");
    assert_eq!(outcome(&lab, long).await, "finish");
    let attempts = "select string_agg(attempt::text, ' ' order by job_id) from jobkit.finished";
    assert_eq!(lab.value::<String>(attempts).await, "2 1");
    assert_eq!(lab.value::<i64>("select id from jobkit.workers").await, id);
    handle.stop().await;
    lab.check_invariants().await;
}
