//! Texts that somebody made up, in every place where a text is stored.

use axum::http::StatusCode;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::crawler::crawl;
use crate::site::{dashboard, get};
use crate::world;

/// Beginnings of texts that mean something in HTML, in attributes, in URLs, in scripts, to the eye
/// or to a terminal.
const SEEDS: [&str; 50] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "</td></tr></table><script>",
    "</title><script>",
    "</textarea><script>",
    "</pre><b>",
    "<!-- ",
    "--><script>",
    "<![CDATA[<script>",
    "<?php echo 1 ?>",
    "\" onmouseover=\"alert(1)",
    "' onmouseover='alert(1)",
    "\" autofocus onfocus=alert(1) x=\"",
    "\"><script>alert(1)</script>",
    "'><script>alert(1)</script>",
    "\" hx-get=\"/evil",
    "\" hx-on:click=\"alert(1)",
    "`${alert(1)}`",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "&amp;&quot;",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "//evil.test/x",
    "https://evil.test/",
    "../../../etc/passwd",
    "..%2f..%2f",
    "%00%0d%0aSet-Cookie:x=1",
    "\r\nSet-Cookie: x=1",
    "a?b=c&d=e#f",
    "a/b\\c;d:e@f",
    "kind:\"x\" queue:y",
    "'; drop table jobkit.jobs; --",
    "$1 $$ $jobkit$",
    "\u{202e}gpj.exe",
    "\u{2066}hidden\u{2069}",
    "\u{200b}zero\u{200d}width\u{feff}",
    "\u{200f}\u{200e}marks",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{7}\u{8}\u{c}\u{1f}",
    "\u{7f}\u{85}\u{9b}31m",
    "\u{2028}\u{2029}lines",
    "עברית العربية",
    "🦀👩\u{200d}🔧",
    "𝕳𝖊𝖑𝖑𝖔 ＜script＞",
    " leading and trailing ",
];

/// 500 of them, no two alike.
fn texts() -> Vec<String> {
    (0..500).map(|n| format!("{}{n}", SEEDS[n % SEEDS.len()])).collect()
}

/// Characters that change how a text looks without being seen.
fn is_unseen(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Fails when a page has anything of a text that is not only to be read.
fn check(url: &str, body: &str, texts: &[String]) {
    let unseen = body.chars().find(|c| is_unseen(*c));
    assert_eq!(unseen, None, "{url}");
    let scripts = body.matches("<script").count();
    assert_eq!(scripts, body.matches("<script src=\"/assets/").count(), "{url}: a script");
    for text in texts.iter().filter(|text| text.contains(['<', '>', '"', '\''])) {
        assert!(!body.contains(text.as_str()), "{url} has {text:?} as it is");
    }
    for (attribute, value) in crate::crawler::urls(body) {
        let known = value.starts_with('/') || value == "#page" || value == "data:,";
        assert!(known && !value.starts_with("//"), "{url}: {attribute}=\"{value}\"");
    }
}

#[tokio::test]
async fn no_text_is_ever_more_than_a_text() {
    let (lab, texts) = (Lab::new().await, texts());
    world::fill(&lab, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let app = dashboard(&lab, Permissions::admin());
    let mut checked = 0;
    for from in [
        "/",
        "/queues",
        "/schedules",
        "/kinds",
        "/topics",
        "/workers",
        "/concurrency",
        "/dead",
        "/jobs",
        "/operations",
        "/audit",
        "/system",
    ] {
        let crawled = crawl(&app, from, 10).await;
        for (url, body) in &crawled.pages {
            check(url, body, &texts);
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked} pages");
    let kinds = [
        "select '/jobs/' || min(id) from jobkit.jobs group by kind order by min(id)",
        "select '/dead/' || id from jobkit.dead_letters order by id",
        "select '/operations/' || id from jobkit.operations order by id",
        "select '/api/v1/jobs/' || min(id) from jobkit.jobs group by kind order by min(id)",
    ];
    for (number, sql) in kinds.into_iter().enumerate() {
        let paths: Vec<String> = sqlx::query_scalar(sql).fetch_all(lab.pool()).await.unwrap();
        assert!(paths.len() >= 500, "{sql}");
        // Each of the beginnings on each kind of page.
        for path in paths.iter().skip(number * SEEDS.len()).take(SEEDS.len()) {
            let reply = get(&app, path).await;
            assert_eq!(reply.status, StatusCode::OK, "{path}");
            if !path.starts_with("/api/") {
                check(path, &reply.body, &texts);
            }
        }
    }
}

#[tokio::test]
async fn what_is_asked_for_is_no_more_than_a_text_either() {
    let (lab, texts) = (Lab::new().await, texts());
    let app = dashboard(&lab, Permissions::admin());
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    for (n, text) in texts.iter().enumerate() {
        let text = encode(text);
        // Each of the beginnings in each of these.
        let path = match n / SEEDS.len() % 7 {
            0 => format!("/dead/entries?kind={text}&queue={text}&key={text}&fingerprint={text}"),
            1 => format!("/concurrency?group={text}&only={text}&after_group=a&after_key={text}"),
            2 => format!("/concurrency/key?group={text}&key={text}"),
            3 => format!("/audit?actor={text}&action={text}&subject={text}&id={text}"),
            4 => format!("/jobs?q={text}&state={text}&after={text}"),
            5 => format!("/operations/new?verb=replay&kind={text}&reason={text}&key={text}"),
            _ => format!("/{text}"),
        };
        let reply = get(&app, &path).await;
        assert!(!reply.status.is_server_error(), "{path}: {}", reply.body);
        check(&path, &reply.body, &texts);
    }
}

#[tokio::test]
async fn large_numbers_are_shown_to_the_last_digit() {
    let lab = Lab::new().await;
    lab.run("select setval('jobkit.jobs_id_seq', 9007199254740993)").await;
    world::fill(&lab, &["kind"]).await;
    lab.run("update jobkit.dead_letters set args = '{\"n\": 9007199254740995}'").await;
    let app = dashboard(&lab, Permissions::admin());
    let job: i64 = lab.value("select min(id) from jobkit.jobs").await;
    assert!(get(&app, &format!("/jobs/{job}")).await.body.contains(&job.to_string()));
    let api = get(&app, &format!("/api/v1/jobs/{job}")).await.body;
    assert!(api.contains(&format!("\"{job}\"")), "{api}");
    let id: i64 = lab.value("select min(id) from jobkit.dead_letters").await;
    assert!(get(&app, &format!("/dead/{id}")).await.body.contains("9007199254740995"));
}

#[tokio::test]
async fn a_time_beyond_all_calendars_costs_no_page() {
    let lab = Lab::new().await;
    world::fill(&lab, &["kind"]).await;
    let app = dashboard(&lab, Permissions::admin());
    for far in ["infinity", "-infinity", "294276-12-31"] {
        lab.run(&format!(
            "update jobkit.jobs set run_at = '{far}', created_at = '{far}'
             where id in (select job_id from jobkit.scheduled);
             update jobkit.scheduled set run_at = '{far}';
             update jobkit.kinds set announced_at = '{far}';
             update jobkit.audit set at = '{far}'"
        ))
        .await;
        for from in ["/", "/jobs?state=scheduled", "/dead/entries", "/audit"] {
            crawl(&app, from, 20).await;
        }
        for path in ["/metrics", "/api/v1/overview", "/api/v1/jobs", "/api/v1/dead-letters"] {
            let reply = get(&app, path).await;
            assert!(reply.status == StatusCode::OK, "{far}: {path}: {}", reply.body);
        }
    }
}

/// json takes it and jsonb does not: one such payload stands in nobody's way.
#[tokio::test]
async fn a_payload_that_is_no_jsonb_breaks_no_page() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('k', 'q', 0, 1);
        select jobkit.enqueue('k', '{\"b\": \"1\"}') from generate_series(1, 4);
        update jobkit.jobs set args = '{\"a\": \"\\u0000\", \"b\": \"1\"}' where id in (1, 2);
        delete from jobkit.ready where job_id in (1, 3);
        select jobkit.bury(j, 1, 'exhausted', 'no', null) from jobkit.jobs j where id = 1;
        select jobkit.bury(j, 1, 'exhausted', 'no', null) from jobkit.jobs j where id = 3",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    for path in [
        "/jobs/2",
        "/jobs/1",
        "/dead/1",
        "/dead",
        "/dead/export",
        "/api/v1/jobs/2",
        "/api/v1/dead-letters/1",
        "/jobs?q=args.b%3A1",
        "/jobs?q=state%3Aready+args.b%3A1",
        "/api/v1/jobs?q=args.b%3A1",
    ] {
        let reply = get(&app, path).await;
        assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.body);
    }
    let lines = get(&app, "/dead/export").await.body;
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.contains("unreadable: ") && lines.contains("\"b\""), "{lines}");
    let page = get(&app, "/dead/1").await.body;
    assert!(page.contains("unreadable: ") && !page.contains("name=\"args\""), "{page}");
}
