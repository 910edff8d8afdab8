//! What attempts say of themselves, and where the next one goes on.

use std::sync::Arc;
use std::time::Duration;

use jobkit::admin::explain::Reason;
use jobkit::admin::jobs::{JobDetail, Progress};
use jobkit::error::ContextError;
use jobkit::report::AttemptLog;
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::sync::Notify;
use tracing_subscriber::prelude::*;

/// What the jobs here have at hand.
struct Hand {
    pool: PgPool,
    /// A handler that waits may go on.
    go_on: Notify,
}

type Cx = JobContext<Arc<Hand>>;

/// Counts to a hundred, but stops at fifty until it is let go on; then fails, if it should.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, backoff = fixed("1h"), retention = none, redact(token))]
struct Count {
    token: String,
    fails: bool,
}

impl Job<Arc<Hand>> for Count {
    async fn run(self, cx: Cx) -> jobkit::Result {
        for done in 0..100 {
            cx.progress(done, 100, &format!("with {}", self.token));
            if done == 50 {
                tracing::info!(token = self.token, "half way");
                cx.state().go_on.notified().await;
            }
        }
        if self.fails { Err("no".into()) } else { Ok(()) }
    }
}

/// Goes one page at each attempt, and leaves it in another way each time.
#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("1ms"), retention = none)]
struct Import;

impl Job<Arc<Hand>> for Import {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let page: u32 = cx.last_checkpoint().await?.unwrap_or(0);
        cx.checkpoint(&(page + 1)).await?;
        let seen = format!("insert into seen values ({page}, {})", cx.attempt());
        sqlx::query(AssertSqlSafe(seen)).execute(&cx.state().pool).await?;
        match page {
            0 => Err("a failure".into()),
            1 => Err(JobError::snooze(Duration::from_millis(1))),
            2 => {
                cx.stopping().await;
                Err(JobError::release())
            }
            3 => panic!("a panic"),
            4 => Err(JobError::dead("no more")),
            _ => Ok(()),
        }
    }
}

/// Is given back behind its own back, and goes on.
#[derive(Serialize, Deserialize)]
#[job]
struct Robbed;

impl Job<Arc<Hand>> for Robbed {
    async fn run(self, cx: Cx) -> jobkit::Result {
        cx.checkpoint("mine").await?;
        let id = cx.id();
        let robbed = format!(
            "select from jobkit.claims c, jobkit.settle(c.worker_id, jobkit.outcomes(array[c.n],
                array[{id}], '{{snooze}}', p_delay => '{{1h}}'))
            where {id} = any (c.job_ids)"
        );
        sqlx::query(AssertSqlSafe(robbed)).execute(&cx.state().pool).await?;
        let lost = cx.checkpoint("stale").await;
        assert!(matches!(lost, Err(ContextError::ClaimLost)), "{lost:?}");
        sqlx::query("insert into seen values (7, 7)").execute(&cx.state().pool).await?;
        Ok(())
    }
}

/// Leaves a checkpoint, and hangs; the next attempt notes what it finds.
#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("1ms"), retention = none)]
struct Orphan;

impl Job<Arc<Hand>> for Orphan {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let page: u32 = cx.last_checkpoint().await?.unwrap_or(0);
        if page == 0 {
            cx.checkpoint(&7).await?;
        }
        let seen = format!("insert into seen values ({page}, {})", cx.attempt());
        sqlx::query(AssertSqlSafe(seen)).execute(&cx.state().pool).await?;
        if page == 0 {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// Logs as much as is kept, and waits.
#[derive(Serialize, Deserialize)]
#[job(retention = "1h")]
struct Talkative;

impl Job<Arc<Hand>> for Talkative {
    async fn run(self, cx: Cx) -> jobkit::Result {
        for line in 0..50 {
            tracing::info!("{line} {}", "x".repeat(450));
        }
        cx.state().go_on.notified().await;
        Ok(())
    }
}

/// Says nothing.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Silent;

impl Job<Arc<Hand>> for Silent {
    async fn run(self, _cx: Cx) -> jobkit::Result {
        Ok(())
    }
}

async fn lab() -> (Lab, Arc<Hand>) {
    let lab = Lab::guarded().await;
    lab.run("create table seen (page integer, attempt integer)").await;
    let hand = Hand { pool: lab.pool().clone(), go_on: Notify::new() };
    (lab, Arc::new(hand))
}

async fn start(lab: &Lab, hand: &Arc<Hand>) -> WorkerHandle {
    let worker = lab.worker().heartbeat(Duration::from_millis(50)).state(Arc::clone(hand));
    let jobs = [
        Registration::of::<Count, _>(),
        Registration::of::<Import, _>(),
        Registration::of::<Robbed, _>(),
        Registration::of::<Orphan, _>(),
        Registration::of::<Silent, _>(),
    ];
    worker.jobs(jobs).queue("default", 5).start().await.unwrap()
}

async fn detail(lab: &Lab, job: jobkit::JobId) -> JobDetail {
    Admin::new(lab.pool()).job(job).get().await.unwrap().unwrap()
}

fn count(fails: bool) -> Count {
    Count { token: "s3cret".to_owned(), fails }
}

fn told(progress: Option<&Progress>) -> Option<(u64, Option<u64>, Option<u8>, String)> {
    let progress = progress?;
    Some((progress.done, progress.total, progress.percent(), progress.to_string()))
}

/// So far, and so many lines: a heartbeat may write the one before the other is said.
fn said(done: u32, lines: u32) -> String {
    format!(
        "exists (select from jobkit.reports where done = {done}
            and jsonb_array_length(lines) = {lines})"
    )
}

#[tokio::test]
async fn progress_and_log_are_shown_while_an_attempt_runs_and_after_it_failed() {
    // With a single subscriber tracing asks that of whichever thread is the first at a callsite,
    // and those of other tests have none.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let log = tracing_subscriber::registry().with(AttemptLog::new());
    let _log = tracing::subscriber::set_default(log);
    let (lab, hand) = lab().await;
    let worker = start(&lab, &hand).await;
    let job = count(true).enqueue(lab.pool()).await.unwrap();
    lab.until(&said(50, 1)).await;
    let half = Some((50, Some(100), Some(50), "50 of 100, with •••".to_owned()));
    let now = detail(&lab, job).await;
    let [report] = &*now.reports else { panic!("{:?}", now.reports) };
    assert_eq!((report.attempt, told(report.progress.as_ref())), (1, half.clone()));
    let lines = |job: &JobDetail| {
        let lines = job.reports.iter().flat_map(|report| &report.lines);
        lines.map(|line| format!("{} {}", line.level, line.text)).collect::<Vec<_>>()
    };
    assert_eq!(lines(&now), ["INFO half way token=•••"]);
    let admin = Admin::new(lab.pool());
    let of_worker = admin.worker(report.worker).get().await.unwrap().unwrap().jobs;
    assert_eq!(told(of_worker[0].progress.as_ref()), half);
    let why = admin.job(job).explain().await.unwrap().unwrap();
    assert!(why.sentence.ends_with(": 50 of 100, with •••"), "{}", why.sentence);
    assert!(matches!(&why.reasons[0], Reason::Running { progress: Some(_), .. }), "{why:?}");

    hand.go_on.notify_one();
    lab.until(&said(99, 2)).await;
    let after = detail(&lab, job).await;
    assert_eq!(after.reports[0].progress.as_ref().unwrap().done, 99);
    let expected = ["INFO half way token=•••", "WARN jobkit: attempt failed "];
    let lines = lines(&after);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().zip(expected).all(|(line, begin)| line.starts_with(begin)), "{lines:?}");
    let stored: String = lab.value("select string_agg(r::text, '') from jobkit.reports r").await;
    assert!(!stored.contains("s3cret"), "{stored}");
    worker.stop().await;
    lab.check_invariants().await;
}

/// Each statement takes nearly as long as it may. There is enough to write for a lease and more.
#[tokio::test]
async fn whoever_has_much_to_report_keeps_the_lease() {
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let log = tracing_subscriber::registry().with(AttemptLog::new());
    let _log = tracing::subscriber::set_default(log);
    let (lab, hand) = lab().await;
    lab.mutate("report", "select set_config(", "select pg_sleep(0.75); select set_config(").await;
    let worker = lab.worker().state(Arc::clone(&hand)).jobs([Registration::of::<Talkative, _>()]);
    let worker = worker.lease(Duration::from_secs(4)).queue("default", 300);
    let worker = worker.start().await.unwrap();
    jobkit::enqueue_all((0..300).map(|_| Talkative), lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.reports) = 300").await;
    hand.go_on.notify_waiters();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.finished where attempt = 1 and errors is null").await, 300);
    assert_eq!(lab.count("jobkit.lost_workers").await, 0);
    lab.check_invariants().await;
}

#[tokio::test]
async fn of_a_job_that_is_not_kept_nothing_stays() {
    let (lab, hand) = lab().await;
    let worker = start(&lab, &hand).await;
    count(false).enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.reports where done = 50)").await;
    hand.go_on.notify_one();
    lab.until("not exists (select from jobkit.reports)").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

#[tokio::test]
async fn a_worker_whose_jobs_say_nothing_writes_nothing() {
    let (lab, hand) = lab().await;
    lab.run("create sequence public.reports").await;
    let counted = "select nextval('public.reports'); select set_config(";
    lab.mutate("report", "select set_config(", counted).await;
    let worker = start(&lab, &hand).await;
    for _ in 0..20 {
        Silent.enqueue(lab.pool()).await.unwrap();
    }
    lab.until("not exists (select from jobkit.jobs)").await;
    let beaten = "(select heartbeat_at from jobkit.workers)";
    let since: String = lab.value(&format!("select {beaten}::text")).await;
    lab.until(&format!("{beaten} > '{since}'::timestamptz + interval '200 ms'")).await;
    assert!(!lab.value::<bool>("select is_called from public.reports").await);
    // Two lots of words, and the end: the fifty calls before each are one.
    count(true).enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.reports where done = 50)").await;
    hand.go_on.notify_one();
    lab.until("exists (select from jobkit.reports where done = 99)").await;
    worker.stop().await;
    let calls: i64 = lab.value("select last_value from public.reports").await;
    // A heartbeat may come amidst the fifty.
    assert!((1..=6).contains(&calls), "{calls} calls");
}

#[tokio::test]
async fn a_checkpoint_survives_every_end_of_an_attempt_and_a_replay() {
    let (lab, hand) = lab().await;
    let worker = start(&lab, &hand).await;
    let job = Import.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from seen where page = 2)").await;
    let checkpoint = detail(&lab, job).await.checkpoint.unwrap();
    assert_eq!((checkpoint.attempt, checkpoint.bytes), (2, 1));
    worker.stop().await;
    let worker = start(&lab, &hand).await;
    lab.until("exists (select from jobkit.dead_letters)").await;
    let seen = "select string_agg(page || '/' || attempt, ' ' order by page) from seen";
    assert_eq!(lab.value::<String>(seen).await, "0/1 1/2 2/2 3/2 4/3");
    let letter = detail(&lab, job).await.dead_letter.unwrap();
    Admin::new(lab.pool()).dead_letter(letter).replay().await.unwrap();
    lab.until("exists (select from seen where page = 5)").await;
    lab.until("not exists (select from jobkit.steps)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn the_attempt_after_a_reap_reads_the_checkpoint() {
    let (lab, hand) = lab().await;
    let worker = start(&lab, &hand).await;
    Orphan.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from seen)").await;
    assert!(jobkit::testing::lose_lease(lab.direct(), worker.id()).await.unwrap());
    // Before the worker knows and gives the job back, uncharged.
    lab.run("select jobkit.reap_claim(c.worker_id, c.n) from jobkit.claims c").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let seen = "select string_agg(page || '/' || attempt, ' ' order by page) from seen";
    assert_eq!(lab.value::<String>(seen).await, "0/1 7/2");
    assert_eq!(lab.count("jobkit.lost_workers").await, 1);
    assert_eq!(lab.count("jobkit.steps").await, 0);
    lab.check_invariants().await;
}

#[tokio::test]
async fn an_attempt_that_lost_its_job_is_told_so() {
    let (lab, hand) = lab().await;
    let worker = start(&lab, &hand).await;
    let job = Robbed.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from seen)").await;
    worker.stop().await;
    let value = "select value::text from jobkit.steps";
    assert_eq!(lab.value::<String>(value).await, "\"mine\"");
    assert_eq!(detail(&lab, job).await.snoozes, 1);
    lab.check_invariants().await;
}

#[tokio::test]
async fn what_is_old_or_of_no_job_is_pruned() {
    let (lab, hand) = lab().await;
    lab.run(
        "insert into jobkit.reports (job_id, attempt, worker_id, began_at)
            select 7, n, 1, now() - n * interval '1 day' from generate_series(1, 9) n;
        insert into jobkit.steps select n, '', '1', 1, now() from generate_series(1, 9) n",
    )
    .await;
    let pruned: i32 = lab.value("select jobkit.prune_reports('7 days', 1)").await;
    assert_eq!((pruned, lab.value("select max(attempt) from jobkit.reports").await), (1, 8));
    let worker = lab
        .worker()
        .jobs([Registration::of::<Robbed, _>()])
        .state(hand)
        .queue("default", 1)
        .start()
        .await
        .unwrap();
    lab.until("not exists (select from jobkit.steps)").await;
    lab.until("(select max(attempt) from jobkit.reports) = 6").await;
    worker.stop().await;
}

/// It may be a look into millions.
#[tokio::test]
async fn whatever_is_pruned_no_table_of_jobs_is_read() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at, args)
            select 'count', 'default', 0, 1, now(), now(), '{}' from generate_series(1, 20000);
        insert into jobkit.steps select id, '', '1', 1, now() from jobkit.jobs where id % 4 = 0;
        insert into jobkit.steps select -n, '', '1', 1, now() from generate_series(1, 9) n;
        insert into jobkit.unique_keys (scope, key, job_id)
            select 's', k.job_id::text, k.job_id from jobkit.steps k;
        analyze jobkit.jobs, jobkit.steps, jobkit.unique_keys",
    )
    .await;
    let mut session = lab.session("pruner").await;
    for prune in ["prune_steps", "prune_keys"] {
        session.run("begin").await.unwrap();
        let pruned: i32 = session.value(&format!("select jobkit.{prune}(1000)")).await.unwrap();
        assert_eq!(pruned, 9, "{prune}");
        let scans = "select seq_scan from pg_stat_xact_user_tables where relname = 'jobs'";
        assert_eq!(session.value::<i64>(scans).await.unwrap(), 0, "{prune}");
        session.run("commit").await.unwrap();
    }
}

#[tokio::test]
async fn the_last_five_attempts_are_kept() {
    let lab = Lab::new().await;
    for attempt in 1..=9 {
        let row =
            format!(r#"[{{"job": 7, "attempt": {attempt}, "began": 0, "done": 1, "at": 0}}]"#);
        lab.run(&format!("select jobkit.report(1, '{row}')")).await;
    }
    let kept = "select string_agg(attempt::text, ' ' order by attempt) from jobkit.reports";
    assert_eq!(lab.value::<String>(kept).await, "5 6 7 8 9");
}
