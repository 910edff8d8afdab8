//! Steps of handlers: each is run until its value is stored, and its value outlives the attempt.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use jobkit::{Enqueue, Job, JobContext, JobError, Worker, job};
use jobkit_tests::{Lab, wait};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// What handlers did, in order.
#[derive(Clone)]
struct Hand {
    pool: PgPool,
    did: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicU32>,
}

impl Hand {
    fn of(lab: &Lab) -> Self {
        Self { pool: lab.direct().clone(), did: Arc::default(), runs: Arc::default() }
    }

    fn did(&self, what: &str) {
        self.did.lock().unwrap().push(what.to_owned());
    }

    fn all(&self) -> Vec<String> {
        self.did.lock().unwrap().clone()
    }
}

/// Fails after this step in its first runs.
#[derive(Serialize, Deserialize, Clone)]
#[job(kind = "order_in_steps", max_attempts = 3, backoff = fixed("10ms"), retention = "1h")]
struct Order {
    number: i64,
    fails_after: String,
    runs: u32,
}

impl Order {
    fn ends(&self, hand: &Hand, step: &str) -> jobkit::Result {
        let fails = self.fails_after == step && hand.runs.load(Ordering::SeqCst) <= self.runs;
        if fails { Err(format!("after {step}").into()) } else { Ok(()) }
    }
}

impl Job<Hand> for Order {
    async fn run(self, cx: JobContext<Hand>) -> jobkit::Result {
        let hand = cx.state();
        hand.runs.fetch_add(1, Ordering::SeqCst);
        let charge: String = cx
            .step("charge", async || {
                hand.did("charge");
                Ok(format!("charge of {}", self.number))
            })
            .await?;
        self.ends(hand, "charge")?;
        let reserved: i64 = cx
            .step_in("reserve", &hand.pool, async |tx| {
                hand.did("reserve");
                let insert = "insert into reserved (order_id) values ($1) returning order_id";
                Ok(sqlx::query_scalar(insert).bind(self.number).fetch_one(tx).await?)
            })
            .await?;
        self.ends(hand, "reserve")?;
        for page in 0..2 {
            cx.step(format!("page {page}"), async || {
                hand.did(&format!("page {page}"));
                Ok(())
            })
            .await?;
            self.ends(hand, &format!("page {page}"))?;
        }
        assert_eq!((charge, reserved), (format!("charge of {}", self.number), self.number));
        Ok(())
    }
}

async fn lab() -> (Lab, Hand) {
    let lab = Lab::guarded().await;
    lab.run("create table public.reserved (order_id bigint)").await;
    let hand = Hand::of(&lab);
    (lab, hand)
}

fn worker(lab: &Lab, hand: &Hand) -> Worker {
    lab.worker().queue("default", 5).state(hand.clone()).only::<(Order, Odd)>()
}

const ALL: [&str; 4] = ["charge", "reserve", "page 0", "page 1"];

#[tokio::test]
async fn an_attempt_goes_on_after_the_last_step_of_the_one_before() {
    for step in ALL {
        let (lab, hand) = lab().await;
        let order = Order { number: 7, fails_after: step.to_owned(), runs: 2 };
        order.enqueue(lab.pool()).await.unwrap();
        let worker = worker(&lab, &hand).start().await.unwrap();
        lab.until("exists (select from jobkit.finished where outcome = 'finish')").await;
        assert_eq!(hand.all(), ALL, "fails after {step}");
        assert_eq!(lab.count("public.reserved").await, 1);
        lab.until("not exists (select from jobkit.steps)").await;
        lab.check_invariants().await;
        worker.stop().await;
    }
}

#[tokio::test]
async fn a_replay_goes_on_unless_its_payload_is_another() {
    for other in [false, true] {
        let (lab, hand) = lab().await;
        let order = Order { number: 7, fails_after: "reserve".to_owned(), runs: 3 };
        order.clone().enqueue(lab.pool()).await.unwrap();
        let worker = worker(&lab, &hand).start().await.unwrap();
        lab.until("exists (select from jobkit.dead_letters)").await;
        assert_eq!(lab.count("jobkit.steps").await, 2);
        lab.run("select jobkit.prune_steps(100)").await;
        assert_eq!(lab.count("jobkit.steps").await, 2, "it may be replayed");
        let args = serde_json::to_string(&Order { number: 8, ..order }).unwrap();
        let args = if other { format!("'{args}'") } else { "null".to_owned() };
        lab.run(&format!("select jobkit.replay(id, p_args => {args}) from jobkit.dead_letters"))
            .await;
        lab.until("exists (select from jobkit.finished where outcome = 'finish')").await;
        let again: &[&str] = if other { &ALL } else { &ALL[2..] };
        assert_eq!(hand.all(), [&ALL[..2], again].concat());
        lab.run("select jobkit.prune_steps(100)").await;
        assert_eq!(lab.count("jobkit.steps").await, 0);
        worker.stop().await;
    }
}

/// Cannot be written down.
#[derive(Debug)]
struct Panics;

impl std::fmt::Display for Panics {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Panics {}

async fn panics(cx: &JobContext<Hand>) -> jobkit::Result {
    cx.step_in("one", &cx.state().pool, async |_| Ok(())).await?;
    Err(Panics.into())
}

/// What a handler may do wrong.
#[derive(Serialize, Deserialize)]
#[job(kind = "odd_steps", max_attempts = 1, retention = "1h")]
struct Odd {
    how: String,
}

impl Job<Hand> for Odd {
    async fn run(self, cx: JobContext<Hand>) -> jobkit::Result {
        let hand = cx.state();
        match &*self.how {
            "twice" => {
                cx.step("one", async || Ok(1)).await?;
                cx.step("one", async || Ok(1)).await?;
            }
            "large" => {
                cx.step("one", async || Ok("x".repeat(70_000))).await?;
            }
            "nameless" => {
                cx.step("", async || Ok(1)).await?;
            }
            "fails" => {
                let rolled_back: jobkit::Result<()> = cx
                    .step_in("one", &hand.pool, async |tx| {
                        let insert = "insert into reserved (order_id) values (1)";
                        sqlx::query(insert).execute(tx).await?;
                        Err(JobError::dead("no"))
                    })
                    .await;
                assert!(rolled_back.is_err());
                return rolled_back;
            }
            "panics" => return panics(&cx).await,
            "late" => {
                let mut tx = hand.pool.begin().await?;
                cx.complete_in(&mut tx).await?;
                cx.step("one", async || Ok(1)).await?;
            }
            "lost" => {
                cx.step_in("one", &hand.pool, async |tx| {
                    let insert = "insert into reserved (order_id) values (1)";
                    sqlx::query(insert).execute(tx).await?;
                    let lose = "update jobkit.claims set job_ids = array_remove(job_ids, $1)";
                    sqlx::query(lose).bind(cx.id().0).execute(&hand.pool).await?;
                    Ok(())
                })
                .await?;
            }
            _ => {
                let stored = "insert into jobkit.steps values ($1, 'one', '\"text\"', 1, now())";
                sqlx::query(stored).bind(cx.id().0).execute(&hand.pool).await?;
                cx.step("one", async || Ok(1)).await?;
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_misuse_is_an_error_that_says_what_to_do() {
    for (how, says) in [
        ("twice", "the step `one` was used twice in one attempt"),
        ("large", "value of a step"),
        ("nameless", "name of a step"),
        ("late", "another"),
        ("fails", "no"),
        ("undecodable", "give a step whose type changes another name"),
    ] {
        let (lab, hand) = lab().await;
        Odd { how: how.to_owned() }.enqueue(lab.pool()).await.unwrap();
        let worker = worker(&lab, &hand).start().await.unwrap();
        lab.until("exists (select from jobkit.dead_letters)").await;
        let error: String = lab.value("select error from jobkit.dead_letters").await;
        assert!(error.contains(says), "{how}: {error}");
        assert_eq!(lab.count("public.reserved").await, 0);
        worker.stop().await;
    }
}

/// The effect of an attempt that has lost its job is rolled back.
#[tokio::test]
async fn a_step_without_its_claim_leaves_nothing() {
    let (lab, hand) = lab().await;
    lab.run("alter table jobkit.claims disable trigger all").await;
    Odd { how: "lost".to_owned() }.enqueue(lab.pool()).await.unwrap();
    let worker = worker(&lab, &hand).start().await.unwrap();
    let lost = || async { worker.counts().lost == 1 };
    wait(std::time::Duration::from_secs(60), "the outcome is lost", lost).await;
    assert_eq!(lab.count("public.reserved").await, 0);
    assert_eq!(lab.count("jobkit.steps").await, 0);
    worker.stop().await;
}

#[tokio::test]
async fn a_replaced_payload_forgets_the_steps_of_the_old_one() {
    use jobkit::unique::OnDuplicate;
    let (lab, hand) = lab().await;
    let order = |number| Order { number, fails_after: "charge".to_owned(), runs: 1 };
    let unique =
        |number| order(number).options().unique_key("k").on_duplicate(OnDuplicate::Replace);
    unique(7).enqueue(lab.pool()).await.unwrap();
    let first = worker(&lab, &hand).start().await.unwrap();
    lab.until("exists (select from jobkit.attempts)").await;
    first.stop().await;
    lab.run("select jobkit.reschedule(array(select id from jobkit.jobs), now() + '1 h')").await;
    unique(8).enqueue(lab.pool()).await.unwrap();
    assert_eq!(lab.count("jobkit.steps").await, 0);
    let second = worker(&lab, &hand).start().await.unwrap();
    lab.until("exists (select from jobkit.finished where outcome = 'finish')").await;
    assert_eq!(hand.all(), [&ALL[..1], &ALL].concat());
    second.stop().await;
}

/// It has moved into a claim of its own by then, beside another job.
#[tokio::test]
async fn an_error_that_cannot_be_written_is_recorded_after_a_step() {
    let (lab, hand) = lab().await;
    let odd = |how: &str| Odd { how: how.to_owned() };
    jobkit::enqueue_all([odd("panics"), odd("fails")], lab.pool()).await.unwrap();
    let worker = worker(&lab, &hand).start().await.unwrap();
    lab.until("(select count(*) = 2 from jobkit.dead_letters)").await;
    lab.until("not exists (select from jobkit.claims)").await;
    assert_eq!(worker.counts().lost, 0);
    lab.check_invariants().await;
    worker.stop().await;
}

#[tokio::test]
async fn a_replay_that_is_cancelled_gives_the_steps_back() {
    let (lab, hand) = lab().await;
    let order = Order { number: 7, fails_after: "reserve".to_owned(), runs: 3 };
    order.enqueue(lab.pool()).await.unwrap();
    let worker = worker(&lab, &hand).start().await.unwrap();
    lab.until("exists (select from jobkit.dead_letters)").await;
    let later = "select (jobkit.replay(id, p_run_at => now() + '1 h')).job_id
        from jobkit.dead_letters";
    let replay: i64 = lab.value(later).await;
    assert_eq!(lab.count(&format!("jobkit.steps where job_id = {replay}")).await, 2);
    jobkit::Admin::new(lab.pool()).job(jobkit::JobId(replay)).cancel().await.unwrap();
    let back = "jobkit.steps s join jobkit.dead_letters d on d.job_id = s.job_id";
    assert_eq!(lab.count(back).await, 2);
    lab.run("select jobkit.prune_steps(100)").await;
    lab.run("select jobkit.replay(id) from jobkit.dead_letters").await;
    lab.until("exists (select from jobkit.finished where outcome = 'finish')").await;
    assert_eq!(hand.all(), ALL);
    worker.stop().await;
}
