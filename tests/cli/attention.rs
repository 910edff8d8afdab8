//! What needs attention is said by the commands that look at the whole.

use jobkit_tests::incidents::INCIDENTS;

use crate::shell::{json, run};

#[tokio::test]
async fn every_incident_is_named_by_status_and_by_the_doctor() {
    for incident in INCIDENTS {
        let lab = incident.stage().await;
        let status = run(&lab, &["status"]).await.good();
        let doctor = run(&lab, &["doctor"]).await.out;
        for word in incident.words {
            assert!(status.contains(word), "{word}: {status}");
            assert!(doctor.contains(word), "{word}: {doctor}");
        }
        let status = json(&lab, &["status"]).await;
        assert_eq!(status["attention"][0]["what"], incident.what, "{status}");
        assert_eq!(status["attention"].as_array().unwrap().len(), 1, "{status}");
        incident.end(&lab).await;
        let over = json(&lab, &["status"]).await;
        assert_eq!(over["attention"].as_array().unwrap().len(), 0, "{over}");
    }
}

#[tokio::test]
async fn what_needs_attention_is_acknowledged_by_its_name() {
    let late = INCIDENTS.iter().find(|incident| incident.what == "late_queue").unwrap();
    let lab = late.stage().await;
    let listed = run(&lab, &["attention"]).await.good();
    assert!(listed.contains("WARNING late_queue: queue mail is"), "{listed}");
    assert!(listed.contains("acknowledge with: late_queue \"mail\""), "{listed}");
    let acknowledge = ["attention", "acknowledge", "late_queue", "mail", "--reason", "known"];
    run(&lab, &acknowledge).await.good();
    let status = run(&lab, &["status"]).await.good();
    assert!(!status.contains("Needs attention"), "{status}");
    assert!(status.contains("Acknowledged:\n- late_queue: queue mail is"), "{status}");
    let known = json(&lab, &["attention"]).await;
    assert_eq!(known["acknowledged"][0]["acknowledged"]["reason"], "known", "{known}");
    let doctor = run(&lab, &["doctor"]).await.out;
    assert!(doctor.contains("NOTE attention: queue mail is"), "{doctor}");
    run(&lab, &["attention", "unacknowledge", "late_queue", "mail"]).await.good();
    assert!(run(&lab, &["status"]).await.good().contains("Needs attention"));
}

#[tokio::test]
async fn how_late_a_queue_may_be_can_be_said() {
    let late = INCIDENTS.iter().find(|incident| incident.what == "late_queue").unwrap();
    let lab = late.stage().await;
    let status = json(&lab, &["status", "--late-after", "20min"]).await;
    assert_eq!(status["attention"].as_array().unwrap().len(), 0, "{status}");
    assert!(!run(&lab, &["doctor", "--late-after", "20min"]).await.out.contains("14 min"));
}
