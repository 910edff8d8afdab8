//! Handlers that complete their job in a transaction of their own: effect and completion agree,
//! whatever becomes of the transaction, its answer, the handler and the worker.

mod meanwhile;
mod random;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jobkit::error::ContextError;
use jobkit::unique::{Enqueued, While};
use jobkit::{Enqueue, Job, JobContext, JobId, Registration, WorkerHandle, job};
use jobkit_tests::{Lab, Network, Proxy};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgConnection, PgPool, PgTransaction};
use tokio::sync::{Notify, Semaphore};

/// What the handlers here have at hand.
struct Hand {
    pool: PgPool,
    /// Where commits are lost, and another database.
    elsewhere: String,
    /// A handler that waits may go on.
    go_on: Notify,
    /// So many handlers hold their transactions, or would like to end.
    waiting: AtomicUsize,
    ends: Semaphore,
}

type Cx = JobContext<Arc<Hand>>;

/// What a handler does with the transaction in which it completes its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum How {
    Commit,
    CommitAndFail,
    CommitAndPanic,
    RollBack,
    RollBackAndFail,
    Drop,
    /// Back to a savepoint before the completion, and commits the rest.
    SavePoint,
    /// Swallows the refusal of a second one, and commits.
    Swallow,
    /// Ends before the transaction, which another task commits.
    GiveAway,
    GiveAwayAndRollBack,
    /// Holds it open until it is let go on.
    Linger,
    /// Waits with others, and does nothing special.
    Wait,
    RepeatableRead,
    Elsewhere,
    AfterCancel,
    AfterRelease,
    /// Over the network, once it is let go on.
    OverNetwork,
}

/// Writes that it was there, in the transaction in which it completes its job.
#[derive(Serialize, Deserialize)]
#[job(kind = "pay_in_tx", max_attempts = 3, backoff = fixed("1h"), retention = "1h")]
struct Pay {
    how: How,
}

impl Job<Arc<Hand>> for Pay {
    async fn run(self, cx: Cx) -> jobkit::Result {
        pay(&cx, self.how).await
    }
}

/// The same, one at a time.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 3, backoff = fixed("1h"), retention = "1h", concurrency_key = "k")]
struct PayInTurn {
    how: How,
}

impl Job<Arc<Hand>> for PayInTurn {
    async fn run(self, cx: Cx) -> jobkit::Result {
        pay(&cx, self.how).await
    }
}

/// Returns something.
#[derive(Serialize, Deserialize)]
#[job(retention = "1h", result = i64)]
struct Quote;

impl Job<Arc<Hand>> for Quote {
    async fn run(self, cx: Cx) -> jobkit::Result<i64> {
        let mut tx = cx.state().pool.begin().await?;
        cx.complete_in_with(&mut tx, &42).await?;
        tx.commit().await?;
        Ok(43)
    }
}

/// Enqueues its successor in the transaction that completes it.
#[derive(Serialize, Deserialize)]
#[job(retention = "1h")]
struct Step {
    left: u32,
}

impl Job<Arc<Hand>> for Step {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let mut tx = cx.state().pool.begin().await?;
        effect(&cx, &mut tx).await?;
        cx.complete_in(&mut tx).await?;
        if let Some(left) = self.left.checked_sub(1) {
            let next = Self { left }.options().unique_key("k").unique_while(While::Unfinished);
            let next = next.enqueue_unique(&mut *tx).await?;
            assert!(matches!(next, Enqueued::New(_)), "the key is free by now: {next:?}");
        }
        tx.commit().await?;
        Ok(())
    }
}

async fn effect(cx: &Cx, tx: &mut PgConnection) -> sqlx::Result<()> {
    let insert = "insert into effects (job, attempt) values ($1, $2)";
    let attempt = i32::try_from(cx.attempt()).unwrap();
    sqlx::query(insert).bind(cx.id().0).bind(attempt).execute(tx).await.map(drop)
}

async fn pay(cx: &Cx, how: How) -> jobkit::Result {
    let hand = cx.state();
    match how {
        How::Wait => {
            hand.waiting.fetch_add(1, Ordering::SeqCst);
            hand.ends.acquire().await.unwrap().forget();
            return Ok(());
        }
        How::Elsewhere | How::OverNetwork => return pay_elsewhere(cx, how).await,
        How::AfterCancel | How::AfterRelease => steal(cx, how).await?,
        _ => {}
    }
    let mut tx = hand.pool.begin().await?;
    complete(cx, how, &mut tx).await?;
    match how {
        How::RollBack => tx.rollback().await?,
        How::RollBackAndFail => {
            tx.rollback().await?;
            return Err("no money".into());
        }
        How::Drop => return Err("dropped".into()),
        How::GiveAway | How::GiveAwayAndRollBack => {
            let hand = Arc::clone(hand);
            tokio::spawn(async move {
                hand.waiting.fetch_add(1, Ordering::SeqCst);
                hand.go_on.notified().await;
                if how == How::GiveAway { tx.commit().await } else { tx.rollback().await }
            });
        }
        How::Linger => {
            hand.waiting.fetch_add(1, Ordering::SeqCst);
            hand.go_on.notified().await;
            tx.commit().await?;
        }
        _ => tx.commit().await?,
    }
    match how {
        How::CommitAndFail => Err("too late to fail".into()),
        How::CommitAndPanic => panic!("too late to panic"),
        _ => Ok(()),
    }
}

/// Completes the job, after its effect.
async fn complete(cx: &Cx, how: How, tx: &mut PgTransaction<'static>) -> jobkit::Result {
    if how == How::RepeatableRead {
        sqlx::query("set transaction isolation level repeatable read").execute(&mut **tx).await?;
    }
    effect(cx, tx).await?;
    match how {
        How::SavePoint => {
            let mut inner = tx.begin().await?;
            cx.complete_in(&mut inner).await?;
            inner.rollback().await?;
        }
        How::Swallow => {
            cx.complete_in(tx).await?;
            let mut inner = tx.begin().await?;
            let twice = cx.complete_in(&mut inner).await;
            assert!(matches!(twice, Err(ContextError::ClaimLost)), "{twice:?}");
            inner.commit().await?;
        }
        _ => cx.complete_in(tx).await?,
    }
    Ok(())
}

/// Over a connection of its own.
async fn pay_elsewhere(cx: &Cx, how: How) -> jobkit::Result {
    let mut connection = PgConnection::connect(&cx.state().elsewhere).await?;
    let mut tx = connection.begin().await?;
    if how != How::Elsewhere {
        effect(cx, &mut tx).await?;
    }
    cx.complete_in(&mut tx).await?;
    cx.state().waiting.fetch_add(1, Ordering::SeqCst);
    cx.state().go_on.notified().await;
    tx.commit().await?;
    Ok(())
}

/// Somebody else has the job before it is completed.
async fn steal(cx: &Cx, how: How) -> sqlx::Result<()> {
    let steal = if how == How::AfterCancel {
        "select from jobkit.cancel_mark(array[$1])"
    } else {
        "select from jobkit.claims c, jobkit.settle(c.worker_id, jobkit.outcomes(array[c.n],
            array[$1], '{snooze}', p_delay => '{1h}')) where $1 = any (c.job_ids)"
    };
    sqlx::query(steal).bind(cx.id().0).execute(&cx.state().pool).await.map(drop)
}

async fn lab() -> Lab {
    let lab = Lab::guarded().await;
    lab.run("create table effects (job bigint, attempt integer)").await;
    lab
}

fn hand(lab: &Lab, elsewhere: &str) -> Arc<Hand> {
    Arc::new(Hand {
        pool: lab.pool().clone(),
        elsewhere: elsewhere.to_owned(),
        go_on: Notify::new(),
        waiting: AtomicUsize::new(0),
        ends: Semaphore::new(0),
    })
}

async fn start(lab: &Lab, hand: &Arc<Hand>) -> WorkerHandle {
    let worker = lab.worker().lease(Duration::from_secs(2)).heartbeat(Duration::from_millis(50));
    let worker = worker.state(Arc::clone(hand));
    let jobs = [
        Registration::of::<Pay, _>(),
        Registration::of::<PayInTurn, _>(),
        Registration::of::<Quote, _>(),
        Registration::of::<Step, _>(),
    ];
    worker.jobs(jobs).queue("default", 20).start().await.unwrap()
}

/// Where a job is: `finish`, `retry`, `snooze`, …
async fn place(lab: &Lab, JobId(job): JobId) -> String {
    let sql = format!(
        "select coalesce(
            (select outcome from jobkit.finished where job_id = {job}),
            (select case when j.attempt > 0 then 'retry' else 'snooze' end
                from jobkit.jobs j join jobkit.scheduled s on s.job_id = j.id where j.id = {job}),
            'running')"
    );
    lab.value(&sql).await
}

impl Hand {
    /// Waits until so many handlers wait.
    async fn until_waiting(&self, handlers: usize) {
        let waiting = || async { self.waiting.load(Ordering::SeqCst) >= handlers };
        jobkit_tests::wait(Duration::from_secs(30), "handlers wait", waiting).await;
    }
}

/// No transaction sees a job that ended without its effect, nor an effect without that.
const DISAGREE: &str = "select count(*) from (select job, attempt from effects) e
    full join (
        select f.job_id, f.attempt from jobkit.finished f where f.outcome = 'finish'
    ) f on f.job_id = e.job and f.attempt = e.attempt
    where f.job_id is null or e.job is null";

/// Runs one alone, then in a batch with another. What is recorded of it: where it is, the error of
/// its attempt, and how many effects there are.
async fn outcome(how: How) -> (String, String, i64) {
    let lab = lab().await;
    let hand = hand(&lab, "");
    let mut outcomes = Vec::new();
    for others in [0, 1] {
        let worker = start(&lab, &hand).await;
        let jobs = (0..=others).map(|at| if at == 0 { how } else { How::Wait });
        let jobs = jobkit::enqueue_all(jobs.map(|how| Pay { how }), lab.pool()).await.unwrap();
        hand.ends.add_permits(others);
        lab.until(
            "not exists (select from jobkit.claims) and not exists (select from jobkit.ready)",
        )
        .await;
        let error = "select coalesce(max(error), '') from jobkit.attempts where job_id = ";
        let error: String = lab.value(&format!("{error}{}", jobs[0])).await;
        let effects = lab.count(&format!("effects where job = {}", jobs[0])).await;
        outcomes.push((place(&lab, jobs[0]).await, error, effects));
        worker.stop().await;
    }
    assert_eq!(outcomes[0], outcomes[1], "alone, and in a batch");
    lab.check_invariants().await;
    outcomes.swap_remove(0)
}

#[tokio::test]
async fn after_a_commit_the_job_has_ended_whatever_its_handler_returns() {
    for how in [How::Commit, How::CommitAndFail, How::CommitAndPanic, How::Swallow] {
        let finished = ("finish".to_owned(), String::new(), 1);
        assert_eq!(outcome(how).await, finished, "{how:?}");
    }
}

#[tokio::test]
async fn after_a_rollback_the_attempt_has_failed_whatever_its_handler_returns() {
    let missing = "the handler succeeded, but the transaction in which it completed the job was \
                   not committed";
    for (how, error, effects) in [
        (How::RollBack, missing, 0),
        (How::RollBackAndFail, "no money", 0),
        (How::Drop, "dropped", 0),
        (How::SavePoint, missing, 1),
    ] {
        let failed = ("retry".to_owned(), error.to_owned(), effects);
        assert_eq!(outcome(how).await, failed, "{how:?}");
    }
}

#[tokio::test]
async fn a_transaction_that_cannot_complete_the_job_is_refused_with_its_effect() {
    let error = "a job can only be completed in a READ COMMITTED transaction";
    let (place, refusal, effects) = outcome(How::RepeatableRead).await;
    assert_eq!((&*place, effects), ("retry", 0));
    assert!(refusal.starts_with(error), "{refusal}");
    assert_eq!(outcome(How::AfterRelease).await, ("snooze".to_owned(), String::new(), 0));
    assert_eq!(outcome(How::AfterCancel).await, ("cancel".to_owned(), String::new(), 0));
}

#[tokio::test]
async fn another_database_is_named() {
    let other = Lab::new().await;
    let lab = lab().await;
    let hand = hand(&lab, other.url());
    let worker = start(&lab, &hand).await;
    Pay { how: How::Elsewhere }.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.attempts)").await;
    let error: String = lab.value("select error from jobkit.attempts").await;
    assert!(error.starts_with("this transaction does not see the job"), "{error}");
    worker.stop().await;
}

#[tokio::test]
async fn a_result_is_stored_with_the_completion() {
    let lab = lab().await;
    let hand = hand(&lab, "");
    let worker = start(&lab, &hand).await;
    let quote = Quote.enqueue_and_wait(lab.pool(), Duration::from_secs(30)).await.unwrap();
    assert_eq!(quote, 42);
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_successor_of_the_same_unique_key_is_enqueued_with_the_completion() {
    let lab = lab().await;
    let hand = hand(&lab, "");
    let worker = start(&lab, &hand).await;
    let first = Step { left: 5 }.options().unique_key("k").unique_while(While::Unfinished);
    first.enqueue(lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 6").await;
    worker.stop().await;
    assert_eq!(lab.value::<i64>(DISAGREE).await, 0);
    lab.check_invariants().await;
}

#[tokio::test]
async fn the_counts_know_of_it() {
    let lab = lab().await;
    let hand = hand(&lab, "");
    let worker = start(&lab, &hand).await;
    for how in [How::Commit, How::CommitAndFail, How::RollBack] {
        Pay { how }.enqueue(lab.pool()).await.unwrap();
        PayInTurn { how }.enqueue(lab.pool()).await.unwrap();
    }
    let counted = || async {
        let counts = worker.counts();
        (counts.finished, counts.retried, counts.lost) == (4, 2, 0)
    };
    jobkit_tests::wait(Duration::from_secs(30), "all are counted", counted).await;
    assert_eq!(lab.count("jobkit.permits").await, 0);
    worker.stop().await;
    let measured =
        "select sum(count)::bigint from jobkit.measures where span = 1 and outcome = 'finish'";
    assert_eq!(lab.value::<Option<i64>>(measured).await, Some(4));
    lab.check_invariants().await;
}

/// The handler has ended, its transaction has not: nothing is repeated before it is over.
#[tokio::test]
async fn a_transaction_that_was_given_away_is_waited_for() {
    for (how, state) in [(How::GiveAway, "finish"), (How::GiveAwayAndRollBack, "retry")] {
        let lab = lab().await;
        let hand = hand(&lab, "");
        let worker = start(&lab, &hand).await;
        let mates = [how, How::Wait, How::Wait].map(|how| Pay { how });
        let jobs = jobkit::enqueue_all(mates, lab.pool()).await.unwrap();
        hand.until_waiting(3).await;
        hand.ends.add_permits(2);
        lab.until("(select count(*) from jobkit.finished) = 2").await;
        let beaten = "(select heartbeat_at from jobkit.workers)";
        let since: String = lab.value(&format!("select {beaten}::text")).await;
        lab.until(&format!("{beaten} > '{since}'::timestamptz + interval '200 ms'")).await;
        assert_eq!(lab.count("jobkit.claims where cardinality(job_ids) = 1").await, 1);
        hand.go_on.notify_one();
        lab.until("not exists (select from jobkit.claims)").await;
        assert_eq!(place(&lab, jobs[0]).await, state);
        worker.stop().await;
        lab.check_invariants().await;
    }
}

/// The worker cannot wait for ever: what it leaves is decided by the transaction all the same.
#[tokio::test]
async fn a_worker_that_stops_leaves_an_open_transaction_to_the_lease() {
    let lab = lab().await;
    let hand = hand(&lab, "");
    let stopped = start(&lab, &hand).await;
    let job = Pay { how: How::GiveAway }.enqueue(lab.pool()).await.unwrap();
    hand.until_waiting(1).await;
    let began = Instant::now();
    stopped.stop().await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let worker = start(&lab, &hand).await;
    assert_eq!(lab.count("jobkit.claims").await, 1);
    hand.go_on.notify_one();
    lab.until("not exists (select from jobkit.claims)").await;
    assert_eq!(place(&lab, job).await, "finish");
    worker.stop().await;
    lab.check_invariants().await;
}

/// The answer to the COMMIT is lost; or the COMMIT itself.
#[tokio::test]
async fn a_lost_answer_to_the_commit_is_looked_up() {
    for (network, expected, effects) in
        [(Network::Deafens, "finish", 1), (Network::Breaks, "retry", 0)]
    {
        let lab = lab().await;
        let proxy = Proxy::new(lab.url()).await.unwrap();
        let hand = hand(&lab, proxy.url());
        let worker = start(&lab, &hand).await;
        let mates = [How::OverNetwork, How::Wait].map(|how| Pay { how });
        let jobs = jobkit::enqueue_all(mates, lab.pool()).await.unwrap();
        hand.until_waiting(2).await;
        hand.ends.add_permits(1);
        proxy.set(network);
        hand.go_on.notify_one();
        if network == Network::Deafens {
            lab.until("exists (select from effects)").await;
            proxy.set(Network::Breaks);
        }
        lab.until("not exists (select from jobkit.claims)").await;
        assert_eq!(place(&lab, jobs[0]).await, expected, "{network:?}");
        assert_eq!(lab.count("effects").await, effects, "{network:?}");
        worker.stop().await;
        lab.check_invariants().await;
    }
}
