//! Schedules, as operators make, change and see them.

use std::time::Duration;

use jobkit::Admin;
use jobkit::admin::overview::Attention;
use jobkit::admin::schedules::{ScheduleEdit, ScheduleError, ScheduledJob};
use jobkit::schedule::{CatchUp, Overlap, Schedule};
use jobkit_tests::Lab;
use serde_json::json;

/// A lab that knows a kind, and somebody who operates it.
async fn desk() -> (Lab, Admin) {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts, concurrency_group)
        values ('report', 'slow', 1, 3, null), ('of_a_key', 'slow', 1, 3, 'g')",
    )
    .await;
    let admin = Admin::new(lab.pool()).acting_as("ada");
    (lab, admin)
}

fn report() -> ScheduledJob {
    ScheduledJob::new("report", json!({"region": 7}))
}

#[tokio::test]
async fn a_schedule_is_made_changed_run_and_deleted() {
    let (lab, admin) = desk().await;
    let nightly = || Schedule::new(" 0 3 * * *  Europe/Berlin").overlap(Overlap::SkipIfRunning);
    assert!(admin.schedule("nightly").create(nightly(), report()).await.unwrap());
    assert!(!admin.schedule("nightly").create(nightly(), report()).await.unwrap());
    let found = admin.schedule("nightly").get().await.unwrap().unwrap();
    let summary = &found.summary;
    assert_eq!((&*summary.times, &*summary.queue), ("0 3 * * * Europe/Berlin", "slow"));
    assert_eq!((summary.overlap, summary.catch_up), (Overlap::SkipIfRunning, CatchUp::Latest));
    assert_eq!((found.priority, found.max_attempts, found.version), (1, 3, 1));
    let next: bool = lab.value("select next_at > now() from jobkit.schedules").await;
    assert!(next && summary.last.is_none() && summary.overdue.is_none());
    let all = CatchUp::All { max: 7, window: Duration::from_secs(60) };
    let edit = ScheduleEdit::new().times("every 2d").catch_up(all).args(json!({"region": 8}));
    let edit = edit.jitter(Duration::from_millis(1500)).queue("other");
    assert!(admin.schedule("nightly").edit(edit.clone()).await.unwrap());
    assert!(!admin.schedule("daily").edit(edit).await.unwrap());
    let summary = admin.schedules("", 10).await.unwrap().remove(0);
    assert_eq!((&*summary.times, &*summary.queue, summary.catch_up), ("every 2d", "other", all));
    assert_eq!(summary.jitter, Duration::from_millis(1500));
    let job = admin.schedule("nightly").run().await.unwrap().unwrap();
    let runs = admin.schedule("nightly").runs(None, 10).await.unwrap();
    assert_eq!((runs[0].job, runs[0].by_hand), (Some(job), true));
    assert_eq!((runs.len(), runs[0].actor.as_deref()), (1, Some("ada")));
    let stored = format!("select args->>'region' from jobkit.jobs where id = {job}");
    assert_eq!(lab.value::<String>(&stored).await, "8");
    assert!(admin.schedule("nightly").delete().await.unwrap());
    assert!(!admin.schedule("nightly").delete().await.unwrap());
    assert!(admin.schedule("nightly").get().await.unwrap().is_none());
    assert_eq!(admin.schedule("nightly").run().await.unwrap(), None);
    assert_eq!(admin.schedule("nightly").runs(None, 10).await.unwrap(), runs);
    let acts: String = lab
        .value(
            "select string_agg(action, ' ' order by id) from jobkit.audit
            where actor = 'ada' and subject = 'schedule' and subject_name = 'nightly'",
        )
        .await;
    assert_eq!(acts, "create edit run delete");
}

#[tokio::test]
async fn a_pause_is_decided_before_it_ends() {
    let (lab, admin) = desk().await;
    admin.schedule("hourly").create("@hourly", report()).await.unwrap();
    assert_eq!(admin.schedule("hourly").pause("stocktaking").await.unwrap(), Some(true));
    assert_eq!(admin.schedule("hourly").pause("still").await.unwrap(), Some(false));
    assert_eq!(admin.schedule("daily").pause("").await.unwrap(), None);
    let pause = admin.schedules("", 10).await.unwrap().remove(0).paused.unwrap();
    assert_eq!((pause.actor.as_deref(), pause.reason.as_deref()), (Some("ada"), Some("still")));
    // Nobody was awake meanwhile.
    lab.run("update jobkit.schedules set next_at = date_trunc('hour', now()) - interval '3 h'")
        .await;
    assert_eq!(admin.schedule("hourly").resume().await.unwrap(), Some(true));
    assert_eq!(admin.schedule("hourly").resume().await.unwrap(), Some(false));
    assert_eq!(admin.schedule("daily").resume().await.unwrap(), None);
    let runs = admin.schedule("hourly").runs(None, 10).await.unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run.skipped.as_deref() == Some("paused")), "{runs:?}");
    let summary = admin.schedules("", 10).await.unwrap().remove(0);
    assert!(summary.paused.is_none() && summary.skipped_by_pause == 4, "{summary:?}");
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

#[tokio::test]
async fn what_no_schedule_can_be_is_refused() {
    let (_lab, admin) = desk().await;
    let create =
        async |times: &str, job: ScheduledJob| match admin.schedule("s").create(times, job).await {
            Err(ScheduleError::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
    assert!(create("0 0 30 2 *", report()).await.contains("never occurs"));
    let unknown = ScheduledJob::new("reprot", json!({}));
    assert!(create("@daily", unknown).await.contains("nobody has announced"));
    let keyless = ScheduledJob::new("of_a_key", json!({}));
    assert!(create("@daily", keyless.clone()).await.contains("need a concurrency key"));
    assert!(create("@daily", report().concurrency_key("a")).await.contains("take no concurrency"));
    assert!(admin.schedule("s").create("@daily", keyless.concurrency_key("a")).await.unwrap());
    let edit = ScheduleEdit::new().times("0 3 * * * Europe/Berln");
    let refused = admin.schedule("s").edit(edit).await.unwrap_err().to_string();
    assert!(refused.contains("not a time zone"), "{refused}");
    assert!(admin.schedule("").create("@daily", report()).await.is_err());
    let found = admin.schedule("s").get().await.unwrap().unwrap();
    assert_eq!(found.concurrency, Some(("g".to_owned(), "a".to_owned())));
}

#[tokio::test]
async fn what_is_overdue_needs_attention() {
    let (lab, admin) = desk().await;
    for name in ["a", "b"] {
        admin.schedule(name).create("@hourly", report()).await.unwrap();
    }
    assert_eq!(admin.overview().await.unwrap().overdue, None);
    lab.run("update jobkit.schedules set next_at = now() - interval '1 min' where name = 'a'")
        .await;
    lab.run("update jobkit.schedules set next_at = now() - interval '1 h' where name = 'b'").await;
    // A schedule is work, and that it is overdue follows from there being no worker.
    let alone = admin.overview().await.unwrap();
    let [item] = &alone.attention[..] else { panic!("{alone:?}") };
    assert_eq!(item.found(), "no worker is alive, and there are 2 schedules");
    lab.run("select jobkit.register(1, 'w', '{default}', '{report}', '1 day')").await;
    let overview = admin.overview().await.unwrap();
    assert!(overview.overdue >= Some(Duration::from_secs(3600)));
    let overdue: Vec<_> = overview
        .attention
        .iter()
        .filter_map(|item| match item {
            Attention::OverdueSchedule(schedule) => Some(&*schedule.name),
            _ => None,
        })
        .collect();
    assert_eq!(overdue, ["b"]);
    let item = overview.attention.iter().find(|item| item.name() == "overdue_schedule").unwrap();
    assert_eq!(item.found(), "schedule b (@hourly) is 60 min overdue");
    // One that is paused would fire nothing.
    admin.schedule("b").pause("stocktaking").await.unwrap();
    let overview = admin.overview().await.unwrap();
    assert!(overview.overdue < Some(Duration::from_secs(3600)));
    assert!(overview.attention.iter().all(|item| item.name() != "overdue_schedule"));
    assert_eq!(admin.schedule("b").get().await.unwrap().unwrap().summary.overdue, None);
}

/// Nor is what is due lost where its times are of a binary that this one is not.
#[tokio::test]
async fn an_edit_replaces_times_that_nobody_can_read() {
    let (lab, admin) = desk().await;
    admin.schedule("a").create("@hourly", report()).await.unwrap();
    lab.run("update jobkit.schedules set times = 'at dusk', next_at = '2026-01-01 12:00Z'").await;
    assert!(admin.schedule("a").edit(ScheduleEdit::new().times("@daily")).await.unwrap());
    let runs = admin.schedule("a").runs(None, 10).await.unwrap();
    assert_eq!((runs.len(), runs[0].skipped.as_deref()), (1, Some("missed")));
    assert_eq!(runs[0].since, Some("2026-01-01T12:00:00Z".parse().unwrap()));
    // What can be read is decided, not missed.
    lab.run(
        "update jobkit.schedules
        set last_at = null, next_at = date_trunc('day', now() at time zone 'UTC')",
    )
    .await;
    assert!(admin.schedule("a").edit(ScheduleEdit::new().times("@hourly")).await.unwrap());
    let runs = admin.schedule("a").runs(None, 10).await.unwrap();
    let skipped: Vec<_> = runs.iter().map(|run| run.skipped.as_deref()).collect();
    assert_eq!(skipped, [Some("missed"), None], "the former up to now");
}
