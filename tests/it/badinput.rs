//! Jobs that cannot go well: each ends where it should, and the others go on.

use std::fmt;
use std::panic::panic_any;
use std::time::Duration;

use jobkit::admin::jobs::State;
use jobkit::{Admin, Enqueue, Job, JobContext, JobId, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Deserializer, Serialize};
use sqlx::PgPool;

use crate::jobs::{self, Noop};

/// Goes wrong in the way it is told.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, backoff = fixed("1ms"))]
struct Fails(Trouble);

#[derive(Serialize, Deserialize, Debug, Clone, Copy)]
enum Trouble {
    NulInError,
    LongError,
    OddError,
    PanicWithNumber,
    PanicWithBomb,
    PanicInErrorText,
    PanicInDropOfError,
}

impl Job for Fails {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        match self.0 {
            Trouble::NulInError => Err("before\0after".into()),
            Trouble::LongError => Err("x".repeat(1024 * 1024).into()),
            Trouble::OddError => Err("\u{202e}\u{ffff}\u{10ffff}\u{1}\u{300}\r\n".into()),
            Trouble::PanicWithNumber => panic_any(7),
            Trouble::PanicWithBomb => panic_any(Bomb("panic")),
            Trouble::PanicInErrorText => Err(Bomb("text").into()),
            Trouble::PanicInDropOfError => Err(Bomb("drop").into()),
        }
    }
}

/// Panics when it is dropped or, with `text`, shown.
#[derive(Debug)]
struct Bomb(&'static str);

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert_ne!(self.0, "text", "no text to be had");
        f.write_str("quiet")
    }
}

impl std::error::Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.0 == "text" || std::thread::panicking(), "dropped");
    }
}

/// Panics when its future is dropped in the middle.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 1, timeout = "20ms")]
struct DropsBadly;

impl Job for DropsBadly {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        let _bomb = Bomb("future");
        std::future::pending().await
    }
}

/// Has a backoff that panics.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, backoff = Self::wait)]
struct WaitsBadly;

impl WaitsBadly {
    fn wait(_attempt: u32) -> Duration {
        panic!("no idea")
    }
}

impl Job for WaitsBadly {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Err("first".into())
    }
}

/// Panics while it is decoded, if it holds `true`.
#[derive(Serialize)]
#[job(max_attempts = 5)]
struct DecodesBadly(bool);

impl<'de> Deserialize<'de> for DecodesBadly {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let badly = bool::deserialize(from)?;
        assert!(!badly, "cannot decode at all");
        Ok(Self(badly))
    }
}

impl Job for DecodesBadly {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Carries a lot.
#[derive(Serialize, Deserialize)]
#[job(retention = "1h")]
struct Cargo {
    freight: String,
    crates: Vec<u32>,
}

impl Job<PgPool> for Cargo {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        jobs::trace(&cx, &self.freight.len().to_string()).await
    }
}

async fn lab() -> Lab {
    let lab = Lab::guarded().await;
    lab.run(jobs::EFFECTS).await;
    lab
}

async fn start(lab: &Lab) -> WorkerHandle {
    let jobs = [
        Registration::of::<Fails, _>(),
        Registration::of::<DropsBadly, _>(),
        Registration::of::<WaitsBadly, _>(),
        Registration::of::<DecodesBadly, _>(),
        Registration::of::<Cargo, _>(),
        Registration::of::<Noop, _>(),
    ];
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs);
    worker.queue("default", 4).start().await.unwrap()
}

/// Reason, attempts and error of a dead letter.
async fn dead_letter(lab: &Lab, job: JobId) -> (String, i32, String) {
    let there = format!("exists (select from jobkit.dead_letters where job_id = {job})");
    lab.until(&there).await;
    let part = |part| format!("select {part} from jobkit.dead_letters where job_id = {job}");
    (
        lab.value(&part("reason")).await,
        lab.value(&part("attempt")).await,
        lab.value(&part("error")).await,
    )
}

/// The worker stops at once and nothing is left: no slot and no handler was lost.
async fn finish(lab: &Lab, worker: WorkerHandle) {
    let last = Noop.enqueue(lab.pool()).await.unwrap();
    lab.until(&format!("not exists (select from jobkit.jobs where id = {last})")).await;
    jobkit_tests::wait(Duration::from_secs(10), "handlers end", async || worker.running() == 0)
        .await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Lets the next attempt begin at once.
async fn hurry(lab: &Lab, job: JobId) {
    lab.until(&format!("exists (select from jobkit.scheduled where job_id = {job})")).await;
    lab.run(&format!(
        "update jobkit.jobs set run_at = 'epoch' where id = {job};
        update jobkit.scheduled set run_at = 'epoch' where job_id = {job}"
    ))
    .await;
}

/// Another binary may decode it: an older one in the middle of a deploy, a mended one after.
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_does_not_decode_is_buried_after_its_attempts() {
    let lab = lab().await;
    let cargo = || Cargo { freight: String::new(), crates: vec![1, 2] }.options().max_attempts(2);
    let job = cargo().enqueue(lab.pool()).await.unwrap();
    let mended = cargo().enqueue(lab.pool()).await.unwrap();
    let panics = DecodesBadly(false).options().max_attempts(2);
    let panics = panics.enqueue(lab.pool()).await.unwrap();
    lab.run(&format!("update jobkit.jobs set args = 'true' where id = {panics}")).await;
    let edit = |job, value: &str| {
        let args = format!("jsonb_set(args::jsonb, '{{crates,1}}', '{value}')");
        format!("update jobkit.jobs set args = {args} where id = {job}")
    };
    lab.run(&edit(job, "\"two\"")).await;
    lab.run(&edit(mended, "\"two\"")).await;
    let worker = start(&lab).await;
    for job in [job, mended, panics] {
        lab.until(&format!("exists (select from jobkit.scheduled where job_id = {job})")).await;
        let charged = format!("select attempt from jobkit.jobs where id = {job}");
        assert_eq!(lab.value::<i32>(&charged).await, 1);
    }
    lab.run(&edit(mended, "2")).await;
    for job in [job, mended, panics] {
        hurry(&lab, job).await;
    }
    let (reason, attempts, error) = dead_letter(&lab, job).await;
    assert_eq!((&*reason, attempts), ("undecodable", 2));
    assert!(error.contains("`crates[1]`") && error.contains("expected u32"), "{error}");
    let (reason, attempts, error) = dead_letter(&lab, panics).await;
    assert_eq!((&*reason, attempts), ("undecodable", 2));
    assert!(error.contains("cannot decode at all"), "{error}");
    lab.until(&format!("exists (select from jobkit.finished where job_id = {mended})")).await;
    finish(&lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_error_and_any_panic_is_recorded() {
    let lab = lab().await;
    let worker = start(&lab).await;
    for (trouble, text) in [
        (Trouble::NulInError, "before\\0after"),
        (Trouble::LongError, "xxx … (cut)"),
        (Trouble::OddError, "\u{202e}\u{ffff}\u{10ffff}\u{1}\u{300}\r\n"),
        (Trouble::PanicWithNumber, "panicked: a value that is not text"),
    ] {
        let job = Fails(trouble).enqueue(lab.pool()).await.unwrap();
        let (reason, attempts, error) = dead_letter(&lab, job).await;
        assert_eq!((&*reason, attempts), ("exhausted", 2), "{trouble:?}");
        assert!(error.ends_with(text) && error.len() < 20_000, "{trouble:?}: {error}");
    }
    finish(&lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panics_in_drops_and_texts_cost_an_attempt_and_no_slot() {
    let lab = lab().await;
    let worker = start(&lab).await;
    let mut jobs = Vec::new();
    for trouble in [Trouble::PanicWithBomb, Trouble::PanicInErrorText, Trouble::PanicInDropOfError]
    {
        jobs.push(Fails(trouble).enqueue(lab.pool()).await.unwrap());
        jobs.push(Fails(trouble).enqueue(lab.pool()).await.unwrap());
    }
    for job in jobs {
        // Its backoff may be over by now.
        let retried = format!(
            "exists (select from jobkit.jobs where id = {job} and attempt = 1)
            or exists (select from jobkit.dead_letters where job_id = {job})"
        );
        lab.until(&retried).await;
        lab.run(&format!(
            "update jobkit.jobs set run_at = 'epoch' where id = {job};
            update jobkit.scheduled set run_at = 'epoch' where job_id = {job}"
        ))
        .await;
        let (reason, attempts, error) = dead_letter(&lab, job).await;
        assert_eq!((&*reason, attempts), ("exhausted", 2), "{error}");
        assert!(error.contains("panicked"), "{error}");
    }
    let job = DropsBadly.enqueue(lab.pool()).await.unwrap();
    assert_eq!(dead_letter(&lab, job).await.2, "panicked: dropped");
    finish(&lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backoff_that_panics_waits_a_minute() {
    let lab = lab().await;
    let worker = start(&lab).await;
    let job = WaitsBadly.enqueue(lab.pool()).await.unwrap();
    let waits = "run_at - clock_timestamp() between '20 s' and '61 s'";
    lab.until(&format!(
        "exists (select from jobkit.scheduled s where s.job_id = {job} and {waits})"
    ))
    .await;
    finish(&lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_nobody_knows_stays_ready() {
    let lab = lab().await;
    let job = jobs::Slow.enqueue(lab.pool()).await.unwrap();
    let worker = start(&lab).await;
    let known = Noop.options().priority(3).enqueue(lab.pool()).await.unwrap();
    lab.until(&format!("not exists (select from jobkit.jobs where id = {known})")).await;
    let summary = Admin::new(lab.pool()).job(job).get().await.unwrap().unwrap().summary;
    assert_eq!((summary.state, &*summary.kind, summary.attempt), (State::Ready, "slow", 0));
    finish(&lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_payload_and_many_large_ones_finish() {
    let lab = lab().await;
    let around = r#"{"freight":"","crates":[]}"#.len();
    let cargo = |bytes| Cargo { freight: "x".repeat(bytes), crates: Vec::new() };
    let largest = 1024 * 1024 - around;
    cargo(largest).enqueue(lab.pool()).await.unwrap();
    cargo(largest + 1).enqueue(lab.pool()).await.unwrap_err();
    // Two claims' worth: what exceeds 8 MiB goes back to be claimed again.
    jobkit::enqueue_all((0..20).map(|_| cargo(900 * 1024)), lab.pool()).await.unwrap();
    let jobs = [Registration::of::<Cargo, _>()];
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs).queue("default", 50);
    let worker = worker.start().await.unwrap();
    lab.until("count(*) = 21 from jobkit.finished").await;
    let claimed = worker.counts().claimed;
    worker.stop().await;
    assert_eq!(claimed, 21);
    assert_eq!(lab.count(&format!("effects where what = '{largest}'")).await, 1);
    assert_eq!(lab.count("effects where what = '921600'").await, 20);
    lab.check_invariants().await;
}
