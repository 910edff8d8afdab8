//! A job that is due sooner than anybody looks starts when it is due.

use std::time::Duration;

use jobkit::{Admin, Enqueue, Job, JobContext, Registration, Worker, enqueue_all, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgListener;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(300);

/// One of them runs at a time.
#[derive(Serialize, Deserialize)]
#[job(kind = "of_one_key", concurrency_key = "all")]
struct OfOneKey;

impl Job for OfOneKey {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// A worker that looks once an hour by itself.
fn worker(lab: &Lab) -> Worker {
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    worker.queue("default", 10).poll(HOUR)
}

/// How late jobs started, in milliseconds, the median one.
const LATE: &str = "select percentile_disc(0.5) within group (order by
        (extract(epoch from e.at - j.run_at) * 1000)::bigint)
    from effects e join jobkit.finished j on j.job_id = e.job_id where e.what = 'begin'";

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_shorter_than_a_poll_is_kept() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let worker = worker(&lab).start().await.unwrap();
    for _ in 0..9 {
        let job = Act::then(Then::Succeed).options().after(SOON).enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    }
    // Longer than a second, too: nobody looks for an hour.
    let later = Duration::from_millis(1500);
    Act::then(Then::Succeed).options().after(later).enqueue(lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 10").await;
    worker.stop().await;
    let late: i64 = lab.value(LATE).await;
    println!("the median job started {late} ms after its time");
    assert!(late < 500, "{late} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_and_a_snooze_shorter_than_a_poll_need_no_notification() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    for then in [Then::FailTimes(2), Then::SnoozeTimes(3)] {
        Act::then(then).enqueue(lab.pool()).await.unwrap();
    }
    let worker = worker(&lab).listen(false).start().await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 2").await;
    worker.stop().await;
}

/// Not even more urgent and older ones: procrastinate held up the whole key (its issue 1599).
#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_later_or_paused_holds_up_no_other_of_its_key() {
    let lab = Lab::guarded().await;
    let urgent = || OfOneKey.options().priority(-3);
    urgent().after(HOUR).enqueue(lab.pool()).await.unwrap();
    urgent().queue("paused").enqueue(lab.pool()).await.unwrap();
    Admin::new(lab.pool()).queue("paused").pause("").await.unwrap();
    let due = OfOneKey.enqueue(lab.pool()).await.unwrap();
    let worker = lab.worker().jobs([Registration::of::<OfOneKey, _>()]);
    let worker = worker.queue("default", 10).queue("paused", 10).poll(HOUR).start().await.unwrap();
    lab.until(&format!("exists (select from jobkit.finished where job_id = {due})")).await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.jobs").await, 2);
    lab.check_invariants().await;
}

/// The notifications that were sent since the last time.
async fn rung(lab: &Lab, listener: &mut PgListener) -> Vec<String> {
    lab.run("select pg_notify('jobkit', 'mark')").await;
    let mut rings = Vec::new();
    loop {
        match listener.recv().await.unwrap().payload() {
            "mark" => return rings,
            ring => rings.push(ring.to_owned()),
        }
    }
}

#[tokio::test]
async fn a_delayed_enqueue_tells_of_itself_when_nobody_would_see_it_in_time() {
    let lab = Lab::new().await;
    let mut listener = PgListener::connect_with(lab.pool()).await.unwrap();
    listener.listen("jobkit").await.unwrap();
    let minutes = |n: u64| Duration::from_secs(60 * n);
    for (before, delays, rings) in [
        ("", vec![SOON], vec!["due"]),
        // Whoever wakes for that one learns of the next.
        ("", vec![SOON + minutes(1)], vec![]),
        ("delete from jobkit.scheduled", vec![SOON * 2, SOON / 2], vec!["due"]),
        // The next look of whoever is awake comes before that.
        ("delete from jobkit.scheduled", vec![minutes(2)], vec![]),
        // Sleepers say how long they sleep.
        (
            "delete from jobkit.scheduled;
             insert into jobkit.sleepers values (1, '{default}', now() + interval '3 min')",
            vec![minutes(2), minutes(2)],
            vec!["due"],
        ),
        ("", vec![minutes(1), Duration::ZERO], vec!["due", ""]),
        ("delete from jobkit.scheduled", vec![minutes(4)], vec![]),
        ("", vec![Duration::ZERO], vec![""]),
    ] {
        lab.run(before).await;
        let text = format!("{before} {delays:?}");
        let jobs = delays.into_iter().map(|delay| Noop.options().after(delay));
        enqueue_all(jobs, lab.pool()).await.unwrap();
        assert_eq!(rung(&lab, &mut listener).await, rings, "{text}");
    }
    let mut session = lab.session("producer").await;
    session.run("set jobkit.notify = 'off'").await.unwrap();
    Noop.options().after(SOON / 2).enqueue(&mut session.connection).await.unwrap();
    assert_eq!(rung(&lab, &mut listener).await, [""; 0]);
}

#[tokio::test]
async fn whoever_gives_a_job_another_time_tells_of_it() {
    let lab = Lab::new().await;
    let mut listener = PgListener::connect_with(lab.pool()).await.unwrap();
    listener.listen("jobkit").await.unwrap();
    let job = Noop.options().after(HOUR).enqueue(lab.pool()).await.unwrap();
    assert_eq!(rung(&lab, &mut listener).await, [""; 0]);
    let soon = "now() + interval '200 ms'";
    lab.run(&format!("select jobkit.reschedule(array[{job}], {soon})")).await;
    assert_eq!(rung(&lab, &mut listener).await, ["due"]);
}

/// The promoter has passed over it meanwhile.
#[tokio::test]
async fn whoever_kept_a_due_job_where_it_waits_tells_of_it() {
    let lab = Lab::new().await;
    let mut listener = PgListener::connect_with(lab.pool()).await.unwrap();
    listener.listen("jobkit").await.unwrap();
    let once = || Noop.options().unique_key("k").after(HOUR);
    once().enqueue_unique(lab.pool()).await.unwrap();
    once().enqueue_unique(lab.pool()).await.unwrap();
    assert_eq!(rung(&lab, &mut listener).await, [""; 0], "it is not due");
    lab.run(
        "update jobkit.scheduled set run_at = now(); update jobkit.jobs set run_at = r.run_at
        from jobkit.scheduled r",
    )
    .await;
    once().enqueue_unique(lab.pool()).await.unwrap();
    assert_eq!(rung(&lab, &mut listener).await, ["due"]);
}
