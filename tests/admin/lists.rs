//! Lists: what is searched for, how pages are turned, and what groups say of themselves.

use axum::http::StatusCode;
use jobkit_admin::Permissions;
use serde_json::Value;

use crate::site::{Reply, dashboard, get};
use crate::world;

#[tokio::test]
async fn a_state_among_the_words_is_the_tab_that_is_shown() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::viewer());
    for (tab, words, current, shown) in [
        ("live", "state:scheduled+kind:send_receipt_05", "scheduled", "kind:send_receipt_05"),
        ("ready", "state:live", "live", ""),
        ("blocked", "queue:send_receipt_05", "blocked", "queue:send_receipt_05"),
        ("", "id:7+state:finished", "finished", "id:7"),
    ] {
        let page = get(&app, &format!("/jobs?state={tab}&q={words}")).await;
        assert_eq!(page.status, StatusCode::OK);
        let hidden = format!("name=\"state\" value=\"{current}\"");
        assert!(page.body.contains(&hidden), "{words}: {}", page.body);
        let shown = format!("id=\"q\" name=\"q\" value=\"{shown}\"");
        assert!(page.body.contains(&shown), "{words}: {}", page.body);
    }
}

#[tokio::test]
async fn every_qualifier_is_suggested() {
    let lab = world::ordinary().await;
    let page = get(&dashboard(&lab, Permissions::viewer()), "/jobs").await.body;
    // What the query itself says there is.
    let refused = "knid:a".parse::<jobkit::admin::jobs::JobQuery>().unwrap_err().to_string();
    let (_, known) = refused.split_once("the qualifiers are ").unwrap();
    let known = known.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and");
    let known: Vec<_> = known.map(|word| word.trim_end_matches("<path>")).collect();
    assert!(known.len() >= 10, "{known:?}");
    for word in known {
        let word = if word.ends_with('.') { word.to_owned() } else { format!("{word}:") };
        assert!(page.contains(&format!("<option value=\"{word}\">")), "{word}");
    }
    assert!(page.contains("<option value=\"state:retrying\">"));
}

#[tokio::test]
async fn a_group_shows_when_its_last_ones_failed() {
    let lab = world::ordinary().await;
    lab.run(
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint)
        select -1000 - ago * 10 - n, 'bulk', 'q', 0, 20, 'exhausted', '[]', 20, 20, 0, now(),
            now() - ago * interval '1 h', now() - (ago + 0.5) * interval '1 h', '{}', 'no', of_day
        from (values ('day', 0, 3), ('day', 5, 1), ('day', 23, 2), ('day', 24, 7), ('old', 30, 2))
            as of (of_day, ago, number), generate_series(1, number) n",
    )
    .await;
    let app = dashboard(&lab, Permissions::viewer());
    let groups = get(&app, "/api/v1/dead-letters/groups?limit=100").await.body;
    let groups: Value = serde_json::from_str(&groups).unwrap();
    let of = |name: &str| {
        let found = groups["items"].as_array().unwrap().iter();
        let mut found = found.filter(|group| group["fingerprint"] == name);
        found.next().unwrap()["lately"].as_array().unwrap().clone()
    };
    let mut day = vec![0; 24];
    (day[23], day[18], day[0]) = (3, 1, 2);
    assert_eq!(of("day"), day);
    assert_eq!(of("old"), vec![0; 24]);
    let page = get(&app, "/dead").await.body;
    let text = "6 in the last 24 hours, at most 3 in one";
    assert!(page.contains(&format!("role=\"img\" aria-label=\"{text}\"><title>{text}<")), "{page}");
    assert!(page.contains("data-l=\"Last 24 h\"><span class=\"muted\">none</span>"), "{page}");
}

#[tokio::test]
async fn a_page_leads_to_the_next_and_back_to_the_first() {
    let lab = world::ordinary().await;
    lab.run(
        "select count(jobkit.enqueue('send_receipt_01', '{}', p_concurrency_key => 'a'))
             from generate_series(1, 120);
        insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint)
        select -1000 - i, 'bulk', 'q', 0, 20, 'exhausted', '[]', 20, 20, 0, now(), now(), now(),
            '{}', 'no', 'many' from generate_series(1, 120) i",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    for first in
        ["/jobs?state=live&amp;q=kind%3Asend_receipt_01", "/dead/entries?state=open&amp;kind=bulk"]
    {
        let mut path = first.replace("&amp;", "&");
        for number in 1..=3 {
            let page = get(&app, &path).await.body.replace("&#38;", "&amp;");
            let back = format!("href=\"{first}\">First page</a>");
            assert_eq!(page.contains(&back), number > 1, "page {number} of {first}: {page}");
            let Some((before, _)) = page.split_once("\" rel=\"next\"") else {
                assert_eq!(number, 3, "{first}");
                break;
            };
            path = before.rsplit_once('"').unwrap().1.replace("&amp;", "&");
        }
    }
}

#[tokio::test]
async fn a_tab_whose_window_ran_out_shows_no_number() {
    let lab = world::ordinary().await;
    lab.run(
        "select count(jobkit.enqueue('send_receipt_01', '{}', p_concurrency_key => 'a'))
            from generate_series(1, 1100);
        select count(jobkit.enqueue('send_receipt_02', '{}', p_queue => 'send_receipt_01',
            p_concurrency_key => 'a', p_tags => '{rare}')) from generate_series(1, 2)",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    let page = get(&app, "/jobs?state=ready&q=tag:rare").await.body;
    assert_eq!(page.matches("<span class=\"tag\">rare</span>").count(), 2, "{page}");
    assert!(!page.contains(">0+<"), "{page}");
    let unknown = "Ready<span class=\"count\" title=\"Not counted: ";
    assert!(page.contains(unknown), "{page}");
    assert!(page.contains("Blocked<span class=\"count\">0<"), "all of these were looked at");
    let page = get(&app, "/jobs?state=ready").await.body;
    assert!(page.contains("Ready<span class=\"count\">1,10"), "{page}");
}

#[tokio::test]
async fn dead_letters_behind_the_window_are_not_said_to_be_none() {
    let lab = world::ordinary().await;
    lab.run(
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint)
        select -1000 - i, 'bulk', 'q', 0, 20, 'exhausted', '[]', 20, 20, 0, now(), now(),
            now() + '1 s', '{}', 'no', 'many' from generate_series(1, 10050) i",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    let page = get(&app, "/dead/entries?kind=send_receipt_01").await.body;
    assert!(!page.contains(">0+<"), "{page}");
    assert!(page.contains("title=\"Not counted: "), "{page}");
    assert!(page.contains("Replay all…"), "there may be some: {page}");
    let page = get(&app, "/dead/entries?kind=bulk&queue=q").await.body;
    assert!(page.contains("title=\"Not counted: "), "{page}");
}

/// Where a page sends the browser.
fn to(reply: &Reply) -> &str {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    reply.header("location")
}

#[tokio::test]
async fn an_id_leads_from_any_tab_to_its_job_or_dead_letter() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::viewer());
    lab.run("update jobkit.dead_letters set id = id + 70000").await;
    let id = |sql: &'static str| {
        let lab = &lab;
        async move { lab.value::<i64>(sql).await }
    };
    let blocked = id("select min(job_id) from jobkit.blocked_executions").await;
    let finished = id("select min(job_id) from jobkit.finished").await;
    let dead = id("select max(job_id) from jobkit.dead_letters").await;
    let letter = id("select max(id) from jobkit.dead_letters").await;
    for tab in ["live", "ready", "blocked", "finished", "cancelled"] {
        for job in [blocked, finished, dead] {
            let reply = get(&app, &format!("/jobs?state={tab}&q=+{job}+")).await;
            assert_eq!(to(&reply), format!("/jobs/{job}"), "{tab}");
            assert_eq!(get(&app, to(&reply)).await.status, StatusCode::OK);
        }
        let reply = get(&app, &format!("/jobs?state={tab}&q={letter}")).await;
        assert_eq!(to(&reply), format!("/dead/{letter}"), "{tab}");
    }
    let none = get(&app, "/jobs?state=ready&q=404404").await;
    assert_eq!(none.status, StatusCode::OK);
    assert!(none.body.contains("No matching ready jobs"), "{}", none.body);
    for job in [blocked, finished, dead] {
        let found = get(&app, &format!("/api/v1/jobs?q={job}")).await.body;
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["items"][0]["id"], job.to_string(), "{found}");
    }
    let words = get(&app, &format!("/api/v1/jobs?q={dead}+state:ready")).await.body;
    assert!(words.contains("\"items\":[]"), "{words}");
}

#[tokio::test]
async fn the_worker_of_a_finished_job_may_have_left() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::viewer());
    let job: i64 = lab.value("select min(job_id) from jobkit.finished where worker_id = 31").await;
    lab.run("select jobkit.deregister(31)").await;
    let page = get(&app, &format!("/jobs/{job}")).await.body;
    assert!(page.contains("href=\"/workers/1f\""), "{page}");
    let left = get(&app, "/workers/1f").await;
    assert_eq!(left.status, StatusCode::OK, "{}", left.body);
    assert!(left.body.contains("It stopped cleanly."), "{}", left.body);
    assert!(!left.body.contains("Its lease lapsed"), "{}", left.body);
    let finished = "/jobs?state=finished&amp;q=worker:1f";
    assert!(left.body.contains(finished), "{}", left.body);
    let page = get(&app, &finished.replace("&amp;", "&")).await.body;
    assert!(page.contains(&format!("/jobs/{job}\"")), "{page}");
    // Nobody knows anything of others.
    assert_eq!(get(&app, "/workers/deadbeef1234").await.status, StatusCode::NOT_FOUND);
    // One that was lost has its host, its process and why.
    lab.run(
        "select jobkit.register(48, 'web-7:4711', '{mail}', '{note}', '1 day');
        insert into jobkit.lost_workers (id, name, jobs) values (48, 'web-7:4711', 3);
        delete from jobkit.workers where id = 48",
    )
    .await;
    let lost = get(&app, "/workers/30").await.body;
    for word in ["<dd>web-7</dd>", "<dd>4711</dd>", "Its 3 jobs were taken back."] {
        assert!(lost.contains(word), "{word}: {lost}");
    }
    // What is known of no more is no link.
    lab.run("delete from jobkit.stopped_workers").await;
    let page = get(&app, &format!("/jobs/{job}")).await.body;
    assert!(!page.contains("href=\"/workers/1f\"") && page.contains(">1f<"), "{page}");
}

#[tokio::test]
async fn an_export_has_all_that_is_meant() {
    let lab = world::ordinary().await;
    lab.run(
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint)
        select -1000 - i, case when i <= 2345 then 'bulk' else 'other' end, 'q', 0, 20,
            'exhausted', '[]', 20, 20, 0, now(), now(), now() - i * interval '1 s',
            jsonb_build_object('i', i), 'no', 'many'
        from generate_series(1, 2400) i",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    let lines = get(&app, "/dead/export?kind=bulk").await;
    assert_eq!(lines.header("content-type"), "application/jsonl; charset=utf-8");
    let jobs = lines.body.lines().map(|line| {
        let letter: Value = serde_json::from_str(line).unwrap();
        assert_eq!(letter["kind"], "bulk");
        letter["job"].as_str().unwrap().parse::<i64>().unwrap()
    });
    let expected: Vec<i64> = (1..=2345).map(|i| -1000 - i).collect();
    assert_eq!(jobs.collect::<Vec<_>>(), expected, "all of them, the newest first");
    assert_eq!(get(&app, "/dead/export?kind=none").await.body, "");
    let wrong = get(&app, &format!("/dead/export?kind={}", "k".repeat(200))).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn an_export_that_fails_on_the_way_breaks_off() {
    let lab = world::ordinary().await;
    lab.run(
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint)
        select -1000 - i, 'bulk', 'q', 0, 20, 'exhausted', '[]', 20, 20, 0, now(), now(), now(),
            '{}', 'no', 'many' from generate_series(1, 120) i",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    let request = axum::http::Request::get("/dead/export").header("host", "jobs.test");
    let request = request.body(axum::body::Body::empty()).unwrap();
    let reply = tower::ServiceExt::oneshot(app, request).await.unwrap();
    lab.run("alter table jobkit.dead_letters rename to gone").await;
    let read = axum::body::to_bytes(reply.into_body(), 1 << 24).await;
    assert!(read.is_err(), "a part looks like all");
}
