//! A new key takes the place of an old one.

use jobkit::admin::audit::AuditFilter;
use jobkit::admin::encryption::SealedWith;
use jobkit::admin::schedules::ScheduledJob;
use jobkit::policy::encryption::{self, Keyring};
use jobkit::{Admin, Enqueue};
use jobkit_tests::{Lab, ended};
use serde_json::Value;

use crate::connect::{Connect, found_in, keyring, nothing_lies_open, ran, turn, worker};
use crate::shell::command;

/// One job that waits, one dead letter and one schedule, sealed with key 7.
async fn stored() -> (Lab, Admin) {
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool()).acting_as("ada");
    Connect::new(200, "fail").enqueue(lab.pool()).await.unwrap();
    let worker = worker(&lab).await;
    lab.until("count(*) = 1 from jobkit.dead_letters").await;
    worker.stop().await;
    Connect::new(201, "finish").enqueue(lab.pool()).await.unwrap();
    let args = serde_json::to_value(Connect::new(202, "finish")).unwrap();
    let job = ScheduledJob::new("connect", args);
    admin.schedule("nightly").create("0 3 * * *", job).await.unwrap();
    (lab, admin)
}

fn counts(sealed: &[SealedWith]) -> Vec<(&str, u64, u64, u64)> {
    sealed.iter().map(|s| (&*s.key, s.jobs, s.dead_letters, s.schedules)).collect()
}

#[tokio::test]
async fn resealing_moves_everything_that_may_run_to_the_new_key() {
    let _turn = turn(keyring(&[7])).await;
    // Other tests have run some of the same.
    let accounts = [200, 201, 202, 203];
    let before = accounts.map(ran);
    let (lab, admin) = stored().await;
    encryption::keys(keyring(&[8, 7]));
    Connect::new(203, "finish").enqueue(lab.pool()).await.unwrap();
    let sealed = admin.sealed(None).await.unwrap();
    assert_eq!(counts(&sealed), [("key-7", 1, 1, 1), ("key-8", 1, 0, 0)]);
    assert!(admin.sealed(Some("other")).await.unwrap().is_empty());
    let mut seen = 0;
    let other = admin.reseal().kind("other").await.unwrap();
    assert_eq!((other.jobs, other.dead_letters, other.schedules, other.left), (0, 0, 0, 0));
    let done = admin.reseal().progress(|_| seen += 1).await.unwrap();
    assert_eq!((&*done.key, done.jobs, done.dead_letters, done.schedules), ("key-8", 1, 1, 1));
    assert_eq!((done.left, &done.why, seen), (0, &None, 3));
    let again = admin.reseal().await.unwrap();
    assert_eq!((again.jobs, again.dead_letters, again.schedules, again.left), (0, 0, 0, 0));
    assert_eq!(counts(&admin.sealed(None).await.unwrap()), [("key-8", 2, 1, 1)]);
    let audit = admin.audit(&AuditFilter::all().action("reseal"), None, 10).await.unwrap();
    assert_eq!(audit.entries.len(), 3);
    assert_eq!(audit.entries[0].actor.as_deref(), Some("ada"));
    // The old key is gone.
    encryption::keys(keyring(&[8]));
    let dead: i64 = lab.value("select id from jobkit.dead_letters").await;
    lab.run(&format!("select jobkit.replay({dead})")).await;
    admin.schedule("nightly").run().await.unwrap();
    let worker = worker(&lab).await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    let runs: Vec<_> =
        accounts.map(ran).iter().zip(before).map(|(all, before)| all - before).collect();
    assert_eq!(runs, [4, 1, 1, 1]);
    nothing_lies_open(&lab).await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn what_cannot_be_opened_is_left_and_said() {
    let _turn = turn(keyring(&[7])).await;
    let lab = Lab::new().await;
    Connect::new(210, "finish").enqueue(lab.pool()).await.unwrap();
    encryption::keys(Keyring::new("new", *b"only a test: one of many letters").unwrap());
    let done = Admin::new(lab.pool()).reseal().await.unwrap();
    assert_eq!((done.jobs, done.left), (0, 1));
    assert!(done.why.unwrap().contains("sealed with the key `key-7`"));
    assert!(found_in(&lab, "key-7.").await.contains(&"jobs".to_owned()));
}

#[tokio::test]
async fn the_command_line_counts_and_reseals() {
    let _turn = turn(keyring(&[7])).await;
    let (lab, _) = stored().await;
    let old = "key-7:BwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSY=";
    let new = "key-8:CAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJic=";
    let run = async |args: &[&str], keys: &str| {
        let mut command = command(lab.url(), args);
        command.env_remove("JOBKIT_KEYS");
        if !keys.is_empty() {
            command.env("JOBKIT_KEYS", keys);
        }
        let output = ended(&mut command).await;
        let [out, err] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code().unwrap(), out, err)
    };
    let (code, out, _) = run(&["reseal", "--dry-run", "--json"], "").await;
    let counted: Value = serde_json::from_str(&out).unwrap();
    let expected =
        serde_json::json!({"key": "key-7", "jobs": 1, "dead_letters": 1, "schedules": 1});
    assert_eq!((code, &counted["items"][0]), (0, &expected));
    let (code, _, err) = run(&["reseal"], "").await;
    assert!(code == 2 && err.contains("set JOBKIT_KEYS"), "{err}");
    let (code, _, err) = run(&["status"], "secret").await;
    assert!(code == 2 && err.contains("entry 1") && !err.contains("secret"), "{err}");
    let (code, out, _) = run(&["reseal"], new).await;
    assert!(code == 1 && out.contains("Not resealed: 3"), "{out}");
    let both = format!("{old},{new}");
    let (code, _, err) = run(&["reseal", "--to", "nobody's"], &both).await;
    assert!(code == 2 && err.contains("no key has the id"), "{err}");
    let (code, out, err) = run(&["reseal", "--to", "key-8"], &both).await;
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("key-8: 1 jobs, 1 dead letters, 1 schedules"), "{out}");
    let (_, out, _) = run(&["reseal", "--dry-run"], "").await;
    assert!(out.contains("key-8") && !out.contains("key-7"), "{out}");
}
