//! Pauses, limits and rates of a fleet: what four workers do beside operators who change them.

use std::time::{Duration, Instant};

use jobkit::admin::limits::{By, Change, Rate, Scope, To};
use jobkit::policy::QueueLimit;
use jobkit::{Admin, Enqueue, JobId, WorkerHandle};
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};

/// Notes each claim with what it has of a kind; and as a breach, one that commits under a pause, or
/// beyond a limit. What holds these back is locked for as long as the claim is not committed.
const WATCH: &str = "
    create table claimed (at timestamptz default clock_timestamp(), noops bigint);
    create table breaches (what text);
    create function watch() returns trigger language plpgsql as $$ begin
        insert into public.claimed (noops)
        select count(*) from jobkit.jobs j where j.id = any (new.job_ids) and j.kind = 'noop';
        insert into public.breaches
        select distinct l.scope || ' ' || l.name from jobkit.jobs j, jobkit.limits l
        where j.id = any (new.job_ids) and l.holds
            and l.name = case l.scope when 'queue' then j.queue when 'kind' then j.kind else '' end
            and (l.paused_at is not null or l.running < jobkit.running_of(l.scope, l.name));
        return null;
    end $$;
    create trigger watch after insert on jobkit.claims for each row execute function watch()";

async fn fleet(lab: &Lab, slots: usize) -> Vec<WorkerHandle> {
    let mut workers = Vec::new();
    for _ in 0..4 {
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
        let worker = worker.queue("default", slots).queue("slow", slots);
        workers.push(worker.start().await.unwrap());
    }
    workers
}

fn scopes() -> [Scope; 5] {
    let (queue, kind) =
        (|name: &str| Scope::Queue(name.into()), |name: &str| Scope::Kind(name.into()));
    [queue("default"), queue("slow"), kind("noop"), kind("act"), Scope::All]
}

async fn enqueue(lab: &Lab, jobs: usize) {
    for queue in ["default", "slow"] {
        let of_queue = (0..jobs).map(|_| Noop.options().queue(queue));
        jobkit::enqueue_all(of_queue, lab.pool()).await.unwrap();
        let short = Act::then(Then::Sleep(Duration::from_millis(2)));
        let of_queue = (0..jobs).map(|_| short.clone().options().queue(queue));
        jobkit::enqueue_all(of_queue, lab.pool()).await.unwrap();
    }
}

async fn end(lab: Lab, workers: Vec<WorkerHandle>) {
    lab.until("not exists (select from jobkit.jobs)").await;
    for worker in workers {
        worker.stop().await;
    }
    let breaches: Option<String> =
        lab.value("select string_agg(distinct what, ', ') from breaches").await;
    assert_eq!(breaches, None);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_claimed_after_its_pause_whatever_is_paused() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    lab.run(WATCH).await;
    let (workers, admin) = (fleet(&lab, 5).await, Admin::new(lab.pool()));
    enqueue(&lab, 1_000).await;
    let mut rng = fastrand::Rng::with_seed(7);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        let scope = &scopes()[rng.usize(..5)];
        admin.limit(scope.clone()).pause("").await.unwrap();
        let at = rng.u64(..20);
        if at < 5 {
            let handle = admin.limit(scope.clone());
            let told = handle.wait_until_idle(Duration::from_secs(20), |_| ()).await;
            assert_eq!(told.unwrap(), 0);
        }
        tokio::time::sleep(Duration::from_millis(at)).await;
        admin.limit(scopes()[rng.usize(..5)].clone()).resume().await.unwrap();
    }
    for scope in scopes() {
        admin.limit(scope.clone()).resume().await.unwrap();
    }
    end(lab, workers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_limit_is_exceeded_however_it_changes() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    lab.run(WATCH).await;
    let (workers, admin) = (fleet(&lab, 20).await, Admin::new(lab.pool()));
    let mut rng = fastrand::Rng::with_seed(7);
    for scope in &scopes()[..4] {
        let _ =
            admin.limit(scope.clone()).set(&Change::new().running(rng.u32(1..9))).await.unwrap();
    }
    enqueue(&lab, 700).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        let limit = Some(rng.u32(1..30)).filter(|limit| *limit < 25);
        // One that is lowered below what runs is exceeded until enough have ended.
        let scope = &scopes()[rng.usize(..4)];
        let change =
            limit.map_or(Change::new().running(To::Reset), |most| Change::new().running(most));
        let _ = admin.limit(scope.clone()).set(&change).await.unwrap();
        tokio::time::sleep(Duration::from_millis(rng.u64(..30))).await;
    }
    for scope in &scopes()[..4] {
        let _ = admin.limit(scope.clone()).set(&Change::new().running(40)).await.unwrap();
    }
    end(lab, workers).await;
}

/// At no time more than a burst beyond it; what is noted here is later than what the rate counts
/// by, on a busy machine much. Within two parts of a hundred on an idle one.
#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_kept_by_four_workers() {
    const RATE: f64 = 50.0;
    let seconds = std::env::var("JOBKIT_RATE_SECONDS").map_or(10, |text| text.parse().unwrap());
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    lab.run(WATCH).await;
    let admin = Admin::new(lab.pool());
    let (scope, rate) =
        (Scope::Kind("noop".into()), Rate::per(50, Duration::from_secs(1)).burst(10));
    let _ = admin.limit(scope.clone()).set(&Change::new().rate(rate)).await.unwrap();
    let jobs = 50 * (seconds + 1);
    jobkit::enqueue_all((0..jobs).map(|_| Noop), lab.pool()).await.unwrap();
    let workers = fleet(&lab, 20).await;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    admin.limit(scope.clone()).pause("").await.unwrap();
    let sql = "select array_agg(extract(epoch from at)::float8 order by at), \
        array_agg(noops::float8 order by at) from claimed where noops > 0";
    let (at, noops): (Vec<f64>, Vec<f64>) =
        sqlx::query_as(sql).fetch_one(lab.pool()).await.unwrap();
    let (began, ended) = (at[0], at[at.len() - 1]);
    let (took, all) = (ended - began, noops.iter().sum::<f64>());
    let expected = 10.0 + took * RATE;
    // Who stands still for longer than the burst makes up for does not catch up.
    let range = if seconds < 60 { 0.8..1.06 } else { 0.95..1.02 };
    assert!(range.contains(&(all / expected)), "{all} of {expected} in {took} s");
    for first in 0..at.len() {
        let mut sum = 0.0;
        for last in first..at.len() {
            sum += noops[last];
            let most = 10.0 + (at[last] - at[first] + 0.5) * RATE;
            assert!(sum <= most, "{sum} of {most} within {} s", at[last] - at[first]);
        }
    }
    eprintln!("{all} of {expected} in {took} s");
    let _ = admin.limit(scope.clone()).set(&Change::new().rate(To::Reset)).await.unwrap();
    admin.limit(scope.clone()).resume().await.unwrap();
    end(lab, workers).await;
}

/// What an end frees is taken at once by the worker it ended in, though nobody notifies.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_job_under_a_limit_waits_for_no_poll() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let admin = Admin::new(lab.pool());
    let _ = admin.queue("default").set(&Change::new().running(1)).await.unwrap();
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.poll(Duration::from_secs(60)).queue("default", 10);
    let worker = worker.start().await.unwrap();
    let short = Act::then(Then::Sleep(Duration::from_millis(20)));
    jobkit::enqueue_all((0..50).map(|_| short.clone()), lab.pool()).await.unwrap();
    let began = Instant::now();
    lab.until("not exists (select from jobkit.jobs)").await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    worker.stop().await;
}

async fn cancel(admin: &Admin, jobs: &[JobId]) {
    for job in jobs {
        admin.job(*job).cancel().await.unwrap();
    }
}

/// What code says of a queue holds for all of its workers, also for those that say nothing; an
/// operator goes before it; and code takes it back.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_limited_by_code_and_an_operator_goes_before_it() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    lab.run(WATCH).await;
    let admin = Admin::new(lab.pool());
    let plain = || lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("default", 5);
    let limit = QueueLimit::new().running(1).rate(Rate::per_second(500));
    let workers = [
        plain().limit_queue("default", limit).start().await.unwrap(),
        plain().start().await.unwrap(),
    ];
    let waiting = || (0..12).map(|_| Act::then(Then::WaitForCancel));
    let jobs = jobkit::enqueue_all(waiting(), lab.pool()).await.unwrap();
    let running = |count: u32| format!("jobkit.running_of('queue', 'default') = {count}");
    lab.until(&running(1)).await;
    let known = admin.queue("default").get().await.unwrap().expect("code limits it");
    let (most, rate) = (known.running.unwrap(), known.rate.unwrap());
    assert_eq!((most.value, most.by, known.runs), (Some(1), By::Code, Some(1)));
    assert_eq!((rate.value, rate.by), (limit.rate, By::Code));
    let _ = admin.queue("default").set(&Change::new().running(3)).await.unwrap();
    lab.until(&running(3)).await;
    let _ = admin.queue("default").set(&Change::new().running(To::Reset)).await.unwrap();
    cancel(&admin, &jobs).await;
    lab.until("not exists (select from jobkit.jobs)").await;
    let jobs = jobkit::enqueue_all(waiting(), lab.pool()).await.unwrap();
    lab.until(&running(1)).await;
    let third = plain().limit_queue("default", QueueLimit::new()).start().await.unwrap();
    lab.until(&running(12)).await;
    assert!(
        admin.queue("default").get().await.unwrap().is_none_or(|limit| limit.running.is_none())
    );
    cancel(&admin, &jobs).await;
    end(lab, workers.into_iter().chain([third]).collect()).await;
}

/// Entries of `ready` that were read by way of an index, and how often something was claimed. The
/// server adds them up when sessions end, so those that claimed have to be gone.
async fn reads(lab: Lab) -> (i64, i64) {
    let lab = lab.reconnected().await;
    let read = "select sum(idx_tup_read)::bigint from pg_stat_user_indexes
        where schemaname = 'jobkit' and relname = 'ready'";
    let claims = "select n_tup_ins from pg_stat_user_tables
        where schemaname = 'jobkit' and relname = 'claims'";
    (lab.value(read).await, lab.value(claims).await)
}

/// Behind a hundred thousand jobs that nobody may take, others are found without reading those over
/// and over: of a paused kind, and of one whose rate is used up. Scans from the start, which do
/// read them, get a twentieth of the time.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_behind_what_is_held_back_are_found_without_reading_it_again() {
    const HELD: i64 = 100_000;
    for held in [
        "pause_limit('kind', 'noop')",
        "set_limit('kind', 'noop', null, '{\"rate\": {\"every\": \"1 hour\"}}')",
    ] {
        let lab = Lab::new().await;
        lab.run(EFFECTS).await;
        jobkit::enqueue_all((0..HELD).map(|_| Noop), lab.pool()).await.unwrap();
        lab.run(&format!("select jobkit.{held}")).await;
        lab.run("vacuum analyze jobkit.ready").await;
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
        let worker = worker.queue("default", 5).start().await.unwrap();
        let began = Instant::now();
        let quick = Act::then(Then::Succeed);
        jobkit::enqueue_all((0..2_000).map(|_| quick.clone()), lab.pool()).await.unwrap();
        // What counts is how much is read: a busy machine may take its time.
        let patience = Duration::from_secs(120);
        lab.until_within(patience, "not exists (select from jobkit.jobs where kind = 'act')").await;
        let took = began.elapsed();
        worker.stop().await;
        let (read, claims) = reads(lab).await;
        eprintln!("2,000 jobs behind {held} in {took:?}, {claims} claims read {read}");
        assert!(read < claims * HELD / 10, "{claims} claims read {read} behind {held}");
    }
}
