//! What tests see of jobs that are enqueued.

use std::time::Duration;

use jobkit::testing::{assert_enqueued, enqueued, refute_enqueued};
use jobkit::{Enqueue, Job, JobContext, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
#[job(kind = "testing_greet", queue = "mail", priority = -1, max_attempts = 5, redact(token),
      concurrency_key = self.user, concurrency_limit = 1, unique_key = self.user)]
struct Greet {
    user: i64,
    token: String,
}

impl Job for Greet {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job]
struct Other;

impl Job for Other {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn greet(user: i64) -> Greet {
    Greet { user, token: "tok_secret".to_owned() }
}

/// What a future panics with.
async fn panics(assertion: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(assertion).await.unwrap_err().into_panic();
    *panic.downcast::<String>().unwrap()
}

#[tokio::test]
async fn a_transaction_sees_its_own_jobs_with_everything_about_them() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let later = greet(8);
    let later = later.options().after(Duration::from_secs(60)).tags(["a"]).queue("bulk");
    let later = later.metadata(json!({ "by": "ada" })).enqueue(&mut *tx).await.unwrap();
    greet(7).enqueue(&mut *tx).await.unwrap();

    let jobs = enqueued::<Greet>(&mut *tx).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.user).collect::<Vec<_>>(), [8, 7]);
    let job = assert_enqueued::<Greet>(&mut *tx, |job| job.user == 8).await;
    assert_eq!((&job.job, job.id, &*job.state), (&greet(8), later, "scheduled"));
    assert_eq!((&*job.queue, job.priority, job.attempts, job.max_attempts), ("bulk", -1, 0, 5));
    assert_eq!((job.concurrency_key.as_deref(), job.unique_key.as_deref()), (Some("8"), Some("8")));
    assert_eq!((job.tags, job.metadata), (vec!["a".to_owned()], Some(json!({ "by": "ada" }))));
    assert!(job.due_in > Duration::from_secs(50) && job.due_in <= Duration::from_secs(60));
    let job = assert_enqueued::<Greet>(&mut *tx, |job| job.user == 7).await;
    assert_eq!((&*job.state, job.due_in, job.metadata), ("ready", Duration::ZERO, None));
    refute_enqueued::<Greet>(&mut *tx, |job| job.user == 9).await;
    tx.rollback().await.unwrap();
    refute_enqueued::<Greet>(lab.pool(), |_| true).await;
}

#[tokio::test]
async fn the_message_lists_what_is_there_instead() {
    let lab = Lab::new().await;
    Other.enqueue(lab.pool()).await.unwrap();
    let pool = lab.pool().clone();
    let none = panics(async move {
        assert_enqueued::<Greet>(&pool, |_| true).await;
    });
    let none = none.await;
    assert!(
        none.contains(file!()) && none.contains("no job `testing_greet` is enqueued"),
        "{none}"
    );
    assert!(none.contains("of other kinds: other (1)"), "{none}");

    let id = greet(7).options().tags(["vip"]).enqueue(lab.pool()).await.unwrap();
    let pool = lab.pool().clone();
    let other = panics(async move {
        assert_enqueued::<Greet>(&pool, |job| job.user == 8).await;
    });
    let other = other.await;
    let line = format!(r#"job {id}: {{"user":7,"token":"•••"}}, ready in mail, priority -1"#);
    assert!(other.contains("that fits; there are 1:") && other.contains(&line), "{other}");
    assert!(other.contains("tags vip") && !other.contains("tok_secret"), "{other}");

    let pool = lab.pool().clone();
    let found = panics(async move {
        refute_enqueued::<Greet>(&pool, |job| job.user == 7).await;
    });
    let found = found.await;
    assert!(found.contains("should not be") && found.contains(&line), "{found}");
}

#[tokio::test]
async fn a_job_that_another_session_commits_is_waited_for() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    greet(7).enqueue(&mut *tx).await.unwrap();
    let pool = lab.pool().clone();
    let waits = tokio::spawn(async move {
        assert_enqueued::<Greet>(&pool, |_| true).within(Duration::from_secs(30)).await.user
    });
    tx.commit().await.unwrap();
    assert_eq!(waits.await.unwrap(), 7);
}

#[tokio::test]
async fn none_may_come_while_one_looks() {
    let lab = Lab::new().await;
    refute_enqueued::<Greet>(lab.pool(), |_| true).within(Duration::from_millis(30)).await;
    let pool = lab.pool().clone();
    let comes = panics(async move {
        refute_enqueued::<Greet>(&pool, |_| true).within(Duration::from_secs(30)).await;
    });
    let (comes, _) = tokio::join!(comes, greet(7).enqueue(lab.pool()));
    assert!(comes.contains("should not be"), "{comes}");
}

#[tokio::test]
async fn a_payload_that_does_not_decode_is_named() {
    let lab = Lab::new().await;
    greet(7).enqueue(lab.pool()).await.unwrap();
    lab.run(r#"update jobkit.jobs set args = '{"user": 7}'"#).await;
    let error = enqueued::<Greet>(lab.pool()).await.unwrap_err().to_string();
    assert!(error.contains("missing field `token`"), "{error}");
}
