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
        "What it said",
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
    assert!(!page.contains("What it said") && !page.contains("Checkpoint"), "{page}");
}
