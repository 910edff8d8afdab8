//! What needs attention is said wherever an operator looks.

use std::future::Future;

use axum::Router;
use jobkit::Admin;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use jobkit_tests::incidents::{INCIDENTS, Incident};
use serde_json::{Value, json};

use crate::site::{Reply, dashboard, get, send};

async fn act(app: &Router, verb: &str, which: &Value) -> Reply {
    send(app, &format!("/api/v1/attention/{verb}"), &which.to_string()).await
}

async fn overview(app: &Router) -> Value {
    serde_json::from_str(&get(app, "/api/v1/overview").await.body).unwrap()
}

/// The one thing that needs attention.
async fn only(app: &Router, incident: &Incident) -> Value {
    let overview = overview(app).await;
    let attention = overview["attention"].as_array().unwrap();
    let [item] = &attention[..] else { panic!("{incident:?}: {attention:#?}") };
    assert_eq!(item["what"], incident.what, "{item}");
    assert_eq!(item["severity"], incident.severity, "{item}");
    item.clone()
}

/// What the doctor finds, but for what is so at a server for tests.
async fn findings(lab: &Lab) -> Vec<(String, String)> {
    let diagnosis = Admin::new(lab.pool()).doctor().await.unwrap();
    let findings = diagnosis.findings.into_iter();
    let of_the_server = ["fsync is off", "full_page_writes is off"];
    let findings = findings.filter(|finding| !of_the_server.contains(&&*finding.found));
    findings.map(|finding| (finding.severity.as_str().to_owned(), finding.found)).collect()
}

fn gauge(metrics: &str, line: &str) {
    assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
}

/// Walks through all incidents, and says which ones went wrong.
async fn each<F>(walk: impl Fn(&'static Incident) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut wrong = Vec::new();
    for (number, incident) in INCIDENTS.iter().enumerate() {
        if tokio::spawn(walk(incident)).await.is_err() {
            wrong.push(format!("{number} {} {:?}", incident.what, incident.words));
        }
    }
    assert!(wrong.is_empty(), "{} incidents went wrong: {wrong:#?}", wrong.len());
}

/// Incident by incident: what rings, in the page, the API, the doctor and the metrics; that nothing
/// else does; and that nothing rings when it is over.
#[tokio::test]
async fn every_incident_is_named_by_the_overview_the_doctor_the_api_and_the_metrics() {
    each(rings).await;
}

async fn rings(incident: &'static Incident) {
    let lab = incident.stage().await;
    let app = dashboard(&lab, Permissions::viewer());
    let item = only(&app, incident).await;
    let page = get(&app, "/").await.body;
    let found = findings(&lab).await;
    assert_eq!(found.len(), 1, "{incident:?}: {found:#?}");
    assert_eq!(found[0].0, incident.severity, "{found:?}");
    for word in incident.words {
        assert!(item["found"].as_str().unwrap().contains(word), "{word}: {item}");
        assert!(page.contains(word), "{word}: {page}");
        assert!(found[0].1.contains(word), "{word}: {found:?}");
    }
    assert!(page.contains(&format!("class=\"state {}\"", incident.severity)), "{page}");
    let system = get(&app, "/system").await.body;
    assert!(system.contains(&format!("class=\"state {}\"", incident.severity)), "{system}");
    assert!(item["advice"].as_str().unwrap().len() > 10, "{item}");
    let metrics = get(&app, "/metrics").await.body;
    let (what, severity) = (incident.what, incident.severity);
    let of = format!("{{what=\"{what}\",severity=\"{severity}\"}}");
    gauge(&metrics, &format!("jobkit_attention{of} 1"));
    let rings = metrics
        .lines()
        .filter(|line| line.starts_with("jobkit_attention{") && !line.ends_with(" 0"));
    assert_eq!(rings.count(), 1, "{metrics}");
    incident.end(&lab).await;
    let over = dashboard(&lab, Permissions::viewer());
    assert_eq!(overview(&over).await["attention"], json!([]), "{incident:?}");
}

#[tokio::test]
async fn what_is_acknowledged_rings_again_when_it_happens_again() {
    each(rings_again).await;
}

async fn rings_again(incident: &'static Incident) {
    let lab = incident.stage().await;
    let app = dashboard(&lab, Permissions::operator());
    let now = overview(&app).await;
    let item = &now["attention"][0];
    let which = json!({
        "what": item["what"], "subject": item["subject"], "seen": now["at"], "reason": "known",
    });
    let done = act(&app, "acknowledge", &which).await;
    assert_eq!(done.status, 204, "{}", done.body);
    let later = overview(&app).await;
    assert_eq!(later["attention"], json!([]), "{incident:?}");
    let known = &later["acknowledged"][0];
    assert_eq!((&known["what"], &known["subject"]), (&item["what"], &item["subject"]));
    assert_eq!(known["acknowledged"]["reason"], "known", "{known}");
    let page = get(&app, "/").await.body;
    assert!(page.contains("1 acknowledged") && page.contains("known"), "{page}");
    assert!(!page.contains("<title>(1)"), "{page}");
    let found = findings(&lab).await;
    assert_eq!((found.len(), &*found[0].0), (1, "note"), "{found:?}");
    let metrics = get(&app, "/metrics").await.body;
    let (what, severity) = (incident.what, incident.severity);
    let of = format!("{{what=\"{what}\",severity=\"{severity}\"}}");
    gauge(&metrics, &format!("jobkit_attention{of} 0"));
    gauge(&metrics, &format!("jobkit_attention_acknowledged{{what=\"{what}\"}} 1"));
    if incident.happen_again(&lab).await {
        let app = dashboard(&lab, Permissions::operator());
        only(&app, incident).await;
    }
}

#[tokio::test]
async fn an_acknowledgement_is_audited_and_can_be_taken_back() {
    let lab = INCIDENTS[0].stage().await;
    let app = dashboard(&lab, Permissions::admin());
    let which = json!({"what": "no_worker", "reason": "the deploy"});
    assert_eq!(act(&app, "acknowledge", &which).await.status, 204);
    let audit = get(&app, "/api/v1/audit").await.body;
    let audit: Value = serde_json::from_str(&audit).unwrap();
    let entry = &audit["items"][0];
    assert_eq!(entry["action"], "acknowledge", "{entry}");
    assert_eq!(entry["subject"], "attention", "{entry}");
    assert_eq!(entry["subject_name"], "no_worker", "{entry}");
    assert_eq!(entry["detail"]["reason"], "the deploy", "{entry}");
    let which = json!({"what": "no_worker"});
    let back = act(&app, "unacknowledge", &which).await.body;
    assert_eq!(back, r#"{"changed":true}"#);
    assert_eq!(overview(&app).await["attention"][0]["what"], "no_worker");
    let which = json!({"what": "no_workers"});
    assert_eq!(act(&app, "acknowledge", &which).await.status, 422);
    // Who may only look sees neither the button nor that there is such a route.
    let app = dashboard(&lab, Permissions::viewer());
    assert!(!get(&app, "/").await.body.contains("Acknowledge"));
    let which = json!({"what": "no_worker"});
    assert_eq!(act(&app, "acknowledge", &which).await.status, 404);
}

#[tokio::test]
async fn what_needs_attention_stands_above_the_charts() {
    let lab = INCIDENTS[0].stage().await;
    let page = get(&dashboard(&lab, Permissions::viewer()), "/").await.body;
    let place = |text| page.find(text).unwrap_or_else(|| panic!("no {text}: {page}"));
    assert!(place("Needs attention") < place("Throughput"), "{page}");
    assert!(page.contains("<title>(1) Overview"), "{page}");
}
