//! Unique jobs as an application has them.

mod blocked;
mod crowd;
mod stage;
mod walk;

use std::time::Duration;

use jobkit::enqueue::{EnqueueError, Statement};
use jobkit::error::InvalidValue;
use jobkit::unique::{Enqueued, OnDuplicate, While};
use jobkit::{Enqueue, Job, JobContext, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

/// Unique by its account.
#[derive(Serialize, Deserialize, Clone)]
#[job(kind = "sync_account", unique_key = self.account, on_duplicate = replace,
    unique_group = "accounts")]
struct Sync {
    account: i64,
    reason: String,
}

impl Job for Sync {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn sync(account: i64, reason: &str) -> Sync {
    Sync { account, reason: reason.to_owned() }
}

#[tokio::test]
async fn a_duplicate_neither_fails_nor_ends_the_transaction() {
    let lab = Lab::guarded().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let first = sync(7, "a").enqueue_unique(&mut *tx).await.unwrap();
    assert!(matches!(first, Enqueued::New(_)));
    let skip = sync(7, "b").options().on_duplicate(OnDuplicate::Skip);
    let second = skip.clone().enqueue_unique(&mut *tx).await.unwrap();
    assert_eq!(second, Enqueued::Existing(first.id()));
    assert_eq!(skip.enqueue(&mut *tx).await.unwrap(), first.id());
    let third = sync(7, "c").enqueue_unique(&mut *tx).await.unwrap();
    assert_eq!(third, Enqueued::Replaced(first.id()));
    sqlx::query("select 1").execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    let reason: String = lab.value("select args ->> 'reason' from jobkit.jobs").await;
    assert_eq!(reason, "c");
    lab.check_invariants().await;
}

#[tokio::test]
async fn many_in_one_call_are_answered_each_in_its_place() {
    let lab = Lab::guarded().await;
    let jobs = [1, 2, 1, 3].map(|account| sync(account, "x"));
    let answers = jobkit::enqueue::enqueue_all_unique(jobs.clone(), lab.pool()).await.unwrap();
    assert!(matches!(
        answers[..],
        [Enqueued::New(a), Enqueued::New(_), Enqueued::Replaced(b), Enqueued::New(_)] if a == b
    ));
    let ids: Vec<_> = answers.iter().map(|answer| answer.id()).collect();
    assert_eq!(jobkit::enqueue_all(jobs, lab.pool()).await.unwrap(), ids);
    let none = jobkit::enqueue::enqueue_all_unique(Vec::<Sync>::new(), lab.pool()).await.unwrap();
    assert!(none.is_empty());
    // Beside jobs that have no key.
    let mixed = || [crate::jobs::Noop.options().unique_key("k"), crate::jobs::Noop.options()];
    let answers = jobkit::enqueue::enqueue_all_unique(mixed(), lab.pool()).await.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Enqueued::New(_))));
    let answers = jobkit::enqueue::enqueue_all_unique(mixed(), lab.pool()).await.unwrap();
    assert!(matches!(answers[..], [Enqueued::Existing(_), Enqueued::New(_)]));
    lab.check_invariants().await;
}

#[tokio::test]
async fn what_a_key_cannot_be_is_refused_before_it_is_sent() {
    let lab = Lab::new().await;
    let long = sync(1, "").options().unique_key("x".repeat(513)).enqueue(lab.pool()).await;
    assert!(matches!(
        long,
        Err(EnqueueError::Invalid(InvalidValue::Length { what: "unique key", .. }))
    ));
    let group = sync(1, "").options().unique_group("").enqueue(lab.pool()).await;
    assert!(matches!(group, Err(EnqueueError::Invalid(InvalidValue::Length { .. }))));
    let short = sync(1, "").options().unique_for(Duration::ZERO).enqueue(lab.pool()).await;
    assert!(matches!(short, Err(EnqueueError::Invalid(InvalidValue::Range { .. }))));
}

#[tokio::test]
async fn a_statement_of_another_driver_carries_a_unique_job() {
    let lab = Lab::guarded().await;
    let mut answers = Vec::new();
    for _ in 0..2 {
        let job = sync(7, "a").options().unique_while(While::Queued);
        let statement = Statement::enqueue(job.on_duplicate(OnDuplicate::Skip)).unwrap();
        let query = statement
            .parameters()
            .iter()
            .fold(sqlx::query_as::<_, (i64, String)>(statement.sql()), |query, parameter| {
                query.bind(parameter.clone())
            });
        answers.push(query.fetch_one(lab.pool()).await.unwrap());
    }
    assert_eq!(answers[0].1, "enqueued");
    assert_eq!(answers[1], (answers[0].0, "existing".to_owned()));
}

#[tokio::test]
async fn sql_enqueues_unique_jobs_and_says_which() {
    let lab = Lab::guarded().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('act', 'default', 0, 3)",
    )
    .await;
    let call = "select jobkit.enqueue('act', p_unique_key => 'k', p_unique_while => 'queued')
        || ' ' || current_setting('jobkit.answer')";
    let first: String = lab.value(call).await;
    assert!(first.ends_with(" enqueued"), "{first}");
    assert_eq!(lab.value::<String>(call).await, first.replace("enqueued", "existing"));
}

/// Whoever enqueues by the name of a kind gives the key, or the job has none.
#[tokio::test]
async fn a_declared_unique_key_is_not_known_to_sql_and_admin() {
    let lab = Lab::guarded().await;
    let kind = "sync_account";
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('sync_account', 'default', 0, 3)",
    )
    .await;
    let args = serde_json::json!({"account": 7, "reason": ""});
    let held = sync(7, "").enqueue(lab.pool()).await.unwrap();
    let by_sql = format!("select jobkit.enqueue('{kind}', '{args}')");
    let first: i64 = lab.value(&by_sql).await;
    assert_ne!(lab.value::<i64>(&by_sql).await, first);
    let admin = jobkit::Admin::new(lab.pool());
    let enqueued = admin.enqueue(kind, args.clone()).enqueue_unique().await.unwrap();
    assert!(matches!(enqueued, Enqueued::New(id) if id != held), "{enqueued:?}");
    assert_eq!(lab.count("jobkit.jobs where unique_key is null").await, 3);
    // Said, it is the key that the type has.
    let same = format!(
        "select jobkit.enqueue('{kind}', '{args}', p_unique_key => '7',
            p_unique_group => 'accounts')"
    );
    assert_eq!(lab.value::<i64>(&same).await, held.0);
    let said = admin.enqueue(kind, args).unique_key("7").unique_group("accounts");
    assert_eq!(said.enqueue_unique().await.unwrap(), Enqueued::Existing(held));
    assert_eq!(lab.count("jobkit.jobs").await, 4);
    lab.check_invariants().await;
}
