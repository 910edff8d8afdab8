//! Recurring jobs: declared in code, fired by whichever worker is awake.

use std::time::{Duration, Instant};

use chrono::{Datelike, Utc};
use jobkit::error::StartError;
use jobkit::schedule::{CatchUp, Overlap, Schedule};
use jobkit::{Enqueue, Job, JobContext, Registration, Worker, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::jobs::{self, Noop};

/// Every six seconds of ten minutes of a year: 100 instants, in its first hour.
const HUNDRED: &str = "*/6 0-9 0 1 1 *";

const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);

fn worker(lab: &Lab) -> Worker {
    lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("default", 10)
}

fn all() -> CatchUp {
    CatchUp::All { max: 1000, window: YEAR }
}

/// Says which instant it was told.
#[derive(Default, Serialize, Deserialize)]
#[job(schedule = "0 0 1 1 * Europe/Berlin")]
struct Yearly;

impl Job<PgPool> for Yearly {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let instant = cx.instant().ok_or("it has none")?;
        jobs::trace(&cx, &instant.to_rfc3339()).await
    }
}

#[tokio::test]
async fn a_job_that_declares_its_schedule_is_told_the_instant() {
    let lab = Lab::new().await;
    lab.run(jobs::EFFECTS).await;
    let yearly = || {
        let worker = lab.worker().state(lab.pool().clone()).queue("default", 10);
        worker.jobs([Registration::of::<Yearly, _>()])
    };
    declare(yearly()).await;
    lab.run("update jobkit.schedules set next_at = timestamptz '2025-01-01 00:00+1'").await;
    let worker = yearly().start().await.unwrap();
    lab.until("exists (select from effects)").await;
    worker.stop().await;
    let year = Utc::now().year() - i32::from(Utc::now().month() == 1 && Utc::now().day() == 1);
    let expected = format!("{}-12-31T23:00:00+00:00", year - 1);
    assert_eq!(lab.value::<String>("select what from effects").await, expected);
    let job = lab.value::<i64>("select job_id from effects").await;
    let found =
        jobkit::Admin::new(lab.pool()).job(jobkit::JobId(job)).get().await.unwrap().unwrap();
    assert_eq!(
        found.schedule.map(|(name, at)| (name, at.to_rfc3339())),
        Some(("yearly".to_owned(), expected))
    );
}

/// Starts a worker that declares something, and stops it.
async fn declare(worker: Worker) {
    worker.start().await.unwrap().stop().await;
}

/// What became of the instants of a schedule, in their order: "fired missed missed".
async fn runs(lab: &Lab, name: &str) -> String {
    lab.value(&format!(
        "select coalesce(string_agg(coalesce(skipped, 'fired'), ' ' order by instant), '')
        from jobkit.schedule_runs where schedule = '{name}'"
    ))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn five_workers_fire_a_thousand_instants_once_each() {
    let lab = Lab::new().await;
    let parked = || Noop.options().queue("parked");
    let declaring = (0..10).fold(worker(&lab), |worker, n| {
        worker.schedule(format!("s{n}"), Schedule::new(HUNDRED).catch_up(all()), parked())
    });
    declare(declaring).await;
    lab.run("update jobkit.schedules set next_at = date_trunc('year', now() at time zone 'UTC')")
        .await;
    let mut workers = Vec::new();
    for _ in 0..5 {
        workers.push(worker(&lab).start().await.unwrap());
    }
    lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
    for worker in workers {
        worker.stop().await;
    }
    assert_eq!(lab.count("jobkit.schedule_runs where job_id is not null").await, 1000);
    assert_eq!(lab.count("jobkit.jobs").await, 1000);
    let instants = "(select distinct metadata->>'schedule', metadata->>'instant' from jobkit.jobs)";
    assert_eq!(lab.count(&format!("{instants} i")).await, 1000);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_fires_to_the_second_and_its_jobs_run() {
    let lab = Lab::new().await;
    let worker = worker(&lab).poll(Duration::from_secs(60)).schedule("tick", "every 1s", Noop);
    let worker = worker.start().await.unwrap();
    lab.until("(select count(*) from jobkit.schedule_runs where job_id is not null) >= 4").await;
    worker.stop().await;
    let late: f64 = lab
        .value(
            "select percentile_disc(0.5) within group
                (order by extract(epoch from decided_at - instant)::float8)
            from jobkit.schedule_runs where job_id is not null",
        )
        .await;
    println!("the median one {late} s late");
    assert!(late < 1.5, "{late} s");
    // None but those that a busy machine came to when the next was due.
    let early = "decided_at < instant + interval '1 s'";
    let skipped = format!("jobkit.schedule_runs where skipped is not null and {early}");
    assert_eq!(lab.count(&skipped).await, 0);
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_start_declares_and_changes_nothing_that_operators_changed() {
    let lab = Lab::new().await;
    let nightly = |times: &str, priority| {
        worker(&lab).schedule("nightly", times, Noop.options().priority(priority))
    };
    declare(nightly("0 3 * * * Europe/Berlin", 1)).await;
    let told = "select format('%s %s %s %s', times, priority, overlap, next_at > now())
        from jobkit.schedules";
    assert_eq!(lab.value::<String>(told).await, "0 3 * * * Europe/Berlin 1 allow t");
    declare(nightly("0 4 * * *", 2)).await;
    assert_eq!(lab.value::<String>(told).await, "0 4 * * * 2 allow t");
    lab.run(
        "select jobkit.edit_schedule('nightly', '{\"times\": \"0 5 1 1 *\", \"next_at\":
            \"2100-01-01T05:00:00Z\"}', null, 'me')",
    )
    .await;
    declare(nightly("0 6 * * *", 3)).await;
    assert_eq!(lab.value::<String>(told).await, "0 5 1 1 * 3 allow t");
    // Deleted by an operator, it does not come back, nor fire.
    lab.run("select jobkit.delete_schedule('nightly', 'me')").await;
    declare(nightly("0 7 * * *", 3)).await;
    assert_eq!(lab.count("jobkit.schedules where removed_at is not null").await, 1);
}

/// The job of a schedule that an operator made, or gave another payload, is all his.
#[tokio::test]
async fn a_start_mixes_nothing_of_its_own_into_the_job_of_an_operator() {
    let lab = Lab::new().await;
    declare(worker(&lab).schedule("theirs", "@daily", Noop)).await;
    lab.run(
        "select jobkit.create_schedule('{\"name\": \"ours\", \"times\": \"@daily\",
            \"catch_up\": \"latest\", \"catch_up_max\": 1, \"catch_up_window\": \"0\",
            \"overlap\": \"allow\", \"jitter\": \"0\", \"kind\": \"noop\", \"priority\": 2}',
            '{}', 'me');
        update jobkit.schedules set concurrency_group = 'g', concurrency_key = 'k',
            edited = edited || '{args}' where name = 'theirs'",
    )
    .await;
    let job = || Noop.options().priority(-3).tags(["code"]);
    declare(worker(&lab).schedule("ours", "@hourly", job()).schedule("theirs", "@daily", job()))
        .await;
    let kept = "priority = 2 and tags is null and times = '@daily'";
    assert_eq!(lab.count(&format!("jobkit.schedules where name = 'ours' and {kept}")).await, 1);
    let whole = "concurrency_group = 'g' and concurrency_key = 'k' and priority = -3";
    assert_eq!(lab.count(&format!("jobkit.schedules where name = 'theirs' and {whole}")).await, 1);
    let edit = "select jobkit.edit_schedule('theirs', '{}', '{\"other\": 1}', 'me')";
    let error = lab.session("editor").await.run(edit).await.unwrap_err();
    assert!(
        error.to_string().contains("concurrency key of the new payload cannot be computed here"),
        "{error}"
    );
}

/// A deploy with other times comes while an instant is due.
#[tokio::test]
async fn what_is_due_by_the_old_times_is_recorded_when_a_start_brings_new_ones() {
    let lab = Lab::new().await;
    declare(worker(&lab).schedule("nightly", "0 3 * * *", Noop)).await;
    lab.run("update jobkit.schedules set next_at = '2026-01-01 03:00Z'").await;
    declare(worker(&lab).schedule("nightly", "0 4 * * *", Noop)).await;
    let missed = "since = '2026-01-01 03:00Z' and instant > now() - interval '1 min'
        and skipped = 'missed'";
    assert_eq!(lab.count(&format!("jobkit.schedule_runs where {missed}")).await, 1);
    assert_eq!(lab.count("jobkit.schedules where next_at > now()").await, 1);
}

/// Old and new, one beside the other, and the old one restarts.
#[tokio::test]
async fn a_rolling_deploy_deletes_nothing_and_doubles_nothing() {
    let lab = Lab::new().await;
    let old = || worker(&lab).schedule("kept", "every 1d", Noop).schedule("old", "@daily", Noop);
    let new = || worker(&lab).schedule("kept", "@daily", Noop).schedule("new", "@daily", Noop);
    let running = old().sweep_every(Duration::from_millis(100)).start().await.unwrap();
    // Times that change while an instant is due are recorded: here nothing is due meanwhile.
    let declared_anew = "exists (select from jobkit.schedules where times = 'every 1d')";
    declare(new()).await;
    lab.until(declared_anew).await;
    // Both mean midnight. It has just passed.
    let midnight = "date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'";
    lab.run(&format!("update jobkit.schedules set next_at = {midnight}")).await;
    lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
    declare(old()).await;
    declare(new()).await;
    lab.until(declared_anew).await;
    lab.run("update jobkit.schedules set next_at = last_at").await;
    lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
    running.stop().await;
    assert_eq!(lab.count("jobkit.schedules where removed_at is null").await, 3);
    assert_eq!(lab.count("jobkit.schedule_runs where job_id is not null").await, 3);
}

#[tokio::test]
async fn what_a_pause_skipped_is_recorded_and_what_was_missed_caught_up_with() {
    let lab = Lab::new().await;
    let late = |name, catch_up| (name, Schedule::new("@hourly").catch_up(catch_up));
    let two = CatchUp::All { max: 2, window: YEAR };
    let schedules = [
        late("none", CatchUp::None),
        late("latest", CatchUp::Latest),
        late("two", two),
        late("paused", two),
        ("overlap", Schedule::new("@hourly").catch_up(two).overlap(Overlap::SkipIfRunning)),
    ];
    let parked = || Noop.options().queue("parked");
    let declaring = schedules
        .into_iter()
        .fold(worker(&lab), |worker, (name, schedule)| worker.schedule(name, schedule, parked()));
    declare(declaring).await;
    lab.run("select jobkit.pause_schedule('paused', 'me', 'stocktaking')").await;
    // The last hour is over for some minutes.
    lab.run("update jobkit.schedules set next_at = date_trunc('hour', now() - interval '3 h')")
        .await;
    let worker = worker(&lab).start().await.unwrap();
    lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
    worker.stop().await;
    let minutes: i32 = lab.value("select extract(minute from now())::integer").await;
    if minutes > 2 {
        assert_eq!(runs(&lab, "none").await, "missed missed missed missed");
    }
    assert_eq!(runs(&lab, "latest").await, "missed missed missed fired");
    assert_eq!(runs(&lab, "two").await, "missed missed fired fired");
    assert_eq!(runs(&lab, "paused").await, "paused paused paused paused");
    assert_eq!(runs(&lab, "overlap").await, "missed missed running fired");
    lab.check_invariants().await;
}

/// Its jobs wait in the queue, as all do; it skips while one does.
#[tokio::test]
async fn a_schedule_of_a_paused_queue_piles_up_no_more_than_one_job() {
    let lab = Lab::new().await;
    let schedule = Schedule::new("every 1s").overlap(Overlap::SkipIfRunning);
    let worker = worker(&lab).schedule("tick", schedule, Noop);
    jobkit::Admin::new(lab.pool()).acting_as("me").queue("default").pause("why").await.unwrap();
    let worker = worker.start().await.unwrap();
    lab.until("(select count(*) from jobkit.schedule_runs where skipped = 'running') >= 2").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.jobs").await, 1);
}

/// Neither one whose text this binary cannot read, nor one that the server refuses.
#[tokio::test]
async fn a_schedule_that_cannot_be_fired_holds_back_no_other() {
    let lab = Lab::new().await;
    let declaring = ["a", "b", "c", "d"].into_iter().fold(worker(&lab), |worker, name| {
        worker.schedule(name, "every 1d", Noop.options().queue("parked"))
    });
    declare(declaring).await;
    lab.run("update jobkit.schedules set next_at = now(), times = 'at dusk' where name = 'a'")
        .await;
    lab.run("update jobkit.schedules set next_at = now() - interval '2 d' where name <> 'a'").await;
    lab.run("alter table jobkit.jobs add check (metadata->>'schedule' <> 'c')").await;
    let worker = worker(&lab).start().await.unwrap();
    lab.until("(select count(*) from jobkit.jobs) = 2").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.schedules where next_at <= now()").await, 2);
}

#[tokio::test]
async fn what_is_wrong_with_schedules_is_said_at_the_start() {
    let lab = Lab::new().await;
    let hour = Duration::from_secs(3600);
    let worker = worker(&lab)
        .schedule("a", "0 3 * *", Noop)
        .schedule("b", "@daily", Noop.options().after(hour))
        .schedule("b", Schedule::new("@daily").jitter(hour * 25), Noop)
        .schedule("", Schedule::new("@daily"), Noop);
    let Err(StartError::Problems(problems)) = worker.start().await else { panic!("it started") };
    let problems = problems.to_string();
    for words in
        ["`a`: expected", "found 4", "leave out `after`", "given twice", "a day", "0 bytes"]
    {
        assert!(problems.contains(words), "{words}: {problems}");
    }
}

#[tokio::test]
async fn jitter_delays_each_job_by_no_more_than_it_says() {
    let lab = Lab::new().await;
    let jitter = Duration::from_secs(3600);
    let schedule = Schedule::new(HUNDRED).catch_up(all()).jitter(jitter);
    declare(worker(&lab).schedule("spread", schedule, Noop)).await;
    lab.run("update jobkit.schedules set next_at = date_trunc('year', now() at time zone 'UTC')")
        .await;
    let worker = worker(&lab).start().await.unwrap();
    lab.until("(select count(*) from jobkit.schedule_runs) = 100").await;
    worker.stop().await;
    let spread = "jobkit.jobs where run_at between created_at and created_at + interval '1 h'";
    let waiting = lab.count("jobkit.jobs").await;
    assert!(waiting > 90, "{waiting}");
    assert_eq!(lab.count(spread).await, waiting);
    assert_eq!(lab.count("(select distinct run_at from jobkit.jobs) r").await, waiting);
}

#[tokio::test]
async fn old_runs_are_pruned() {
    let lab = Lab::new().await;
    declare(worker(&lab).schedule("a", "every 1d", Noop)).await;
    lab.run(
        "insert into jobkit.schedule_runs (schedule, instant, skipped, decided_at)
        select 'a', t, 'missed', t from generate_series(now() - interval '40 d', now(), '1 d') t",
    )
    .await;
    let pruned: i32 = lab.value("select jobkit.prune_runs('30 d', 1000)").await;
    assert_eq!((pruned, lab.count("jobkit.schedule_runs").await), (11, 30));
}

/// A lab with ten thousand schedules that are due at once.
async fn ten_thousand_due() -> Lab {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max,
            catch_up_window, overlap, jitter, kind, queue, priority, max_attempts, args)
        select 's' || n, '@hourly', date_trunc('hour', now()), 'latest', 1, '0', 'allow', '0',
            'noop', 'parked', 0, 3, '{}'
        from generate_series(1, 10000) n",
    )
    .await;
    lab
}

/// Fires a thousand, from this one on.
fn fire_thousand(first: i32) -> String {
    let names = format!("array(select 's' || generate_series({first}, {}))", first + 999);
    let all = |value: &str| format!("array_fill({value}, array[1000])");
    let (due, next) = ("(select min(next_at) from jobkit.schedules)", "now() + '1 h'");
    format!(
        "select fired from jobkit.fire({names}, {}, {}, {names}, {}, {}, {}, {})",
        all(due),
        all(next),
        all(due),
        all("null::text"),
        all("null::timestamptz"),
        all("'@hourly'::text"),
    )
}

/// How long a session takes for each thousand of ten thousand schedules.
async fn fired_by_a_session() -> Vec<Duration> {
    let lab = ten_thousand_due().await;
    let mut session = lab.session("fires").await;
    let mut took = Vec::new();
    for first in (1..10_000).step_by(1000) {
        let began = Instant::now();
        assert_eq!(session.value::<i32>(&fire_thousand(first)).await.unwrap(), 1000);
        took.push(began.elapsed());
    }
    took
}

/// From its sixth call on a session may take a plan for arrays of any length, and did: one that
/// was quadratic in them.
#[tokio::test]
async fn a_session_fires_as_quickly_when_it_has_done_so_often() {
    let took = fired_by_a_session().await;
    let (first, last) = (took[..5].iter().min().unwrap(), took[5..].iter().min().unwrap());
    assert!(*last < 3 * *first, "{took:?}");
}

/// How long a worker takes for ten thousand schedules that are due at once, and how long a session
/// takes that does nothing else.
async fn fire_ten_thousand() -> (Duration, Duration) {
    let lab = ten_thousand_due().await;
    let worker = worker(&lab).start().await.unwrap();
    let began = Instant::now();
    lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
    let took = began.elapsed();
    worker.stop().await;
    assert_eq!(lab.count("jobkit.jobs").await, 10_000);
    (took, fired_by_a_session().await.iter().sum())
}

/// The best of three, since other tests run at the same time: seconds would be theirs.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_that_are_due_at_once_are_fired_without_a_pause() {
    let mut all = Vec::new();
    for _ in 0..3 {
        let (worker, session) = fire_ten_thousand().await;
        all.push((worker, session));
        if worker < session * 3 + Duration::from_secs(1) {
            println!("all were fired after {worker:?}, {session:?} of them in the server");
            return;
        }
    }
    panic!("{all:?}");
}
