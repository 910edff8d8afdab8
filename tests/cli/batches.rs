//! Batches on the command line.

use jobkit_tests::Lab;
use serde_json::json;

use crate::one_batch::{close, end, open};
use crate::shell::{json, run};

#[tokio::test]
async fn batches_are_listed_shown_and_searched() {
    let lab = Lab::new().await;
    let (first, second) = (open(&lab, 3).await, open(&lab, 0).await);
    let job: i64 = lab.value("select min(id) from jobkit.jobs where kind = 'page'").await;
    end(&lab, job, "bury").await;
    close(&lab, second).await;
    lab.run("select jobkit.look_at_batches(100)").await;
    let list = run(&lab, &["batches"]).await.good();
    assert!(list.contains("STATE") && list.contains("ended"), "{list}");
    let ids = async |args: &[&str]| {
        let list = json(&lab, args).await;
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["batches"]).await, [second, first]);
    assert_eq!(ids(&["batches", "--open"]).await, [first]);
    let page = json(&lab, &["batches", "--limit", "1"]).await;
    assert_eq!(ids(&["batches", "--after", page["next"].as_str().unwrap()]).await, [first]);
    let id = first.to_string();
    let shown = run(&lab, &["batch", &id]).await.good();
    for words in ["2 of 3", "dead letters", "or_else", "merge", "scheduled"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(json(&lab, &["batch", &id]).await["callbacks"][0]["role"], "then");
    assert_eq!(ids(&["batches", "members", &id]).await.len(), 3);
    assert_eq!(ids(&["batches", "members", &id, "--only", "dead"]).await, [job]);
    let members = run(&lab, &["batches", "members", &id, "--limit", "1"]).await.good();
    assert!(members.contains("no such page") && members.contains("--after"), "{members}");
    assert_eq!(ids(&["jobs", "list", &format!("batch:{id}")]).await.len(), 2);
    let member = run(&lab, &["jobs", "show", &(job + 1).to_string()]).await.good();
    assert!(member.contains("batch"), "{member}");
    assert!(run(&lab, &["batch", "404"]).await.bad(1).contains("there is no batch 404"));
    assert!(run(&lab, &["batches", "members", "404"]).await.bad(1).contains("no batch 404"));
    run(&lab, &["batches", "members", &id, "--only", "ready"]).await.bad(2);
}

#[tokio::test]
async fn a_batch_is_cancelled_only_with_consent() {
    let lab = Lab::new().await;
    let batch = open(&lab, 3).await;
    let id = batch.to_string();
    let would = run(&lab, &["batches", "cancel", &id]).await;
    assert_eq!(would.code, 1, "{would:?}");
    assert!(would.err.contains("--yes"), "{would:?}");
    assert!(would.out.contains(&format!("3 members of batch {id} would be")), "{would:?}");
    assert_eq!(lab.count("jobkit.operations").await, 0);
    let args = ["batches", "cancel", &id, "--yes", "--reason", "a wrong import"];
    let ended = json(&lab, &args).await;
    assert_eq!((&ended["state"], &ended["done"]), (&json!("done"), &json!(3)));
    assert_eq!((&ended["actor"], &ended["reason"]), (&json!("ada"), &json!("a wrong import")));
    lab.run("select jobkit.look_at_batches(100)").await;
    assert_eq!(json(&lab, &["batch", &id]).await["state"], "cancelled");
    assert!(run(&lab, &args).await.bad(1).contains("already ended"));
    assert!(run(&lab, &["batches", "cancel", "404"]).await.bad(1).contains("no batch 404"));
}
