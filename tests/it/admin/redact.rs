//! What a kind redacts is shown to nobody who did not ask for it by name; and all that is known of
//! one job.

use jobkit::admin::dead_letters::{DeadLetterFilter, ReplayError};
use jobkit::admin::jobs::{JobQuery, Listing, State};
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::kit::{Desk, WORKER};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[job(redact(api_token, card.number), max_attempts = 1, retention = "1h")]
struct Charge {
    api_token: String,
    card: Card,
    cents: i64,
}

#[derive(Serialize, Deserialize)]
struct Card {
    number: u64,
    name: String,
}

const TOKEN: &str = "tok\"en-4711471147";
const NUMBER: u64 = 4_111_111_111_111_111;

impl Charge {
    fn new(cents: i64) -> Self {
        let card = Card { number: NUMBER, name: "Ada".to_owned() };
        Self { api_token: TOKEN.to_owned(), card, cents }
    }
}

impl Job for Charge {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        let text =
            format!("{} and {:?} refused {}", self.api_token, self.api_token, self.card.number);
        match self.cents {
            0 => panic!("{text}"),
            1 => Err(JobError::discard(text)),
            _ => Err(text.into()),
        }
    }
}

const SHOWN: &str = r#"{"card": {"name": "Ada", "number": "•••"}, "cents": 2, "apiToken": "•••"}"#;

fn tells(text: &str) -> bool {
    ["4711471147", "41111111"].iter().any(|secret| text.contains(secret))
}

/// A lab in which a worker has run these.
async fn ran(cents: impl IntoIterator<Item = i64>) -> (Lab, Admin) {
    let lab = Lab::new().await;
    let jobs = cents.into_iter().map(Charge::new);
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = lab.worker().jobs([Registration::of::<Charge, _>()]).queue("default", 4);
    let worker = worker.start().await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert!(!ids.is_empty());
    let admin = Admin::new(lab.pool());
    (lab, admin)
}

/// Enqueues a job of a kind that nobody has announced.
async fn unknown(lab: &Lab, args: &str) -> i64 {
    lab.value(&format!(
        "with job as (
            insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at, args)
            values ('nobodys', 'default', 0, 3, now(), now(), '{args}') returning *
        ), now_ready as (
            insert into jobkit.ready (queue, priority, job_id, kind)
            select queue, priority, id, kind from job
        ) select id from job"
    ))
    .await
}

#[tokio::test]
async fn no_error_shows_what_is_redacted() {
    let (lab, admin) = ran([0, 1, 2]).await;
    for from in [
        "error || errors::text from jobkit.dead_letters where args->>'cents' = '2'",
        "error || errors::text from jobkit.dead_letters where args->>'cents' = '0'",
        "reason from jobkit.finished",
    ] {
        let error: String = lab.value(&format!("select {from}")).await;
        assert!(error.contains("••• and \"•••\" refused •••") || error.contains("refused •••"));
        assert!(!tells(&error), "{error}");
    }
    let page = admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap();
    assert!(!tells(&format!("{page:?}")));
    // A value that does not decode would be quoted.
    let id = page.entries[0].id;
    let args =
        json!({"apiToken": {"x": TOKEN}, "card": {"number": 41111111, "name": ""}, "cents": 1});
    lab.run(&format!("update jobkit.dead_letters set args = '{args}'")).await;
    admin.dead_letter(id).replay().await.unwrap();
    let worker = lab.worker().jobs([Registration::of::<Charge, _>()]).queue("default", 4);
    let worker = worker.start().await.unwrap();
    lab.until("count(*) = 1 from jobkit.dead_letters where reason = 'undecodable'").await;
    worker.stop().await;
    let error: String =
        lab.value("select error from jobkit.dead_letters where reason = 'undecodable'").await;
    assert!(error.contains("does not decode at `apiToken`: •••") && !tells(&error), "{error}");
    match admin.dead_letter(id).replay().args(json!({"apiToken": 4711471147_i64})).await {
        Err(ReplayError::Undecodable(error)) => assert!(!tells(&error), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nobody_is_shown_what_is_redacted_unless_he_asks_for_it() {
    let (lab, admin) = ran([2]).await;
    let redact: Vec<String> = lab.value("select redact from jobkit.kinds").await;
    assert_eq!(redact, ["apiToken", "api_token", "card.number"]);
    let page = admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap();
    let letter = admin.dead_letter(page.entries[0].id).get().await.unwrap().unwrap();
    assert_eq!(letter.args.redacted(), SHOWN);
    assert!(letter.args.reveal().contains("4111111111111111") && letter.args.is_redacted());
    let job = admin.job(letter.job).get().await.unwrap().unwrap();
    assert_eq!((job.summary.state, job.dead_letter), (State::Dead, Some(page.entries[0].id)));
    assert_eq!(job.args, letter.args);
    assert_eq!(job.attempts.len(), 1);
    assert!(!tells(&format!("{job:?} {letter:?}")));
    admin.dead_letter(page.entries[0].id).discard().await.unwrap();
    let audit =
        admin.audit(&jobkit::admin::audit::AuditFilter::all(), None, 1).await.unwrap().entries;
    assert!(!tells(&format!("{audit:?}")), "{audit:?}");
    assert!(audit[0].args.as_ref().unwrap().reveal().contains("4711471147"));
    assert!(!tells(&format!("{:?}", Charge::new(1).options())));
}

#[tokio::test]
async fn a_search_says_when_it_passes_over_what_is_redacted() {
    let (lab, admin) = ran([1]).await;
    unknown(&lab, r#"{"a": 1}"#).await;
    for (words, withheld) in [
        ("args.cents:3", false),
        ("kind:charge", false),
        ("kind:charge args.cents:3", false),
        ("kind:charge args.cents:3 args.apiToken:x", true),
        ("args.card:x", true),
        ("kind:unknown args.a:1", true),
        ("kind:unknown", false),
    ] {
        let mut query: JobQuery = words.parse().unwrap();
        let page = admin.jobs(&query, None, 10).await.unwrap();
        assert_eq!(page.withheld, withheld, "{words}");
        query.reveal = true;
        assert!(!admin.jobs(&query, None, 10).await.unwrap().withheld, "{words}");
    }
}

#[tokio::test]
async fn nothing_is_found_by_what_is_redacted_unless_that_is_asked_for() {
    let (lab, admin) = ran([1]).await;
    Charge::new(3).enqueue(lab.pool()).await.unwrap();
    unknown(&lab, r#"{"a": 1}"#).await;
    let found = async |words: &str, reveal: bool| {
        let mut found = 0;
        for listing in [Listing::Live, Listing::Finished] {
            let mut query: JobQuery = words.parse().unwrap();
            (query.listing, query.reveal) = (listing, reveal);
            found += admin.count_jobs(&query).await.unwrap().number();
        }
        found
    };
    for (words, shown, revealed) in [
        ("args.cents:3", 1, 1),
        ("args.card.name:Ada", 2, 2),
        (r#"args.apiToken:"tok\"en-4711471147""#, 0, 2),
        ("args.card.number:4111111111111111", 0, 2),
        (r#"args.card:"{\"name\": \"Ada\", \"number\": 4111111111111111}""#, 0, 2),
        ("args.a:1", 0, 1),
    ] {
        assert_eq!(found(words, false).await, shown, "{words}");
        assert_eq!(found(words, true).await, revealed, "{words}, revealed");
    }
    let hides = |path: &str| format!("select jobkit.hides('{{cards.number,token}}', '{path}')");
    for (path, hidden) in [
        ("token", true),
        ("tokens", false),
        ("token.a", true),
        ("cards.0.number", true),
        ("cards.-1.number", true),
        ("cards. +0.number.x", true),
        ("cards", true),
        ("cards.name", false),
        ("0.token", true),
        ("0", true),
        ("", true),
    ] {
        assert_eq!(lab.value::<bool>(&hides(path)).await, hidden, "{path}");
    }
}

#[tokio::test]
async fn of_a_kind_that_nobody_has_announced_only_keys_are_shown() {
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool());
    let id = unknown(&lab, r#"{"a": [1, {"b": "c"}]}"#).await;
    let job = admin.job(jobkit::JobId(id)).get().await.unwrap().unwrap();
    assert_eq!(job.args.redacted(), r#"{"a": ["•••", {"b": "•••"}]}"#);
    assert_eq!(job.args.reveal(), r#"{"a": [1, {"b": "c"}]}"#);
}

#[tokio::test]
async fn one_job_is_told_of_wherever_it_is() {
    let desk = Desk::new().await;
    let (n, job) = desk.running("a").await;
    let at = desk.admin.job(job).get().await.unwrap().unwrap();
    assert_eq!((at.summary.state, at.summary.worker), (State::Running, Some(WORKER)));
    assert!(at.permit_since.is_some() && at.summary.since.is_some());
    desk.settle(n, job, "retry").await;
    desk.lab.run("update jobkit.jobs set metadata = '{\"n\": 12345678901234567890}'").await;
    let at = desk.admin.job(job).get().await.unwrap().unwrap();
    assert_eq!((at.permit_since, at.attempts.len()), (None, 1));
    assert_eq!((at.attempts[0].attempt, &*at.attempts[0].error), (1, "why"));
    assert_eq!(at.metadata.unwrap().redacted(), r#"{"n": 12345678901234567890}"#);
    desk.admin.job(job).discard("no need").await.unwrap();
    let at = desk.admin.job(job).get().await.unwrap().unwrap();
    assert_eq!((at.summary.state, at.reason.as_deref()), (State::Finished, Some("no need")));
    assert!(at.expires_at.is_some() && at.attempts.len() == 1);
    let (n, job) = desk.running("b").await;
    desk.settle(n, job, "bury").await;
    let at = desk.admin.job(job).get().await.unwrap().unwrap();
    let letter = at.dead_letter.unwrap();
    let replay = desk.admin.dead_letter(letter).replay().await.unwrap();
    assert_eq!(desk.admin.job(job).get().await.unwrap().unwrap().replayed_by, Some(replay));
    assert_eq!(desk.admin.job(replay).get().await.unwrap().unwrap().replays, Some(letter));
    assert!(desk.admin.job(jobkit::JobId(-1)).get().await.unwrap().is_none());
}
