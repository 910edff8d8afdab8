//! Lists: what is searched for, how pages are turned, and what groups say of themselves.

use axum::http::StatusCode;
use jobkit_admin::Permissions;
use serde_json::Value;

use crate::site::{dashboard, get};
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
    let refused = "knid:a".parse::<jobkit::JobQuery>().unwrap_err().to_string();
    let (_, known) = refused.split_once("there are ").unwrap();
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
