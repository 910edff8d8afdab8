//! Payloads that change: binaries of two releases on the same jobs.

use std::time::{Duration, Instant};

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::jobs::JobQuery;
use jobkit::error::StartError;
use jobkit::policy::{Concurrency, Policy};
use jobkit::{Admin, Enqueue, Job, JobContext, JobType, Registration, Worker, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

/// How long both binaries work: three seconds, or what `MIXED_SECONDS` says.
fn mixed() -> Duration {
    let given = std::env::var("MIXED_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(given.unwrap_or(3))
}

/// The older release. JobType by hand: what is linked has the newer one.
mod old {
    use super::*;

    macro_rules! older {
        ($name:ident { $($field:ident: $type:ty),* } $kind:literal $key:expr) => {
            #[derive(Serialize, Deserialize)]
            pub(super) struct $name { $(pub(super) $field: $type),* }

            impl JobType for $name {
                type Output = ();
                const POLICY: Policy = Policy {
                    concurrency: Some(Concurrency { group: $kind, limit: 1 }),
                    retention: Some(Duration::from_secs(3600)),
                    max_attempts: 2,
                    ..Policy::new($kind)
                };

                fn concurrency_key(&self) -> Option<String> {
                    let key: fn(&Self) -> Option<String> = $key;
                    key(self)
                }
            }

            impl Job for $name {
                async fn run(self, _cx: JobContext) -> jobkit::Result {
                    Ok(())
                }
            }
        };
    }

    older!(Added { id: i64 } "v_added" |_| None);
    older!(Renamed { order: i64 } "v_renamed" |job| Some((job.order % 3).to_string()));
    older!(Slimmed { id: i64, note: String } "v_slimmed" |_| None);
    older!(Gone { id: i64 } "v_gone" |_| None);

    pub(super) fn worker(lab: &Lab) -> Worker {
        lab.worker().queue("default", 8).jobs([
            Registration::of::<Added, _>(),
            Registration::of::<Renamed, _>(),
            Registration::of::<Slimmed, _>(),
            Registration::of::<Gone, _>(),
        ])
    }
}

/// The newer release.
mod new {
    use super::*;

    /// A field more: readable in both directions without a version.
    #[derive(Serialize, Deserialize)]
    #[job(kind = "v_added", max_attempts = 2, retention = "1h")]
    pub(super) struct Added {
        pub(super) id: i64,
        #[serde(default)]
        pub(super) copies: u8,
    }

    /// A field has another name.
    #[derive(Serialize, Deserialize)]
    #[job(kind = "v_renamed", version = 2, upcast(1 = Self::from_v1), max_attempts = 2,
        retention = "1h", concurrency_key = self.order_id % 3)]
    pub(super) struct Renamed {
        pub(super) order_id: i64,
    }

    impl Renamed {
        fn from_v1(old: super::old::Renamed) -> Result<Self, &'static str> {
            if old.order < 0 { Err("no such order") } else { Ok(Self { order_id: old.order }) }
        }
    }

    /// A field less, which the older release cannot do without.
    #[derive(Serialize, Deserialize)]
    #[job(kind = "v_slimmed", version = 2, upcast(1 = |old: old::Slimmed| Self { id: old.id }),
        max_attempts = 2, retention = "1h")]
    pub(super) struct Slimmed {
        pub(super) id: i64,
    }

    macro_rules! runs {
        ($($name:ident)*) => {$(
            impl Job for $name {
                async fn run(self, _cx: JobContext) -> jobkit::Result {
                    Ok(())
                }
            }
        )*};
    }

    runs!(Added Renamed Slimmed);

    pub(super) fn worker(lab: &Lab) -> Worker {
        lab.worker().queue("default", 8).jobs([
            Registration::of::<Added, _>(),
            Registration::of::<Renamed, _>(),
            Registration::of::<Slimmed, _>(),
        ])
    }
}

/// Both releases enqueue and work; then the older one is stopped, once its own kind is done.
#[tokio::test(flavor = "multi_thread")]
async fn old_and_new_binaries_work_on_the_same_jobs() {
    let lab = Lab::guarded().await;
    let older = old::worker(&lab).start().await.unwrap();
    let newer = new::worker(&lab).start().await.unwrap();
    let (begun, mut jobs) = (Instant::now(), 0);
    while begun.elapsed() < mixed() {
        let pool = lab.pool();
        let ids = jobs..jobs + 10;
        let before = ids.clone().map(|order| old::Renamed { order });
        jobkit::enqueue_all(before, pool).await.unwrap();
        let after = ids.clone().map(|order_id| new::Renamed { order_id });
        jobkit::enqueue_all(after, pool).await.unwrap();
        for id in ids {
            old::Added { id }.enqueue(pool).await.unwrap();
            new::Added { id, copies: 2 }.enqueue(pool).await.unwrap();
            old::Slimmed { id, note: "still".to_owned() }.enqueue(pool).await.unwrap();
            new::Slimmed { id }
                .options()
                .after(Duration::from_millis(50))
                .enqueue(pool)
                .await
                .unwrap();
            old::Gone { id }.enqueue(pool).await.unwrap();
        }
        jobs += 10;
    }
    lab.until("not exists (select from jobkit.jobs where kind = 'v_gone')").await;
    older.stop().await;
    lab.until("not exists (select from jobkit.jobs)").await;
    newer.stop().await;
    println!("{} jobs", 7 * jobs);
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
    let done = "jobkit.finished where outcome = 'finish' and attempt = 1";
    assert_eq!(lab.count(done).await, 7 * jobs);
    assert_eq!(lab.count(&format!("{done} and version = 2")).await, 2 * jobs);
    lab.check_invariants().await;
}

/// Whatever takes a job looks whether its worker knows the version: a claim, a permit that is
/// passed on alone, and several that are handed over.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_a_binary_does_not_know_is_left_alone() {
    let lab = Lab::guarded().await;
    let older = old::worker(&lab).start().await.unwrap();
    let job = new::Renamed { order_id: 3 }.enqueue(lab.pool()).await.unwrap();
    let scheduled = new::Slimmed { id: 1 }.options().after(Duration::from_secs(3600));
    scheduled.enqueue(lab.pool()).await.unwrap();
    for order in 0..30 {
        old::Renamed { order }.enqueue(lab.pool()).await.unwrap();
    }
    lab.until("count(*) = 30 from jobkit.finished where kind = 'v_renamed'").await;
    assert_eq!(lab.count("jobkit.ready where kind = 'v_renamed@2'").await, 1);

    let admin = Admin::new(lab.pool());
    let explained = admin.job(job).explain().await.unwrap().unwrap();
    let sentence = "No live worker of its queue default knows version 2 of the kind v_renamed";
    assert_eq!(explained.sentence, sentence);
    let attention = admin.overview().await.unwrap().attention;
    let found: Vec<_> = attention.iter().map(|item| item.found()).collect();
    for kind in ["v_renamed", "v_slimmed"] {
        let told =
            format!("no live worker serves version 2 of the kind {kind} in default: 1 waits");
        assert!(found.contains(&told), "{found:?}");
    }
    // Everywhere else the kind has its name.
    assert_eq!(admin.job(job).get().await.unwrap().unwrap().version, 2);
    let query: JobQuery = "kind:v_renamed state:ready".parse().unwrap();
    assert_eq!(admin.jobs(&query, None, 10).await.unwrap().jobs.len(), 1);
    let queues = admin.queues().await.unwrap();
    assert!(queues[0].kinds.iter().any(|kind| kind.kind == "v_renamed" && kind.ready == 1));
    let kinds = admin.kinds().await.unwrap();
    assert!(kinds.iter().all(|kind| kind.workers == 1), "{kinds:?}");

    let newer = new::worker(&lab).start().await.unwrap();
    lab.until("exists (select from jobkit.finished where version = 2)").await;
    older.stop().await;
    newer.stop().await;
    lab.check_invariants().await;
}

/// The binary without the upcast is told of as well: it knows the kind, and not the first version.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_version_that_nobody_reads_any_more_is_told_of() {
    let lab = Lab::guarded().await;
    let worker = new::worker(&lab).start().await.unwrap();
    lab.run("update jobkit.workers set kinds = array_remove(kinds, 'v_renamed')").await;
    let sql = "select jobkit.enqueue('v_renamed', '{\"order\": 1}', p_concurrency_key => '1',
        p_run_at => now() + interval '1 hour')";
    let job: i64 = lab.value(sql).await;
    let admin = Admin::new(lab.pool());
    let explained = admin.job(jobkit::JobId(job)).explain().await.unwrap().unwrap();
    let reasons: Vec<_> = explained.reasons.iter().map(ToString::to_string).collect();
    let told = "No live worker of its queue default knows version 1 of the kind v_renamed";
    assert!(reasons.iter().any(|reason| reason == told), "{reasons:?}");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_and_its_replay_keep_the_version() {
    let lab = Lab::guarded().await;
    let newer = new::worker(&lab).start().await.unwrap();
    // By SQL: of version 1 unless it says otherwise.
    let enqueue = |args: &str, version: &str| {
        format!(
            "select jobkit.enqueue('v_renamed', '{args}', p_concurrency_key => 'x',
                p_max_attempts => 1{version})"
        )
    };
    let first: i64 = lab.value(&enqueue("{\"order\": -1}", "")).await;
    let second: i64 = lab.value(&enqueue("{\"order\": 1}", ", p_version => 2")).await;
    lab.until("count(*) = 2 from jobkit.dead_letters where reason = 'undecodable'").await;
    let error = async |job: i64| -> (String, Option<i16>) {
        let of =
            |what: &str| format!("select {what} from jobkit.dead_letters where job_id = {job}");
        (lab.value(&of("error")).await, lab.value(&of("version")).await)
    };
    let (refused, version) = error(first).await;
    assert_eq!(refused, "the payload of version 1 does not become version 2: no such order");
    assert_eq!(version, None);
    let (missing, version) = error(second).await;
    assert!(missing.starts_with("the payload of version 2 does not decode at `.`: "), "{missing}");
    assert_eq!(version, Some(2));
    for version in [0, 32_768] {
        let refused =
            sqlx::query(sqlx::AssertSqlSafe(enqueue("{}", &format!(", p_version => {version}"))));
        let error = refused.execute(lab.pool()).await.unwrap_err().to_string();
        assert!(error.contains("a version must be 1 to 32767"), "{error}");
    }

    let admin = Admin::new(lab.pool());
    let page = admin.dead_letters(&DeadLetterFilter::all(), None, 100).await.unwrap();
    for entry in page.entries {
        let letter = admin.dead_letter(entry.id).get().await.unwrap().unwrap();
        let args = match letter.version {
            1 => serde_json::json!({"order": 5}),
            _ => serde_json::json!({"order_id": 5}),
        };
        // Of the other version it does not decode.
        let wrong = serde_json::json!({"ordre": 5});
        admin.dead_letter(entry.id).replay().args(wrong).await.unwrap_err();
        admin.dead_letter(entry.id).replay().args(args).await.unwrap();
    }
    lab.until("count(*) = 2 from jobkit.finished where outcome = 'finish'").await;
    assert_eq!(lab.count("jobkit.finished where version = 2").await, 1);
    newer.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_names_what_does_not_decode() {
    let lab = Lab::new().await;
    let preflight = async || new::worker(&lab).preflight().await;
    for order in 0..100 {
        old::Renamed { order }.enqueue(lab.pool()).await.unwrap();
        old::Gone { id: order }.enqueue(lab.pool()).await.unwrap();
    }
    let report = preflight().await.unwrap();
    assert_eq!(report.read, 40);
    assert_eq!(report.left_alone, [("v_gone".to_owned(), 1, 100)]);
    assert_eq!(report.to_string(), "40 payloads read; left alone: version 1 of `v_gone`, 100 met");

    let negative = old::Renamed { order: -1 }.enqueue(lab.pool()).await.unwrap();
    let StartError::Unreadable(problems) = preflight().await.unwrap_err() else {
        panic!("another")
    };
    let problems: Vec<_> = problems.iter().collect();
    let told = format!(
        "`v_renamed`, version 1: the payload of version 1 does not become version 2: no such \
         order (job {negative})"
    );
    assert_eq!(problems, [told]);
    lab.run("delete from jobkit.ready; delete from jobkit.jobs").await;
    assert_eq!(preflight().await.unwrap().read, 0);
}

/// What a schedule enqueues next has its payload from the time when it was made.
#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_reads_the_payloads_of_schedules() {
    let lab = Lab::new().await;
    let schedule = |name: &str, kind: &str, args: &str| {
        format!(
            "insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max,
                catch_up_window, overlap, jitter, kind, queue, priority, max_attempts, args)
            values ('{name}', '@yearly', 'infinity', 'latest', 1, '0', 'allow', '0', '{kind}',
                'default', 0, 3, '{args}')"
        )
    };
    lab.run(&schedule("good", "v_renamed", r#"{"order": 5}"#)).await;
    lab.run(&schedule("gone", "v_gone", r#"{"id": 5}"#)).await;
    let report = new::worker(&lab).preflight().await.unwrap();
    assert_eq!((report.read, report.left_alone), (1, vec![("v_gone".to_owned(), 1, 1)]));
    lab.run(&schedule("bad", "v_renamed", r#"{"order": -1}"#)).await;
    let error = new::worker(&lab).preflight().await.unwrap_err();
    assert!(error.to_string().contains("no such order (schedule bad)"), "{error}");
    lab.run("update jobkit.schedules set removed_at = now() where name = 'bad'").await;
    assert_eq!(new::worker(&lab).preflight().await.unwrap().read, 1);
}
