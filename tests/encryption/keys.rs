//! Sealed at the enqueue, opened at the run; and what becomes of jobs without a key.

use std::time::Duration;

use jobkit::admin::explain::Reason;
use jobkit::enqueue::EnqueueError;
use jobkit::policy::encryption::{self, Keyring, KeyringError};
use jobkit::testing::{Drain, RunOutcome, advance, assert_enqueued};
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::connect::{
    CANARY, Connect, found_in, key, keyring, nothing_lies_open, ran, turn, worker,
};

#[tokio::test]
async fn what_is_sealed_lies_open_nowhere_and_the_handler_has_it() {
    let _turn = turn(keyring(&[1])).await;
    let lab = Lab::new().await;
    Connect::new(10, "finish").enqueue(lab.pool()).await.unwrap();
    let jobs = [Connect::new(11, "fail"), Connect::new(12, "discard"), Connect::new(13, "panic")];
    jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    Connect::new(14, "finish").options().unique_key("k").enqueue(lab.pool()).await.unwrap();
    // As an older name of the kind would have it.
    let none = Connect { note: None, ..Connect::new(15, "finish") };
    none.enqueue(lab.pool()).await.unwrap();
    nothing_lies_open(&lab).await;
    assert_eq!(lab.count("jobkit.jobs where args->>'note' is null").await, 1);
    let found = assert_enqueued::<Connect>(lab.pool(), |job| job.account == 11).await;
    assert_eq!(found.job, Connect::new(11, "fail"));
    let worker = worker(&lab).await;
    let paths: Vec<String> =
        lab.value("select encrypt from jobkit.kinds where kind = 'connect'").await;
    assert!(paths.contains(&"apiToken".to_owned()) && paths.contains(&"cards.number".to_owned()));
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!([10, 11, 12, 13, 14].map(ran), [1, 2, 1, 2, 1]);
    assert_eq!(lab.count("jobkit.dead_letters").await, 2);
    assert_eq!(lab.count("jobkit.finished").await, 4);
    nothing_lies_open(&lab).await;
    let sealed = found_in(&lab, "jobkit:sealed").await;
    assert!(sealed.contains(&"dead_letters".to_owned()), "{sealed:?}");
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_job_without_its_key_is_put_back_uncharged_until_a_worker_has_it() {
    let turn = turn(keyring(&[2])).await;
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool());
    let job = Connect::new(20, "finish").enqueue(lab.pool()).await.unwrap();
    encryption::keys(keyring(&[3]));
    let without = worker(&lab).await;
    lab.until("count(*) = 1 from jobkit.stuck_jobs where transition = 'open'").await;
    let why = admin.job(job).explain().await.unwrap().unwrap();
    let sentence = &why.sentence;
    assert!(sentence.contains("open fails") && sentence.contains("the key `key-2`"), "{sentence}");
    assert!(matches!(why.reasons[1], Reason::Scheduled { .. }), "{why:?}");
    let attention = admin.overview().await.unwrap().attention;
    assert!(attention.iter().any(|item| item.advice().contains("give the workers of its queue")));
    let waits = "extract(epoch from run_at - clock_timestamp())::float8 from jobkit.jobs";
    let first: f64 = lab.value(&format!("select {waits}")).await;
    assert!((5.0..=10.0).contains(&first), "{first}");
    // Let it come up again: it waits twice as long.
    due(&lab).await;
    lab.until("max(tries) = 2 from jobkit.stuck_jobs").await;
    lab.until("count(*) = 1 from jobkit.scheduled").await;
    let second: f64 = lab.value(&format!("select {waits}")).await;
    assert!((12.0..=20.0).contains(&second), "{second}");
    for _ in 0..4 {
        let tries: i32 = lab.value("select tries from jobkit.stuck_jobs").await;
        due(&lab).await;
        lab.until(&format!("max(tries) > {tries} from jobkit.stuck_jobs")).await;
    }
    assert_eq!(lab.count("jobkit.jobs where attempt = 0 and crashes = 0").await, 1);
    assert_eq!(ran(20), 0);
    without.stop().await;
    encryption::keys(keyring(&[3, 2]));
    let with = worker(&lab).await;
    due(&lab).await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    with.stop().await;
    assert_eq!(ran(20), 1);
    assert_eq!(lab.count("jobkit.finished where attempt = 1 and outcome = 'finish'").await, 1);
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
    assert!(admin.overview().await.unwrap().attention.is_empty());
    lab.check_invariants().await;
    drop(turn);
}

/// Time passes for what waits.
async fn due(lab: &Lab) {
    lab.until("count(*) = 1 from jobkit.scheduled").await;
    lab.run(
        "with moved as (update jobkit.scheduled set run_at = now() returning job_id)
        update jobkit.jobs j set run_at = now() from moved m where j.id = m.job_id",
    )
    .await;
}

#[tokio::test]
async fn what_was_tampered_with_is_charged_and_becomes_a_dead_letter() {
    let _turn = turn(keyring(&[4])).await;
    let lab = Lab::new().await;
    jobkit::enqueue_all([Connect::new(30, "finish"), Connect::new(31, "finish")], lab.pool())
        .await
        .unwrap();
    // The token of one becomes the note of the other; and an unsealed kind takes none of it.
    lab.run(
        "update jobkit.jobs j set args = jsonb_set(j.args::jsonb, '{note}',
            (j.args -> 'apiToken')::jsonb) where j.args ->> 'account' = '30';
        update jobkit.jobs j set args = jsonb_set(j.args::jsonb, '{apiToken,jobkit:sealed}',
            to_jsonb(replace(j.args #>> '{apiToken,jobkit:sealed}', '.', '.A')))
        where j.args ->> 'account' = '31'",
    )
    .await;
    let worker = worker(&lab).await;
    lab.until("count(*) = 2 from jobkit.dead_letters where reason = 'undecodable'").await;
    worker.stop().await;
    for (account, path) in [(30, "note"), (31, "apiToken")] {
        let error: String = lab
            .value(&format!(
                "select error from jobkit.dead_letters where args ->> 'account' = '{account}'"
            ))
            .await;
        let told = format!("does not decode at `{path}`: it is not what was sealed there");
        assert!(error.contains(&told), "{error}");
        assert_eq!(ran(account), 0);
    }
    assert_eq!(lab.count("jobkit.dead_letters where attempt = 2").await, 2);
}

#[tokio::test]
async fn what_lay_open_before_the_kind_encrypted_it_still_runs() {
    let _turn = turn(keyring(&[5])).await;
    let lab = Lab::new().await;
    let job = Connect::new(40, "finish");
    let args = serde_json::to_string(&job).unwrap();
    lab.run(&format!(
        "select jobkit.enqueue_all(jobkit.new_jobs('{{link}}', '{{default}}', '{{0}}', '{{2}}',
            array['{args}']))"
    ))
    .await;
    let worker = worker(&lab).await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(ran(40), 1);
}

#[tokio::test]
async fn without_keys_nothing_is_stored_and_the_error_says_what_to_do() {
    let _turn = turn(keyring(&[6])).await;
    let lab = Lab::new().await;
    let outside = Connect { act: CANARY.to_owned(), ..Connect::new(50, "") };
    // A cipher that fails stands for a process without keys, which this one cannot become again.
    encryption::keys(Broken);
    let error = outside.enqueue(lab.pool()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, EnqueueError::Encrypt(_)), "{error:?}");
    assert_eq!(text, "the payload of `connect` cannot be encrypted: the key service is away");
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    let registration = Registration::of::<Connect, _>();
    encryption::keys(keyring(&[6]));
    let sealed = r#"{"account":1,"apiToken":{"jobkit:sealed":"key-9.AAAA"}}"#;
    let error = registration.reads(1, sealed).unwrap_err();
    assert!(error.contains("sealed with the key `key-9`"), "{error}");
}

struct Broken;

impl encryption::Cipher for Broken {
    fn key(&self) -> String {
        "broken".to_owned()
    }

    fn seal(
        &self,
        _: &str,
        _: &[u8],
        _: &[u8],
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Err("the key service is away".into())
    }

    fn open(&self, _: &str, _: &[u8], _: &[u8]) -> Result<Vec<u8>, encryption::OpenError> {
        Err(encryption::OpenError::NoKey)
    }
}

/// Completes in a transaction of its own.
#[derive(Serialize, Deserialize)]
#[job(kind = "connect_within", encrypt(token), retention = "1h")]
struct Within {
    token: String,
}

impl Job<PgPool> for Within {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        assert_eq!(self.token, CANARY);
        let mut tx = cx.state().begin().await?;
        cx.complete_in(&mut tx).await?;
        Ok(tx.commit().await?)
    }
}

#[tokio::test]
async fn a_sealed_job_completes_in_a_transaction_of_its_own() {
    let _turn = turn(keyring(&[7])).await;
    let lab = Lab::new().await;
    let job = Within { token: CANARY.to_owned() }.enqueue(lab.pool()).await.unwrap();
    let worker = lab.worker().state(lab.pool().clone()).jobs([Registration::of::<Within, _>()]);
    let worker = worker.queue("default", 1).start().await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    let finished = format!("jobkit.finished where job_id = {job} and outcome = 'finish'");
    assert_eq!(lab.count(&finished).await, 1);
    nothing_lies_open(&lab).await;
    assert!(found_in(&lab, "jobkit:sealed").await.contains(&"finished".to_owned()));
}

/// In the test's own transaction, as a worker does: without the key it is put back, uncharged.
#[tokio::test]
async fn a_test_drains_what_is_sealed() {
    let _turn = turn(keyring(&[8])).await;
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let drain = || Drain::new().jobs([Registration::of::<Connect, _>()]);
    Connect::new(80, "finish").enqueue(&mut *tx).await.unwrap();
    encryption::keys(keyring(&[9]));
    let report = drain().run(&mut *tx).await.unwrap();
    let [without] = &*report.runs else { panic!("{report:?}") };
    assert_eq!((without.outcome, ran(80)), (RunOutcome::Released, 0), "{without:?}");
    encryption::keys(keyring(&[9, 8]));
    advance(&mut *tx, Duration::from_secs(60)).await.unwrap();
    drain().run(&mut *tx).await.unwrap().assert_finished();
    assert_eq!(ran(80), 1);
}

#[test]
fn a_key_has_an_id() {
    assert!(matches!(Keyring::new("a.b", key(9)), Err(KeyringError::Id)));
}

#[test]
fn a_key_that_nobody_has_drawn_is_refused() {
    for byte in [0, 1, 0x41, 0xff] {
        let refused = Keyring::new("k", [byte; 32]).unwrap_err();
        assert_eq!(refused, KeyringError::NotRandom("k".to_owned()));
        assert!(keyring(&[1]).with("k", [byte; 32]).is_err());
    }
    let text = ["k:", &"A".repeat(43), "="].concat();
    assert_eq!(text.parse::<Keyring>().unwrap_err(), KeyringError::NotRandom("k".to_owned()));
    assert!(Keyring::new("k", std::array::from_fn(|at| u8::from(at == 31))).is_ok());
}
