//! Neither what is sealed nor its ciphertext is anywhere where somebody looks.

use jobkit::admin::audit::AuditFilter;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterId};
use jobkit::admin::schedules::ScheduledJob;
use jobkit::{Admin, Enqueue, JobId};
use jobkit_admin::Permissions;
use jobkit_tests::{Lab, Log, ended};

use crate::connect::{Connect, keyring, tells, turn, worker};
use crate::shell::command;
use crate::site::{dashboard, get};

/// The pages and documents that have, or could have, something of a payload.
fn paths(job: i64, live: i64, letter: i64) -> Vec<String> {
    let plain = [
        "/",
        "/jobs",
        "/jobs?q=kind:connect",
        "/dead",
        "/dead/entries",
        "/dead/export",
        "/audit",
        "/schedules",
        "/schedules/schedule?name=nightly",
        "/schedules/change?name=nightly",
        "/kinds",
        "/kinds/kind?kind=connect",
        "/operations",
        "/system",
        "/metrics",
        "/workers",
        "/queues",
        "/api/v1/overview",
        "/api/v1/jobs",
        "/api/v1/dead-letters",
        "/api/v1/dead-letters/groups",
        "/api/v1/audit",
        "/api/v1/schedules",
        "/api/v1/schedules/schedule?name=nightly",
        "/api/v1/kinds",
    ];
    let of = [
        format!("/jobs/{job}"),
        format!("/jobs/{live}"),
        format!("/dead/{letter}"),
        format!("/api/v1/jobs/{job}"),
        format!("/api/v1/jobs/{live}"),
        format!("/api/v1/dead-letters/{letter}"),
    ];
    plain.map(str::to_owned).into_iter().chain(of).collect()
}

/// The ciphertexts that are stored, without their keys.
async fn ciphertexts(lab: &Lab) -> Vec<String> {
    lab.value(
        r#"select array_agg(m[1]) from (
            select args::text from jobkit.jobs union all select args::text from jobkit.finished
            union all select args::text from jobkit.dead_letters
            union all select args::text from jobkit.schedules
        ) a (args), regexp_matches(a.args, '"key-1\.([A-Za-z0-9_-]{20})', 'g') m"#,
    )
    .await
}

/// From now on everything is logged, and kept.
fn listen() -> Log {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    log
}

/// An ended job, a live one and a dead letter, in a lab with a schedule and an audit as well.
async fn scene(lab: &Lab, admin: &Admin) -> (JobId, JobId, DeadLetterId) {
    let jobs = ["fail", "panic", "discard", "finish"].map(|act| Connect::new(300, act));
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let running = worker(lab).await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    let args = serde_json::to_value(Connect::new(301, "finish")).unwrap();
    let job = ScheduledJob::new("connect", args.clone());
    admin.schedule("nightly").create("0 3 * * *", job).await.unwrap();
    // An act whose entry in the audit has the payload.
    let letters = admin.dead_letters(&DeadLetterFilter::all(), None, 9).await.unwrap().entries;
    admin.dead_letter(letters[0].id).replay().args(args).await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    running.stop().await;
    let live = Connect::new(302, "finish").enqueue(lab.pool()).await.unwrap();
    (ids[0], live, letters[1].id)
}

#[tokio::test]
async fn neither_secrets_nor_ciphertext_are_shown_logged_or_measured() {
    let _turn = turn(keyring(&[1])).await;
    let (log, lab) = (listen(), Lab::new().await);
    let admin = Admin::new(lab.pool()).acting_as("ada");
    let (job, live, letter) = scene(&lab, &admin).await;
    let ciphertexts = ciphertexts(&lab).await;
    assert!(ciphertexts.len() > 20, "{ciphertexts:?}");
    let shows = |text: &str| {
        tells(text) || ciphertexts.iter().any(|ciphertext| text.contains(ciphertext.as_str()))
    };
    assert!(shows(&format!("x{}y", ciphertexts[0])) && shows(crate::connect::CANARY));
    let app = dashboard(&lab, Permissions::admin());
    let mut shown = 0;
    for path in paths(job.0, live.0, letter.0) {
        let reply = get(&app, &path).await;
        assert!(reply.status.is_success(), "{path}: {}", reply.status);
        assert!(!shows(&reply.body), "{path}: {}", reply.body);
        shown += usize::from(reply.body.contains("•••"));
    }
    assert!(shown > 6, "hardly a page shows a payload at all: {shown}");
    let page = get(&app, &format!("/dead/{}", letter.0)).await.body;
    assert!(!page.contains("name=\"args\""), "the form of what is hidden: {page}");
    for args in commands(job.0, live.0, letter.0) {
        for args in [args.clone(), [args, vec!["--json".to_owned()]].concat()] {
            let out = said(&lab, &args).await;
            assert!(!out.is_empty() && !shows(&out), "{args:?}: {out}");
        }
    }
    // Whoever may see everything sees ciphertext, and no more.
    let id = letter.0.to_string();
    let reveal = ["--reveal", "dead", "show", &id].map(str::to_owned);
    let out = said(&lab, &reveal).await;
    assert!(out.contains("jobkit:sealed") && !tells(&out), "{out}");
    let seen = format!(
        "{:?} {:?} {:?} {:?}",
        admin.dead_letter(letter).get().await.unwrap(),
        admin.job(live).get().await.unwrap(),
        admin.job(live).explain().await.unwrap(),
        admin.audit(&AuditFilter::all(), None, 50).await.unwrap(),
    );
    assert!(!shows(&seen), "{seen}");
    let log = log.text();
    assert!(log.contains("jobkit.run") && log.contains("attempt failed"), "{log}");
    assert_eq!(log.lines().find(|line| shows(line)), None);
}

/// The commands that show something of a payload, or could.
fn commands(job: i64, live: i64, letter: i64) -> Vec<Vec<String>> {
    let all = format!(
        "jobs show {job}|jobs show {live}|jobs list|jobs explain {live}|dead list|\
         dead show {letter}|schedules show nightly|status|doctor|reseal --dry-run"
    );
    let words = |command: &str| command.split(' ').map(str::to_owned).collect();
    all.split('|').map(words).collect()
}

/// What a command writes.
async fn said(lab: &Lab, args: &[String]) -> String {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = ended(&mut command(lab.url(), &args)).await;
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}
