//! What attempts say of themselves, on pages and in the API.

use jobkit_admin::Permissions;

use crate::site::{dashboard, get};
use crate::world;

#[tokio::test]
async fn progress_and_log_are_on_the_pages_of_job_and_worker_and_in_the_api() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::viewer());
    let job: i64 = lab
        .value("select j.id from jobkit.claims c, unnest(c.job_ids) as j (id) order by 1 limit 1")
        .await;
    lab.run(&format!(
        "update jobkit.reports set done = 41, total = 123, note = 'rows <b>',
            progressed_at = now() - interval '7 s', lines = jsonb_build_array(jsonb_build_object(
                'at', 1000000, 'level', 'WARN', 'target', 'shop', 'text', 'no <price>'))
        where job_id = {job}"
    ))
    .await;
    let page = get(&app, &format!("/jobs/{job}")).await.body;
    for part in [
        "Progress and log",
        "aria-label=\"33 %\"",
        "41 of 123, rows &#60;b&#62;",
        "00:00:01.000 WARN  shop: no &#60;price&#62;",
        "<dt>Checkpoint</dt><dd>by attempt 1, ",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = get(&app, "/workers/1f").await.body;
    assert!(page.contains("41 of 123, rows &#60;b&#62;"), "{page}");
    let api: serde_json::Value =
        serde_json::from_str(&get(&app, &format!("/api/v1/jobs/{job}")).await.body).unwrap();
    let report = &api["reports"][0];
    let progress = &report["progress"];
    assert_eq!((&progress["done"], &progress["percent"]), (&41.into(), &33.into()), "{api}");
    assert_eq!(report["lines"][0]["text"], "no <price>");
    assert_eq!(api["checkpoint"]["attempt"], 1);
    assert!(api["checkpoint"]["bytes"].as_u64().unwrap() < 5);
    // Who waits has said nothing.
    let waits: i64 = lab
        .value(
            "select min(s.job_id) from jobkit.scheduled s
        where not exists (select from jobkit.reports r where r.job_id = s.job_id)",
        )
        .await;
    let page = get(&app, &format!("/jobs/{waits}")).await.body;
    assert!(!page.contains("Progress and log") && !page.contains("Checkpoint"), "{page}");
}

#[tokio::test]
async fn what_a_job_returned_is_on_its_page_and_in_the_api() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::operator());
    let ended = "select min(job_id) from jobkit.finished where outcome = 'finish'";
    let job: i64 = lab.value(ended).await;
    lab.run(&format!("update jobkit.finished set result = null where job_id = {job}")).await;
    let page = get(&app, &format!("/jobs/{job}")).await.body;
    assert!(!page.contains("<h2>Result</h2>"), "{page}");
    let result = "'{\"number\": \"<4711>\"}'";
    lab.run(&format!("update jobkit.finished set result = {result} where job_id = {job}")).await;
    let page = get(&app, &format!("/jobs/{job}")).await.body;
    let (_, shown) = page.split_once("<h2>Result</h2>").unwrap();
    assert!(
        shown.starts_with("</header><pre>{\n  &#34;number&#34;: &#34;&#60;4711&#62;&#34;"),
        "{shown:.200}"
    );
    let api = get(&app, &format!("/api/v1/jobs/{job}")).await.body;
    let api: serde_json::Value = serde_json::from_str(&api).unwrap();
    assert_eq!(api["result"]["number"], "<4711>");
    // Not to those who may see no payloads.
    let app = dashboard(&lab, Permissions::viewer());
    for path in [format!("/jobs/{job}"), format!("/api/v1/jobs/{job}")] {
        let hidden = get(&app, &path).await.body;
        assert!(hidden.contains("number") && !hidden.contains("4711"), "{hidden}");
    }
}

#[tokio::test]
async fn the_unique_or_coalescing_key_of_a_job_is_on_its_page_and_in_the_api() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::viewer());
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('k', 'q', 0, 3)",
    )
    .await;
    for (name, args, coalesces, group) in [
        ("Unique key", "p_unique_key => '<7>', p_unique_group => 'orders'", false, "orders"),
        ("Coalesce key", "p_coalesce_key => '<7>'", true, "k"),
    ] {
        let job: i64 = lab.value(&format!("select jobkit.enqueue('k', {args})")).await;
        let page = get(&app, &format!("/jobs/{job}")).await.body;
        let (_, shown) = page.split_once(&format!("<dt>{name}</dt>")).unwrap();
        let (shown, _) = shown.split_once("</dd>").unwrap();
        assert!(shown.contains("&#60;7&#62;"), "{shown}");
        assert_eq!(shown.contains("orders"), !coalesces, "{shown}");
        let api = get(&app, &format!("/api/v1/jobs/{job}")).await.body;
        let api: serde_json::Value = serde_json::from_str(&api).unwrap();
        assert_eq!((&api["unique_key"], &api["coalesces"]), (&"<7>".into(), &coalesces.into()));
        assert_eq!(api["unique_group"], group);
    }
}
