//! Jobs that complete in a transaction of their own, drained.

use std::sync::Arc;

use jobkit::testing::{self, Drain, RunOutcome};
use jobkit::{Enqueue, Job, JobContext, Registration, enqueue_all, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgPool, PgTransaction};
use tokio::sync::Mutex;

type Tx = Arc<Mutex<PgTransaction<'static>>>;

/// Completes in a part of the transaction of the test.
#[derive(Serialize, Deserialize)]
#[job(kind = "testing_complete", concurrency_key = "all", concurrency_limit = 5)]
struct Complete {
    commits: bool,
}

impl Job<Tx> for Complete {
    async fn run(self, cx: JobContext<Tx>) -> jobkit::Result {
        let mut tx = cx.state().lock().await;
        let mut tx = tx.begin().await?;
        sqlx::query("insert into effects values ($1)").bind(cx.id().0).execute(&mut *tx).await?;
        cx.complete_in(&mut tx).await?;
        if self.commits {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        Ok(())
    }
}

/// The same in a transaction of its own.
#[derive(Serialize, Deserialize)]
#[job(kind = "testing_complete_apart")]
struct Apart {
    commits: bool,
}

impl Job<PgPool> for Apart {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let mut tx = cx.state().begin().await?;
        sqlx::query("insert into effects values ($1)").bind(cx.id().0).execute(&mut *tx).await?;
        cx.complete_in(&mut tx).await?;
        // As long as those that were claimed with it need to end, if they wait for nobody.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        if self.commits {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        Ok(())
    }
}

const EFFECTS: &str = "create table effects (job bigint)";

#[tokio::test]
async fn a_handler_that_has_the_transaction_of_the_test_completes_in_it() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    for at_once in [1, 3] {
        let tx: Tx = Arc::new(Mutex::new(testing::begin(lab.pool()).await.unwrap()));
        let jobs = [true, false, true].map(|commits| Complete { commits });
        enqueue_all(jobs, &mut **tx.lock().await).await.unwrap();
        let drain = Drain::new().jobs([Registration::of::<Complete, _>()]).state(Arc::clone(&tx));
        let report = drain.at_once(at_once).run(&*tx).await.unwrap();
        let finished = report.runs.iter().filter(|run| run.outcome == RunOutcome::Finished);
        assert_eq!((report.runs.len(), finished.count()), (3, 2), "{report:?}");
        let failed = report.runs.iter().find(|run| run.outcome != RunOutcome::Finished).unwrap();
        assert!(failed.error.as_ref().unwrap().contains("was not committed"), "{failed:?}");
        let mut tx = tx.lock().await;
        let left = "select (select count(*) from effects) || ' ' || (select count(*) from \
            jobkit.jobs) || ' ' || (select count(*) from jobkit.permits)";
        let left: String = sqlx::query_scalar(left).fetch_one(&mut **tx).await.unwrap();
        assert_eq!(left, "2 1 0");
    }
}

#[tokio::test]
async fn a_drain_of_what_is_committed_lets_handlers_have_transactions_of_their_own() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let jobs = [true, false, true].map(|commits| Apart { commits });
    enqueue_all(jobs, lab.pool()).await.unwrap();
    let drain = Drain::new().jobs([Registration::of::<Apart, _>()]).state(lab.pool().clone());
    let report = drain.at_once(3).run(lab.pool()).await.unwrap();
    let finished = report.runs.iter().filter(|run| run.outcome == RunOutcome::Finished);
    assert_eq!((report.runs.len(), finished.count()), (3, 2), "{report:?}");
    assert_eq!((lab.count("effects").await, lab.count("jobkit.claims").await), (2, 0));
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_handler_that_does_not_see_the_transaction_of_the_test_is_told_so() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let mut tx = testing::begin(lab.pool()).await.unwrap();
    Apart { commits: true }.enqueue(&mut *tx).await.unwrap();
    let drain = Drain::new().jobs([Registration::of::<Apart, _>()]).state(lab.pool().clone());
    let report = drain.run(&mut *tx).await.unwrap();
    let error = report.runs[0].error.as_deref().unwrap();
    assert!(error.contains("drain through a mutex"), "{error}");
}
