//! What a worker counts through the facade `metrics`.

use std::collections::BTreeMap;
use std::time::Duration;

use jobkit::{Enqueue, Job, JobContext, job};
use jobkit_tests::Lab;
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use serde::{Deserialize, Serialize};

/// What may be in no label: there would be a series for each.
const CANARY: &str = "4711470815";

/// Fails once. Its payload, its keys and its error have the canary.
#[derive(Serialize, Deserialize)]
#[job(
    queue = "counted",
    backoff = fixed("1ms"),
    concurrency_key = self.token,
    concurrency_limit = 1,
    dead_letter_key = self.token,
    unique_key = self.token
)]
struct Counted {
    token: String,
}

impl Job for Counted {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if cx.attempt() == 1 { Err(self.token.into()) } else { Ok(()) }
    }
}

/// Is put off behind its own back, and goes on.
#[derive(Serialize, Deserialize)]
#[job(queue = "counted")]
struct Robbed;

impl Job<sqlx::PgPool> for Robbed {
    async fn run(self, cx: JobContext<sqlx::PgPool>) -> jobkit::Result {
        let robbed =
            "select from jobkit.claims c, jobkit.settle(c.worker_id, jobkit.outcomes(array[c.n],
                array[$1], '{snooze}', p_delay => '{1h}'))
            where $1 = any (c.job_ids)";
        sqlx::query(robbed).bind(cx.id().0).execute(cx.state()).await?;
        Ok(())
    }
}

/// Holds its thread for longer than it may.
#[derive(Serialize, Deserialize)]
#[job(queue = "counted", timeout = "100ms", max_attempts = 1)]
struct Sleeper;

impl Job for Sleeper {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    }
}

/// The counters by name and labels, with what was added since the last look, and how many values
/// each histogram got. What jobs of other tests count has other labels.
fn look(snapshotter: &Snapshotter, sums: &mut BTreeMap<String, u64>) {
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let labels = key.key().labels().map(|label| format!(" {}={}", label.key(), label.value()));
        let name = [key.key().name(), &labels.collect::<String>()].concat();
        assert!(!name.contains(CANARY), "{name}");
        match (key.kind(), value) {
            (MetricKind::Counter, DebugValue::Counter(number)) => {
                *sums.entry(name).or_default() += number;
            }
            (MetricKind::Histogram, DebugValue::Histogram(values)) => {
                assert!(values.iter().all(|value| (0.0..60.0).contains(&value.0)), "{name}");
                *sums.entry(name).or_default() += values.len() as u64;
            }
            (_, DebugValue::Gauge(value)) => {
                sums.insert(name, value.0 as u64);
            }
            _ => panic!("{name}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_counts_what_it_does() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    recorder.install().unwrap();
    let lab = Lab::new().await;
    let worker = lab.worker().state(lab.pool().clone()).heartbeat(Duration::from_millis(100));
    let worker = worker.queue("counted", 5).start().await.unwrap();
    for n in 0..3 {
        let counted = Counted { token: format!("{CANARY}{n}") };
        counted.options().tags([CANARY]).enqueue_unique(lab.pool()).await.unwrap();
    }
    lab.until("not exists (select from jobkit.jobs)").await;
    Sleeper.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    Robbed.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.scheduled)").await;
    let mut sums = BTreeMap::new();
    worker.stop().await;
    look(&snapshotter, &mut sums);
    let sum = |name: &str| sums.get(name).copied().unwrap_or_else(|| panic!("{name}: {sums:#?}"));
    assert_eq!(sum("jobkit_enqueued_total kind=counted"), 3);
    let of = " kind=counted queue=counted";
    assert_eq!(sum(&format!("jobkit_attempts_total{of} outcome=retry")), 3);
    assert_eq!(sum(&format!("jobkit_attempts_total{of} outcome=finish")), 3);
    assert_eq!(sum(&format!("jobkit_run_seconds{of}")), 6);
    assert_eq!(sum(&format!("jobkit_wait_seconds{of}")), 6);
    assert!(sum("jobkit_claimed_total") >= 6);
    assert!(sum("jobkit_claim_seconds") > 0 && sum("jobkit_settle_seconds") > 0);
    assert_eq!(sum("jobkit_held_threads_total kind=sleeper"), 1);
    assert_eq!(sum("jobkit_listener_up"), 1);
    assert_eq!(sum("jobkit_lost_outcomes_total"), 1);
    assert!(sum("jobkit_lease_left_seconds") > 0);
}
