//! Counters and histograms for monitoring, made of measures that come and go.

use std::time::Duration;

use axum::Router;
use jobkit::Admin;
use jobkit::admin::brakes::{Rate, Scope};
use jobkit::admin::semaphores::Limited;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::site::{dashboard, get};

/// The value of a series, by its name and what is among its labels.
async fn value(app: &Router, name: &str, label: &str) -> f64 {
    let body = get(app, "/metrics").await.body;
    let found = |line: &&str| line.starts_with(name) && line.contains(label);
    let mut lines = body.lines().filter(found);
    let line = lines.next().unwrap_or_else(|| panic!("{name} {label}: {body}"));
    assert_eq!(lines.next(), None, "one series");
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

/// Attempts that took some 20 ms, in a quarter of an hour from now.
async fn measure(lab: &Lab, quarter: i32, count: i32) {
    lab.run(&format!(
        "insert into jobkit.measures as m (span, minute, queue, kind, outcome, count, run, wait)
        values (15, date_bin('15 min', now(), 'epoch') + {quarter} * interval '15 min', 'q', 'k',
            'finish', {count}, array_fill(0, array[16]) || {count}, array[{count}])
        on conflict (span, minute, queue, kind, outcome) do update
            set count = excluded.count, run = excluded.run, wait = excluded.wait"
    ))
    .await;
}

#[tokio::test]
async fn counters_begin_with_zero_and_only_grow() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    let ended = async || value(&app, "jobkit_attempts_total{", "outcome=\"finish\"").await;
    measure(&lab, 0, 5).await;
    assert_eq!(ended().await, 0.0, "what was there before is not counted");
    measure(&lab, 0, 7).await;
    assert_eq!(ended().await, 2.0);
    // Two quarters later the first one is over, and a week later it is gone.
    measure(&lab, 1, 1).await;
    measure(&lab, 2, 1).await;
    assert_eq!(ended().await, 4.0);
    lab.run("delete from jobkit.measures where count = 7").await;
    assert_eq!((ended().await, ended().await), (4.0, 4.0));
    measure(&lab, 2, 3).await;
    assert_eq!(ended().await, 6.0);
}

#[tokio::test]
async fn histograms_have_the_same_buckets_whatever_is_counted() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    measure(&lab, 0, 1).await;
    let run = async |label: &'static str| value(&app, "jobkit_run_seconds_bucket{", label).await;
    assert_eq!(run("le=\"+Inf\"").await, 0.0);
    measure(&lab, 0, 3).await;
    assert_eq!(run("le=\"+Inf\"").await, 2.0);
    assert_eq!((run("le=\"0.0128\"").await, run("le=\"0.0256\"").await), (0.0, 2.0));
    assert_eq!(value(&app, "jobkit_run_seconds_count{", "kind=\"k\"").await, 2.0);
    let sum = value(&app, "jobkit_run_seconds_sum{", "queue=\"q\"").await;
    assert!((0.0256..0.0512).contains(&sum), "{sum}");
    assert_eq!(value(&app, "jobkit_wait_seconds_bucket{", "le=\"0.0001\"").await, 2.0);
    let buckets = get(&app, "/metrics").await.body;
    let buckets = buckets.lines().filter(|line| line.starts_with("jobkit_run_seconds_bucket{"));
    assert_eq!(buckets.count(), 31);
}

#[tokio::test]
async fn what_holds_back_queues_and_kinds_is_a_series_while_it_does() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    let admin = Admin::new(lab.pool());
    let (queue, kind) = (Scope::Queue("mail".into()), Scope::Kind("pay".into()));
    admin.limit_running(&kind, Some(5)).await.unwrap();
    admin.limit_rate(&queue, Some(Rate::per(120, Duration::from_secs(60)))).await.unwrap();
    admin.pause_scope(&Scope::All, "").await.unwrap();
    for (name, label, is) in [
        ("jobkit_running_limit{", "scope=\"kind\",name=\"pay\"", 5.0),
        ("jobkit_rate_per_second{", "scope=\"queue\",name=\"mail\"", 2.0),
        ("jobkit_paused{", "scope=\"all\"", 1.0),
    ] {
        assert_eq!(value(&app, name, label).await, is, "{name}");
    }
    admin.limit_running(&kind, None).await.unwrap();
    admin.limit_rate(&queue, None).await.unwrap();
    admin.resume_scope(&Scope::All).await.unwrap();
    let text = get(&app, "/metrics").await.body;
    for name in ["jobkit_running_limit{", "jobkit_rate_per_second{", "jobkit_paused{"] {
        assert!(!text.contains(name), "{text}");
    }
}

#[tokio::test]
async fn what_operators_set_for_keys_is_told_by_group_and_paused_keys_are_counted() {
    let lab = Lab::new().await;
    lab.run("select jobkit.announce_limits(array['pay', 'sync'], array[1, 2])").await;
    let app = dashboard(&lab, Permissions::viewer());
    let admin = Admin::new(lab.pool());
    let paused = async || value(&app, "jobkit_keys_paused ", "").await;
    assert_eq!(paused().await, 0.0);
    let fast = Some(Some(Rate::per(120, Duration::from_secs(60))));
    let set = [
        admin.limit_group("pay", Some(0)).await,
        admin.rate_group("sync", fast).await,
        // A rate that is lifted is none.
        admin.rate_group("pay", Some(None)).await,
        admin.pause_key("pay", "acme", Duration::from_secs(600), None).await,
        admin.pause_key("sync", "acme", Duration::from_secs(60), None).await,
    ];
    assert!(set.iter().all(|set| matches!(set, Ok(Limited::Set))), "{set:?}");
    assert_eq!(value(&app, "jobkit_group_limit{", "group=\"pay\"").await, 0.0);
    assert_eq!(value(&app, "jobkit_group_rate_per_second{", "").await, 2.0);
    assert_eq!(paused().await, 2.0);
    admin.resume_key("pay", "acme").await.unwrap();
    assert_eq!(paused().await, 1.0);
    let text = get(&app, "/metrics").await.body;
    assert!(!text.contains("acme"), "{text}");
}
