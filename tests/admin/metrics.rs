//! Counters and histograms for monitoring, made of measures that come and go.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use jobkit::Admin;
use jobkit::admin::limits::{Change, Limited, Rate, To};
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::exposition::{Sample, read};
use crate::site::{ask, dashboard, dashboard_of, get};

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
    let (queue, kind) = (admin.queue("mail"), admin.kind("pay"));
    let _ = kind.set(&Change::new().running(5)).await.unwrap();
    let twice = Rate::per(120, Duration::from_secs(60));
    let _ = queue.set(&Change::new().rate(twice)).await.unwrap();
    admin.everything().pause("").await.unwrap();
    for (name, label, is) in [
        ("jobkit_limit{", "scope=\"kind\",name=\"pay\",what=\"running\"", 5.0),
        ("jobkit_limit{", "scope=\"queue\",name=\"mail\",what=\"rate\"", 2.0),
        ("jobkit_paused{", "scope=\"all\"", 1.0),
    ] {
        assert_eq!(value(&app, name, label).await, is, "{name}");
    }
    let _ = kind.set(&Change::new().running(To::Reset)).await.unwrap();
    let _ = queue.set(&Change::new().rate(To::Reset)).await.unwrap();
    admin.everything().resume().await.unwrap();
    let text = get(&app, "/metrics").await.body;
    for name in ["jobkit_limit{", "jobkit_paused{"] {
        assert!(!text.contains(name), "{text}");
    }
}

#[tokio::test]
async fn limits_of_keys_are_told_by_group_and_paused_keys_are_counted() {
    let lab = Lab::new().await;
    lab.run(&jobkit_tests::announce_group("pay", 1)).await;
    lab.run(&jobkit_tests::announce_group("sync", 2)).await;
    let app = dashboard(&lab, Permissions::viewer());
    let admin = Admin::new(lab.pool());
    let paused = async || value(&app, "jobkit_paused_keys ", "").await;
    assert_eq!(paused().await, 0.0);
    let fast = Rate::per(120, Duration::from_secs(60));
    let set = [
        admin.group("pay").set(&Change::new().running(0)).await,
        admin.group("sync").set(&Change::new().rate(fast)).await,
        // A rate that is lifted is none.
        admin.group("pay").set(&Change::new().rate(To::NoLimit)).await,
        admin.key("pay", "acme").pause_for(Duration::from_secs(600), "").await,
        admin.key("sync", "acme").pause_for(Duration::from_secs(60), "").await,
    ];
    assert!(set.iter().all(|set| matches!(set, Ok(Limited::Changed))), "{set:?}");
    let of_pay = "scope=\"group\",name=\"pay\",what=\"running\"";
    assert_eq!(value(&app, "jobkit_limit{", of_pay).await, 0.0);
    assert_eq!(value(&app, "jobkit_limit{", "what=\"rate\"").await, 2.0);
    assert_eq!(paused().await, 2.0);
    admin.key("pay", "acme").resume().await.unwrap();
    assert_eq!(paused().await, 1.0);
    let text = get(&app, "/metrics").await.body;
    assert!(!text.contains("acme"), "{text}");
}

/// Names that queues and kinds may have.
const ODD: [&str; 12] = [
    "a\"b",
    "a\\b",
    "a\nb",
    "a\\nb",
    "a\\",
    "\"",
    "\n",
    "\",kind=\"x",
    "} 1",
    "a\rb\tc",
    "käse \u{202e}日本\u{2028}🧀",
    "# HELP a b",
];

/// A lab in which queues, kinds and groups have these names.
async fn odd() -> Lab {
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool());
    for name in ODD {
        admin.queue(name).pause("").await.unwrap();
        let _ = admin.kind(name).set(&Change::new().running(5)).await.unwrap();
        let group = "select count(*) from jobkit.announce_limits(jsonb_build_array(
            jsonb_build_object('scope', 'group', 'name', $1::text, 'running', 1)))";
        sqlx::query(group).bind(name).execute(lab.pool()).await.unwrap();
        assert_eq!(
            admin.group(name).set(&Change::new().running(7)).await.unwrap(),
            Limited::Changed
        );
        let measure =
            "insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
            values (15, date_bin('15 min', now(), 'epoch'), $1, $1, 'finish', 1, '{1}', '{1}')";
        sqlx::query(measure).bind(name).execute(lab.pool()).await.unwrap();
    }
    lab
}

const OPEN: (&str, &str) =
    ("accept", "application/openmetrics-text; version=1.0.0, text/plain;q=0.5");

#[tokio::test]
async fn whatever_a_name_has_in_it_each_format_says_it_as_it_is() {
    let lab = odd().await;
    let app = dashboard(&lab, Permissions::viewer());
    let plain = get(&app, "/metrics").await;
    let open = ask(&app, "GET", "/metrics", &[OPEN], "").await;
    assert!(plain.header("content-type").starts_with("text/plain; version=0.0.4"));
    assert!(open.header("content-type").starts_with("application/openmetrics-text; version=1.0.0"));
    assert!(open.header("vary").contains("accept,"), "{}", open.header("vary"));
    let (plain, open) = (read(&plain.body, false), read(&open.body, true));
    let names = |samples: &[Sample], of: &str, label: &str| -> BTreeSet<String> {
        let of = samples.iter().filter(|sample| sample.name == of);
        of.map(|sample| sample.labels[label].clone()).collect()
    };
    let odd: BTreeSet<String> = ODD.into_iter().map(str::to_owned).collect();
    for samples in [&plain, &open] {
        for (name, label) in [
            ("jobkit_queue_full", "queue"),
            ("jobkit_paused", "name"),
            ("jobkit_attempts_total", "queue"),
            ("jobkit_attempts_total", "kind"),
            ("jobkit_run_seconds_bucket", "kind"),
            ("jobkit_limit", "name"),
        ] {
            assert_eq!(names(samples, name, label), odd, "{name} {label}");
        }
    }
    let named = |samples: &[Sample]| {
        samples
            .iter()
            .map(|sample| (sample.name.clone(), sample.labels.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(named(&plain), named(&open), "the formats have the same samples");
}

/// `promtool` of Prometheus, where it is installed, reads the page too, and judges the names.
#[tokio::test]
async fn prometheus_finds_nothing_wrong_with_the_page() {
    let lab = odd().await;
    let app = dashboard(&lab, Permissions::viewer());
    let page = get(&app, "/metrics").await.body;
    let promtool =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn();
    let Ok(mut promtool) = promtool else {
        writeln!(std::io::stderr(), "SKIPPED, promtool: apt-get install prometheus").unwrap();
        return;
    };
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}: {page}");
}

#[tokio::test]
async fn of_many_names_some_have_series_and_the_others_one() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    get(&app, "/metrics").await;
    let measures =
        "insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
        select 15, date_bin('15 min', now(), 'epoch'), 'q', 'k' || i, 'finish', 1, '{1}', '{1}'
        from generate_series(1, 700) i";
    lab.run(measures).await;
    for _ in 0..2 {
        let page = read(&get(&app, "/metrics").await.body, false);
        let attempts: Vec<_> =
            page.iter().filter(|sample| sample.name == "jobkit_attempts_total").collect();
        assert_eq!(attempts.len(), 501);
        assert_eq!(attempts.iter().map(|sample| sample.value).sum::<f64>(), 700.0);
        let rest = attempts.iter().find(|sample| sample.labels["kind"].is_empty()).unwrap();
        assert_eq!((rest.value, &*rest.labels["queue"]), (200.0, ""));
        lab.run(
            "insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
            values (15, date_bin('15 min', now(), 'epoch'), 'a', 'first', 'finish', 0, '{0}', '{0}')
            on conflict do nothing",
        )
        .await;
    }
}

/// Labels are those of a group, a kind, a name: of two things that have one label it is two.
#[tokio::test]
async fn what_needs_attention_twice_is_one_series() {
    let lab = Lab::new().await;
    lab.run(
        "select jobkit.announce('{note}', '{mail}', '{0}', '{20}', '{1 h}', '{null}', '{null}');
        select jobkit.register(1, 'web-1:7', '{mail}', '{note}', '1 day', '{8}');
        select jobkit.enqueue('note', '{}', p_queue => queue, p_run_at => now() + interval '1 min')
        from unnest('{here, there}'::text[]) queue",
    )
    .await;
    let app = dashboard(&lab, Permissions::viewer());
    let page = read(&get(&app, "/metrics").await.body, false);
    let named: Vec<_> = page
        .iter()
        .filter(|sample| sample.name == "jobkit_attention_named")
        .map(|sample| (&*sample.labels["what"], &*sample.labels["name"], sample.value))
        .collect();
    assert_eq!(named, [("unserved", "note", 2.0)]);
}

#[tokio::test]
async fn without_a_database_monitoring_is_told_so_in_a_line() {
    let admin = Admin::connect_lazy("postgres://nobody@127.0.0.1:1/none").unwrap();
    let app = dashboard_of(admin, Permissions::admin()).into_router();
    for path in ["/metrics", "/readyz"] {
        let reply = get(&app, path).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(reply.header("content-type").starts_with("text/plain"), "{path}: {reply:?}");
        assert!(!reply.body.contains('<') && reply.body.lines().count() == 1, "{}", reply.body);
    }
}
