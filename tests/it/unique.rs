//! Unique jobs as an application has them.

use std::time::Duration;

use jobkit::enqueue::Statement;
use jobkit::unique::{self, Enqueued, OnDuplicate, While};
use jobkit::{Enqueue, Error, Job, JobContext, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgConnection};

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
    let answers = unique::enqueue_all(jobs.clone(), lab.pool()).await.unwrap();
    assert!(matches!(
        answers[..],
        [Enqueued::New(a), Enqueued::New(_), Enqueued::Replaced(b), Enqueued::New(_)] if a == b
    ));
    let ids: Vec<_> = answers.iter().map(|answer| answer.id()).collect();
    assert_eq!(jobkit::enqueue_all(jobs, lab.pool()).await.unwrap(), ids);
    let none = unique::enqueue_all(Vec::<Sync>::new(), lab.pool()).await.unwrap();
    assert!(none.is_empty());
    // Beside jobs that have no key.
    let mixed = || [crate::jobs::Noop.options().unique_key("k"), crate::jobs::Noop.options()];
    let answers = unique::enqueue_all(mixed(), lab.pool()).await.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Enqueued::New(_))));
    let answers = unique::enqueue_all(mixed(), lab.pool()).await.unwrap();
    assert!(matches!(answers[..], [Enqueued::Existing(_), Enqueued::New(_)]));
    lab.check_invariants().await;
}

#[tokio::test]
async fn what_a_key_cannot_be_is_refused_before_it_is_sent() {
    let lab = Lab::new().await;
    let long = sync(1, "").options().unique_key("x".repeat(513)).enqueue(lab.pool()).await;
    assert!(matches!(long, Err(Error::Length { what: "unique key", .. })));
    let group = sync(1, "").options().unique_group("").enqueue(lab.pool()).await;
    assert!(matches!(group, Err(Error::Length { .. })));
    let short = sync(1, "").options().unique_for(Duration::ZERO).enqueue(lab.pool()).await;
    assert!(matches!(short, Err(Error::Range { .. })));
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

/// Sixty-four producers at once, of which some roll back: whoever is told of a new job made the
/// only one, whoever is told of another names one that is there, and after a commit there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_producers_of_one_key_make_one_job() {
    let rounds = std::env::var("JOBKIT_ROUNDS").ok().and_then(|text| text.parse().ok());
    let lab = Lab::new().await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(lab.session("producer").await.connection);
    }
    for round in 0..rounds.unwrap_or(6) {
        // Ready, scheduled, running, to be retried, or none at all.
        let holds = [While::Queued, While::Running, While::Unfinished][round % 3];
        let before = stage(&lab, round % 5, holds).await;
        let tasks = sessions.into_iter().enumerate();
        let tasks: Vec<_> =
            tasks.map(|(at, session)| tokio::spawn(produce(session, at, round, holds))).collect();
        let mut answers = Vec::new();
        sessions = Vec::new();
        for task in tasks {
            let (connection, answer) = task.await.unwrap();
            sessions.push(connection);
            answers.extend(answer);
        }
        let held = "select coalesce(min(job_id), 0) from jobkit.unique_keys where key = 'k'";
        let holder: i64 = lab.value(held).await;
        let new = answers.iter().filter(|answer| matches!(answer, Enqueued::New(_))).count();
        let kept = before.is_some_and(|before| before == holder);
        assert_eq!(new, usize::from(!kept), "round {round}: {answers:?}");
        assert!(answers.iter().all(|answer| answer.id().0 == holder), "round {round}: {answers:?}");
        assert_eq!(lab.count(&format!("jobkit.jobs where id = {holder}")).await, 1);
        let waiting = "jobkit.jobs j join jobkit.places p on p.job_id = j.id
            where j.unique_key = 'k' and p.place <> 'claimed'";
        assert!(lab.count(waiting).await <= 1, "round {round}");
        lab.check_invariants().await;
        for table in ["ready", "scheduled", "claims", "attempts", "unique_keys", "jobs"] {
            lab.run(&format!("delete from jobkit.{table}")).await;
        }
    }
}

/// A transaction that enqueues a duplicate of some sort; what it was told, if it commits.
async fn produce(
    mut connection: PgConnection,
    at: usize,
    round: usize,
    holds: While,
) -> (PgConnection, Option<Enqueued>) {
    let mut tx = connection.begin().await.unwrap();
    let job = crate::jobs::Noop.options().unique_key("k").unique_while(holds);
    let what = [OnDuplicate::Skip, OnDuplicate::Replace, OnDuplicate::Debounce];
    let answer = job.on_duplicate(what[(at / 2) % 3]).enqueue_unique(&mut *tx).await.unwrap();
    let commits = (at + round).is_multiple_of(2);
    if commits {
        tx.commit().await.unwrap();
    } else {
        tx.rollback().await.unwrap();
    }
    (connection, commits.then_some(answer))
}

/// A job of the key in one of its states; none in the first.
async fn stage(lab: &Lab, state: usize, holds: While) -> Option<i64> {
    if state == 0 {
        return None;
    }
    let job = crate::jobs::Noop.options().unique_key("k").unique_while(holds);
    let id = job.enqueue(lab.pool()).await.unwrap().0;
    let claim = "insert into jobkit.claims (worker_id, n, job_ids)";
    let claimed = format!("delete from jobkit.ready; {claim} values (1, 1, '{{{id}}}')");
    let later = format!(
        "delete from jobkit.ready;
        update jobkit.jobs set run_at = now() + interval '1 hour' where id = {id};
        insert into jobkit.scheduled (run_at, job_id) select run_at, id from jobkit.jobs"
    );
    match state {
        1 => {}
        2 => lab.run(&later).await,
        3 => lab.run(&claimed).await,
        _ => {
            lab.run(&later).await;
            lab.run(
                "update jobkit.jobs set attempt = 1; update jobkit.scheduled set retrying = true",
            )
            .await;
        }
    }
    Some(id)
}
