//! The kit in tests of `#[sqlx::test]`, each of which has a database of its own.

use std::process::Command;

use jobkit::testing::{Drain, assert_enqueued, begin, enqueued, refute_enqueued};
use jobkit::{Enqueue, Job, JobContext, job};
use private_postgres::Purpose;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

#[derive(Serialize, Deserialize)]
#[job(kind = "testing_with_sqlx", retention = none)]
struct Greet {
    user: i64,
}

impl Job for Greet {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[sqlx::test(migrations = false)]
#[ignore = "the test below runs it, with the server's address in its environment"]
async fn of_sqlx_a_transaction_is_rolled_back(pool: PgPool) {
    let mut tx = begin(&pool).await.unwrap();
    Greet { user: 7 }.enqueue(&mut *tx).await.unwrap();
    assert_enqueued::<Greet>(&mut *tx, |job| job.user == 7).await;
    let report = Drain::new().only::<Greet>().run(&mut *tx).await.unwrap();
    assert_eq!(report.assert_finished().runs.len(), 1);
    tx.rollback().await.unwrap();
    refute_enqueued::<Greet>(&pool, |_| true).await;
}

#[sqlx::test(migrations = false)]
#[ignore = "the test below runs it, with the server's address in its environment"]
async fn of_sqlx_a_pool_has_a_database_of_its_own(pool: PgPool) {
    jobkit::migrate(&pool).await.unwrap();
    for user in 1..=3 {
        Greet { user }.enqueue(&pool).await.unwrap();
    }
    let mut jobs = enqueued::<Greet>(&pool).await.unwrap();
    jobs.retain(|job| job.user > 1);
    assert_eq!(jobs.len(), 2);
    let report = Drain::new().only::<Greet>().run(&pool).await.unwrap();
    assert_eq!(report.assert_finished().runs.len(), 3);
}

/// `#[sqlx::test]` finds its server by `DATABASE_URL` alone, which this process may not have.
#[test]
fn the_kit_goes_with_tests_of_sqlx() {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--ignored", "with_sqlx::of_sqlx"]);
    tests.env("DATABASE_URL", private_postgres::url(Purpose::Test).unwrap());
    let ran = tests.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("2 passed"), "{said}");
}
