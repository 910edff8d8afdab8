//! What names the kind and not the type: SQL, operators, schedules.

use axum::http::StatusCode;
use jobkit::Admin;
use jobkit::Enqueue;
use jobkit::admin::dead_letters::{DeadLetterFilter, ReplayError};
use jobkit::admin::schedules::{ScheduleEdit, ScheduledJob};
use jobkit_admin::Permissions;
use jobkit_tests::{Lab, ended};
use serde_json::{Value, json};

use crate::connect::{CANARY, Connect, keyring, nothing_lies_open, ran, turn, worker};
use crate::shell::command;
use crate::site::{dashboard, send};

fn args(account: i64) -> Value {
    serde_json::to_value(Connect::new(account, "finish")).unwrap()
}

#[tokio::test]
async fn sql_takes_no_payload_that_lies_open() {
    let _turn = turn(keyring(&[1])).await;
    let lab = Lab::new().await;
    worker(&lab).await.stop().await;
    let enqueue = async |args: &Value| {
        let mut session = lab.session("producer").await;
        let sql = format!("select jobkit.enqueue('connect', $a${args}$a$)");
        session.value::<i64>(&sql).await
    };
    let error = enqueue(&args(1)).await.unwrap_err();
    let error = error.as_database_error().unwrap();
    assert_eq!(error.code().as_deref(), Some("JK010"));
    assert!(error.message().contains("connect") && !error.message().contains(CANARY));
    let sealed = json!({"jobkit:sealed": "k.AAAA"});
    for (open, refused) in [
        (json!({}), false),
        (json!({"apiToken": null, "cards": [], "note": null}), false),
        (json!({"apiToken": sealed}), false),
        (json!({"apiToken": {"jobkit:sealed": "k.AAAA", "x": 1}}), true),
        (json!({"apiToken": {"jobkit:sealed": 7}}), true),
        (json!({"apiToken": [sealed]}), true),
        (json!({"cards": [{"number": sealed}, {"name": "Ada"}]}), true),
        (json!({"cards": [{"number": sealed}, {}, null]}), false),
        (json!({"cards": sealed}), false),
        (json!({"cards": "4111"}), true),
        (json!({"cards": ["4111"]}), true),
        (json!({"cards": {"numbr": "4111"}}), true),
        (json!(["4111", [{"number": sealed}]]), true),
        (json!([{"apiToken": sealed}]), true),
        (json!("4111"), true),
        (json!({"cards": [{"number": sealed}, {"number": 1}]}), true),
        (json!({"cards": [[{"number": 1}]]}), true),
        (json!({"cards": {"number": 1}}), true),
        (json!({"note": {"text": sealed}}), true),
    ] {
        assert_eq!(enqueue(&open).await.is_err(), refused, "{open}");
    }
}

/// A kind that subscribes encrypts nothing, which the macro sees to. But nobody unsubscribes
/// automatically, so that one which did subscribe may encrypt by now.
#[tokio::test]
async fn what_is_published_lies_open_for_no_kind_that_encrypts() {
    let _turn = turn(keyring(&[1])).await;
    let lab = Lab::new().await;
    worker(&lab).await.stop().await;
    lab.run("insert into jobkit.subscriptions (topic, kind) values ('linked', 'connect')").await;
    let admin = Admin::new(lab.pool());
    let error = admin.topic("linked").publish(&args(1), None).await.unwrap_err().to_string();
    assert!(error.contains("\"connect\"") && error.contains("in plain text"), "{error}");
    assert!(!error.contains(CANARY), "{error}");
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    admin.topic("linked").publish(&json!({"account": 1}), None).await.unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 1);
}

#[tokio::test]
async fn who_has_the_keys_seals_for_operators() {
    let _turn = turn(keyring(&[1])).await;
    let lab = Lab::new().await;
    let running = worker(&lab).await;
    let admin = Admin::new(lab.pool());
    admin.enqueue("connect", args(101)).await.unwrap();
    let app = dashboard(&lab, Permissions::admin());
    let body = json!({"kind": "connect", "args": args(102)}).to_string();
    assert_eq!(send(&app, "/api/v1/jobs", &body).await.status, StatusCode::CREATED);
    // The command line has the keys of its environment, and knows no types.
    let text = args(103).to_string();
    let enqueue = ["enqueue", "connect", &text];
    let refused = ended(&mut command(lab.url(), &enqueue)).await;
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("encrypted"), "{said}");
    let key = "key-1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
    let taken = ended(command(lab.url(), &enqueue).env("JOBKIT_KEYS", key)).await;
    assert!(taken.status.success(), "{taken:?}");
    let job = ScheduledJob::new("connect", args(104));
    admin.schedule("nightly").create("0 3 * * *", job).await.unwrap();
    nothing_lies_open(&lab).await;
    admin.schedule("nightly").run().await.unwrap();
    admin.schedule("nightly").edit(ScheduleEdit::new().args(args(105))).await.unwrap();
    admin.schedule("nightly").run().await.unwrap();
    nothing_lies_open(&lab).await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    running.stop().await;
    assert_eq!([101, 102, 103, 104, 105].map(ran), [1; 5]);
}

#[tokio::test]
async fn a_replay_keeps_what_is_sealed_and_seals_what_is_new() {
    let _turn = turn(keyring(&[1])).await;
    let lab = Lab::new().await;
    Connect::new(110, "fail").enqueue(lab.pool()).await.unwrap();
    let running = worker(&lab).await;
    let admin = Admin::new(lab.pool());
    lab.until("count(*) = 1 from jobkit.dead_letters").await;
    let id = admin.dead_letters(&DeadLetterFilter::all(), None, 1).await.unwrap().entries[0].id;
    let letter = admin.dead_letter(id).get().await.unwrap().unwrap();
    assert!(letter.args.is_redacted());
    let mut edited: Value = serde_json::from_str(letter.args.reveal()).unwrap();
    let hidden: Value = serde_json::from_str(&letter.args.redacted()).unwrap();
    assert!(admin.dead_letter(id).replay().args(hidden).await.is_err());
    edited["act"] = "finish".into();
    edited["account"] = 111.into();
    edited["cards"][1]["number"] = crate::connect::NUMBER.into();
    admin.dead_letter(id).replay().args(edited).await.unwrap();
    nothing_lies_open(&lab).await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    running.stop().await;
    assert_eq!(ran(111), 1);
    nothing_lies_open(&lab).await;
    // The function itself, which other programs may call.
    lab.run("update jobkit.dead_letters set state = 'open'").await;
    let mut session = lab.session("other").await;
    let sql = format!("select job_id from jobkit.replay({}, p_args => $a${}$a$)", id.0, args(1));
    let error = session.value::<i64>(&sql).await.unwrap_err();
    assert_eq!(error.as_database_error().unwrap().code().as_deref(), Some("JK010"));
    let missing: Result<_, ReplayError> =
        admin.dead_letter(id).replay().args(json!({"account": "x"})).await;
    assert!(matches!(missing, Err(ReplayError::Undecodable(_))), "{missing:?}");
}
