//! Schedules keep their instants: whatever the clock, other binaries and other rules of time zones
//! did, each is fired or in the history.

use std::time::Duration;

use chrono::{DateTime, Utc};
use jobkit::schedule::ZoneRules;
use jobkit::{Enqueue, Worker};
use jobkit_tests::Lab;
use serde_json::json;

use crate::jobs::{self, Act, Noop, Then};

/// A worker that looks at all schedules several times a second.
fn worker(lab: &Lab) -> Worker {
    let worker = lab.worker().sweep_every(Duration::from_millis(10));
    worker.state(lab.pool().clone()).jobs(jobs::all()).queue("default", 10)
}

async fn declare(worker: Worker) {
    worker.start().await.unwrap().stop().await;
}

async fn next_at(lab: &Lab) -> DateTime<Utc> {
    lab.value("select next_at from jobkit.schedules").await
}

/// As other rules of time zones, another binary or a clock that was ahead have stored it.
#[tokio::test]
async fn a_next_instant_that_is_later_than_the_times_say_is_brought_forward() {
    let lab = Lab::new().await;
    let yearly = || worker(&lab).schedule("yearly", "0 3 1 7 * Europe/Berlin", Noop);
    declare(yearly()).await;
    let next = next_at(&lab).await;
    for later in ["next_at + interval '1 h'", "next_at + interval '1 year'"] {
        // By a start that declares the same.
        lab.run(&format!("update jobkit.schedules set next_at = {later}")).await;
        declare(yearly()).await;
        assert_eq!(next_at(&lab).await, next, "{later}");
        // By any worker, whoever made the schedule.
        lab.run(&format!("update jobkit.schedules set next_at = {later}")).await;
        let other = worker(&lab).start().await.unwrap();
        lab.until(&format!("exists (select from jobkit.schedules where next_at = '{next}')")).await;
        other.stop().await;
    }
}

/// What these times do not have, another binary has stored, and it is due.
#[tokio::test]
async fn an_instant_of_other_rules_is_fired_or_recorded() {
    let lab = Lab::new().await;
    declare(worker(&lab).schedule("yearly", "0 3 1 7 *", Noop)).await;
    lab.run("update jobkit.schedules set next_at = now() - interval '1 min'").await;
    let worker = worker(&lab).start().await.unwrap();
    lab.until("exists (select from jobkit.schedule_runs where job_id is not null)").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.schedule_runs").await, 1);
    assert_eq!(lab.count("jobkit.schedules where next_at > now()").await, 1);
}

/// The clock was ahead by so much, or behind, while workers fired; then it was set right. As in
/// other tests of clocks, what is stored moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_outlives_a_clock_that_was_wrong() {
    let lab = Lab::new().await;
    for (name, wrong) in [("a", "1 h"), ("b", "1 d"), ("c", "-1 h"), ("d", "-1 d")] {
        let tick = || worker(&lab).schedule(name, "every 1s", Noop);
        let running = tick().start().await.unwrap();
        let fired =
            format!("jobkit.schedule_runs where schedule = '{name}' and job_id is not null");
        lab.until(&format!("(select count(*) from {fired}) >= 2")).await;
        running.stop().await;
        lab.run(&format!(
            "update jobkit.schedules set next_at = next_at + interval '{wrong}',
                last_at = last_at + interval '{wrong}' where name = '{name}';
            update jobkit.schedule_runs set instant = instant + interval '{wrong}',
                decided_at = decided_at + interval '{wrong}' where schedule = '{name}';
            insert into jobkit.schedule_runs (schedule, instant, skipped, decided_at)
            select '{name}', date_trunc('second', now()) + n * interval '1 s', 'missed',
                now() + interval '{wrong}'
            from generate_series(1, 60) n where interval '{wrong}' > '0';
            insert into jobkit.schedule_runs (schedule, instant, skipped, since, decided_at)
            select '{name}', now() + interval '{wrong}' - interval '2 min', 'missed',
                now() - interval '1 min', now() + interval '{wrong}'
            where interval '{wrong}' > '0'"
        ))
        .await;
        let began: DateTime<Utc> = lab.value("select now()").await;
        let running = tick().start().await.unwrap();
        let right = format!("{fired} and instant between '{began}' and now()");
        lab.until(&format!("(select count(*) from {right}) >= 2")).await;
        running.stop().await;
        // No instant between the first and the last of these is without a record.
        let gaps = format!(
            "(select instant - lag(instant) over (order by instant) as rest
            from jobkit.schedule_runs where schedule = '{name}' and since is null
                and instant between '{began}' and now()) i where rest > '1 s'"
        );
        assert_eq!(lab.count(&gaps).await, 0, "{wrong}");
        if !wrong.starts_with('-') {
            // What stands for many goes on up to where these begin.
            let many = format!("jobkit.schedule_runs where schedule = '{name}' and since");
            let until = format!("< '{began}' and instant between '{began}' and now()");
            assert_eq!(lab.count(&format!("{many} {until}")).await, 1, "{wrong}");
            assert_eq!(lab.count(&format!("{many} < instant")).await, 1, "{wrong}");
        }
        lab.run(&format!("select jobkit.delete_schedule('{name}', 'me')")).await;
    }
}

async fn times(lab: &Lab) -> String {
    lab.value("select times from jobkit.schedules").await
}

#[tokio::test]
async fn an_older_binary_that_restarts_sets_nothing_back() {
    let lab = Lab::new().await;
    let old = || worker(&lab).schedule("tick", "every 1h", Noop);
    let new = || worker(&lab).schedule("tick", "every 2h", Noop);
    declare(old()).await;
    let running = new().start().await.unwrap();
    assert_eq!(times(&lab).await, "every 2h");
    declare(old()).await;
    assert_eq!(times(&lab).await, "every 2h");
    // The new release is taken back.
    running.stop().await;
    declare(old()).await;
    assert_eq!(times(&lab).await, "every 1h");
}

/// Its payload says which process it is, as a host's name or a map's order may.
#[tokio::test]
async fn a_payload_of_a_process_makes_it_no_other_release() {
    let lab = Lab::new().await;
    let declaring = |times: &'static str, process: &'static str| {
        let job = Act::then(Then::Fail(process.to_owned())).options().tags([process]);
        worker(&lab).schedule("tick", times, job.metadata(json!({ "process": process })))
    };
    declare(declaring("every 1h", "a")).await;
    let running = declaring("every 2h", "b").start().await.unwrap();
    let restarted = declaring("every 1h", "c").start().await.unwrap();
    assert_eq!(times(&lab).await, "every 2h");
    restarted.stop().await;
    declare(declaring("every 2h", "d")).await;
    assert_eq!(lab.count("jobkit.declarations").await, 2);
    running.stop().await;
}

#[tokio::test]
async fn the_newest_binary_that_lives_declares_anew() {
    let lab = Lab::new().await;
    let old = || worker(&lab).schedule("tick", "every 1h", Noop);
    let new = || worker(&lab).schedule("tick", "every 2h", Noop);
    let says = |text: &str| format!("exists (select from jobkit.schedules where times = '{text}')");
    let older = old().start().await.unwrap();
    let newer = new().start().await.unwrap();
    // The older one came between the declaration of the newer one and its registration.
    lab.run(
        "update jobkit.schedules s set times = 'every 1h', declaration = d.id
        from jobkit.declarations d where d.id < s.declaration",
    )
    .await;
    lab.until(&says("every 2h")).await;
    // When the newer one has ended, the older one is the newest that lives.
    newer.stop().await;
    lab.until(&says("every 1h")).await;
    older.stop().await;
}

#[tokio::test]
async fn a_worker_says_which_rules_of_zones_it_goes_by() {
    let lab = Lab::new().await;
    let running = worker(&lab).start().await.unwrap();
    let said: String = lab.value("select zones from jobkit.workers").await;
    assert_eq!(said, ZoneRules::current().to_string());
    running.stop().await;
}
