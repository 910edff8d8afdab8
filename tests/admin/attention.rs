//! What needs attention is said wherever an operator looks.

use jobkit::Admin;
use jobkit_admin::Permissions;
use jobkit_tests::incidents::INCIDENTS;
use serde_json::Value;

use crate::site::{dashboard, get};

#[tokio::test]
async fn every_incident_is_named_by_the_overview_the_doctor_the_api_and_the_metrics() {
    for incident in &INCIDENTS {
        let lab = incident.stage().await;
        let app = dashboard(&lab, Permissions::viewer());
        let overview = get(&app, "/api/v1/overview").await.body;
        let overview: Value = serde_json::from_str(&overview).unwrap();
        let attention = overview["attention"].as_array().unwrap();
        let [item] = &attention[..] else { panic!("{incident:?}: {attention:?}") };
        assert_eq!(item["what"], incident.what, "{item}");
        let page = get(&app, "/").await.body;
        let diagnosis = Admin::new(lab.pool()).doctor().await.unwrap();
        let found: Vec<_> = diagnosis.findings.into_iter().map(|finding| finding.found).collect();
        for word in incident.words {
            assert!(item["found"].as_str().unwrap().contains(word), "{word}: {item}");
            assert!(page.contains(word), "{word}: {page}");
            assert!(found.iter().any(|found| found.contains(word)), "{word}: {found:?}");
        }
        assert!(item["advice"].as_str().unwrap().len() > 10, "{item}");
        let metrics = get(&app, "/metrics").await.body;
        let gauge = format!("jobkit_attention{{what=\"{}\"}} 1.0\n", incident.what);
        assert!(metrics.contains(&gauge), "{gauge}: {metrics}");
        assert!(metrics.contains("jobkit_attention{what=\"key_at_limit\"} 0.0\n"), "{metrics}");
    }
}

#[tokio::test]
async fn what_needs_attention_stands_above_the_charts() {
    let lab = INCIDENTS[0].stage().await;
    let page = get(&dashboard(&lab, Permissions::viewer()), "/").await.body;
    let place = |text| page.find(text).unwrap_or_else(|| panic!("no {text}: {page}"));
    assert!(place("Needs attention") < place("Throughput"), "{page}");
    assert!(page.contains("<title>(1) Overview"), "{page}");
}
