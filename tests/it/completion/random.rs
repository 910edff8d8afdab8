//! Jobs that are completed in transactions of which anything may become.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jobkit::{Job, Registration, job};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, Executor, PgConnection};

use super::{Cx, DISAGREE, Hand, effect, hand, lab};

/// How many transactions were rolled back, and of how many commits the answer was lost.
static ROLLBACKS: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);

/// What becomes of a transaction in which a job is completed, at random.
#[derive(Serialize, Deserialize)]
#[job(
    max_attempts = 1000, backoff = fixed("1ms"), retention = "1h",
    concurrency_key = self.key.map(|key| key.to_string()), concurrency_limit = 2
)]
struct Gamble {
    key: Option<u8>,
}

impl Job<Arc<Hand>> for Gamble {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let moment = |most| Duration::from_micros(fastrand::u64(0..most));
        let mut connection = PgConnection::connect(&cx.state().elsewhere).await?;
        connection.execute("begin").await?;
        effect(&cx, &mut connection).await?;
        cx.complete_in(&mut connection).await?;
        tokio::time::sleep(moment(3000)).await;
        let end = if fastrand::u8(..3) > 0 { "commit" } else { "rollback" };
        ROLLBACKS.fetch_add(u32::from(end == "rollback"), Ordering::Relaxed);
        match fastrand::u8(..5) {
            // Ends with it, or fails after it.
            0 | 1 => {
                connection.execute(end).await?;
            }
            2 => {
                connection.execute(end).await?;
                return Err("after the end".into());
            }
            // The answer is lost, perhaps the statement itself.
            3 => {
                let ended = tokio::time::timeout(moment(2000), connection.execute(end)).await;
                drop(connection);
                LOST.fetch_add(u32::from(end == "commit" && ended.is_err()), Ordering::Relaxed);
                ended.map_err(|_| "the answer was lost")??;
            }
            // It ends some time later.
            _ => drop(tokio::spawn(async move {
                tokio::time::sleep(moment(20_000)).await;
                connection.execute(end).await.map(drop)
            })),
        }
        Ok(())
    }
}

/// So many jobs, each completed in a transaction that commits, rolls back, loses its answer or
/// outlives its handler, while workers lose their leases: at each moment, in what everybody sees,
/// there is an effect of exactly the attempt that finished.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effect_and_completion_always_agree() {
    let rounds = std::env::var("JOBKIT_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds: usize = rounds.unwrap_or(1000);
    let lab = lab().await;
    let hand = hand(&lab, lab.url());
    let start = || async {
        let worker = lab.worker().lease(Duration::from_secs(2)).state(Arc::clone(&hand));
        let worker = worker.heartbeat(Duration::from_millis(50));
        let worker = worker.jobs([Registration::of::<Gamble, _>()]).queue("default", 8);
        worker.reap_every(Duration::from_millis(50)).start().await.unwrap()
    };
    let workers = [start().await, start().await];
    let jobs =
        (0..rounds).map(|_| Gamble { key: [None, Some(fastrand::u8(..3))][fastrand::usize(..2)] });
    jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let (mut looks, mut reaped) = (0_u32, 0_u32);
    while lab.count("jobkit.jobs").await > 0 || lab.count("jobkit.claims").await > 0 {
        assert_eq!(lab.value::<i64>(DISAGREE).await, 0, "after {looks} looks");
        looks += 1;
        if fastrand::u8(..100) == 0 {
            let worker = workers[fastrand::usize(..2)].id();
            reaped += u32::from(jobkit::testing::lose_lease(lab.direct(), worker).await.unwrap());
        }
        // One that crashed often would run alone, and after a wait.
        lab.run("update jobkit.jobs set crashes = 0 where crashes > 1").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(lab.value::<i64>(DISAGREE).await, 0);
    let once = "select count(distinct job) || ' of ' || count(*) from effects";
    assert_eq!(lab.value::<String>(once).await, format!("{rounds} of {rounds}"));
    let [rollbacks, lost] = [&ROLLBACKS, &LOST].map(|count| count.load(Ordering::Relaxed));
    println!("{rounds} jobs, {looks} looks, {reaped} reaps, {rollbacks} rollbacks, {lost} lost");
    assert!(reaped > 0 && rollbacks > 0 && lost > 0, "each has to happen");
    for worker in workers {
        worker.stop().await;
    }
    assert_eq!(lab.count("jobkit.permits").await, 0);
    lab.check_invariants().await;
}
