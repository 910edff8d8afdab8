//! What a kind redacts is shown nowhere, and what it encrypts lies nowhere: values that are easily
//! found go through everything that jobs can become, and are looked for wherever something is shown
//! or stored.

use std::time::Duration;

use axum::Router;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterId};
use jobkit::admin::schedules::{ScheduleEdit, ScheduledJob};
use jobkit::chunk::{ChunkJob, Member};
use jobkit::policy::encryption::{self, Keyring};
use jobkit::report::AttemptLog;
use jobkit::schedule::Schedule;
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, Registration, WorkerHandle, job};
use jobkit_admin::{Access, Dashboard, Permissions, Redaction, routes};
use jobkit_tests::{Lab, Log, ended};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::process::Command;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use crate::encoded::{encoded, middle};
use crate::live;
use crate::site::{filled, get, post};

/// What is looked for: the same in every escape.
const CANARY: &str = "4711470815";

/// The same, in a field that is encrypted.
const SECRET: &str = "8150741174";

/// Columns of payloads and results, where it may be.
const PAYLOADS: [&str; 7] = [
    "jobs.args",
    "finished.args",
    "finished.result",
    "dead_letters.args",
    "schedules.args",
    "audit.detail",
    "steps.value",
];

fn token() -> String {
    format!("tok\"en\u{200b} <{CANARY}>")
}

fn secret() -> String {
    format!("sec\"ret <{SECRET}>")
}

/// Says what it knows, in the way that it is told.
#[derive(Serialize, Deserialize, Clone)]
#[job(kind = "canary", max_attempts = 2, backoff = fixed("1ms"), retention = "1h",
    result = Receipt, redact(token), encrypt(secret))]
struct Sing {
    token: String,
    secret: String,
    how: How,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum How {
    Fail,
    Encode,
    Panic,
    Die,
    Discard,
    Return,
    Wait,
}

#[derive(Serialize, Deserialize)]
struct Receipt {
    token: String,
}

impl Job for Sing {
    async fn run(self, cx: JobContext) -> jobkit::Result<Receipt> {
        let Self { token, secret, how } = self;
        tracing::info!(token, secret, "singing {token} {secret}");
        cx.progress(1, 2, &format!("sang {token} {secret}"));
        cx.checkpoint(&token).await?;
        match how {
            How::Fail => Err(anyhow::anyhow!("{token:?} is wrong").context(secret).into()),
            How::Encode => {
                let texts = [encoded(&token), encoded(&secret)].concat();
                texts.iter().for_each(|text| tracing::info!("{text}"));
                cx.progress(1, 2, &texts[8]);
                Err(texts.join("\n").into())
            }
            How::Panic => panic!("no {token} and no {secret}"),
            How::Die => Err(JobError::dead(format!("{token} is dead, {secret:?} as well"))),
            How::Discard => Err(JobError::discard(token + &secret)),
            How::Return => Ok(Receipt { token }),
            How::Wait => {
                cx.cancelled().await;
                Err((token + &secret).into())
            }
        }
    }
}

/// Says what one of them knows, as the error of all.
#[derive(Serialize, Deserialize)]
#[job(
    kind = "canaries",
    chunk = 2,
    linger = "1s",
    max_attempts = 1,
    redact(token),
    encrypt(secret)
)]
struct Chorus {
    token: String,
    secret: String,
}

impl ChunkJob for Chorus {
    async fn run(chunk: Vec<Member<Self>>) -> jobkit::Result {
        let known = chunk.iter().find(|member| member.token.contains(CANARY));
        Err(known.map_or_else(String::new, |member| member.token.clone() + &member.secret).into())
    }
}

fn sing(how: How) -> Sing {
    Sing { token: token(), secret: secret(), how }
}

/// What this thread logs, but for what the handlers here log, which is their own.
fn logged() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let targets = Targets::new().with_default(LevelFilter::TRACE);
    let targets = targets.with_target(module_path!(), LevelFilter::OFF);
    let lines = layer().with_ansi(false).with_writer(log.clone());
    let all = tracing_subscriber::registry().with(lines.with_filter(targets));
    (log, tracing::subscriber::set_default(all.with(AttemptLog::new())))
}

/// Jobs in every state, with all that they say; the worker still runs one of them.
async fn world(lab: &Lab) -> WorkerHandle {
    use How::{Die, Discard, Encode, Fail, Panic, Return, Wait};
    let pool = lab.pool();
    let undecodable = sing(Fail).enqueue(pool).await.unwrap();
    let args = json!({ "token": { "x": token() }, "how": "Fail" });
    let update = "update jobkit.jobs set args = $1 where id = $2";
    sqlx::query(update).bind(args).bind(undecodable.0).execute(pool).await.unwrap();
    for how in [Fail, Encode, Panic, Die, Discard, Return, Wait] {
        sing(how).enqueue(pool).await.unwrap();
    }
    for token in [token(), "another token".to_owned()] {
        Chorus { token, secret: secret() }.enqueue(pool).await.unwrap();
    }
    sing(Return).options().after(Duration::from_secs(3600)).enqueue(pool).await.unwrap();
    let jobs = [Registration::of::<Sing, _>(), Registration::of_chunk::<Chorus, _>()];
    let worker = lab.worker().heartbeat(Duration::from_millis(50)).jobs(jobs);
    let worker = worker.queue("default", 9).schedule("nightly", "@daily", sing(Return));
    let worker = worker.start().await.unwrap();
    lab.until("count(*) = 7 from jobkit.dead_letters").await;
    lab.until("count(*) = 2 from jobkit.finished").await;
    lab.until("count(distinct job_id) >= 7 from jobkit.reports where lines is not null").await;
    operate(&Admin::new(pool).acting_as("ada")).await;
    worker
}

/// What operators do with payloads.
async fn operate(admin: &Admin) {
    let later = json!({ "token": token(), "secret": secret(), "how": "Wait" });
    let at = chrono::Utc::now() + Duration::from_secs(3600);
    admin.enqueue("canary", later.clone()).at(at).await.unwrap();
    let by_hand = ScheduledJob::new("canary", later.clone());
    admin.schedule("by hand").create(Schedule::new("@daily"), by_hand).await.unwrap();
    admin.schedule("by hand").edit(ScheduleEdit::new().args(later.clone())).await.unwrap();
    let kind = DeadLetterFilter::all().kind("canary");
    let letters = admin.dead_letters(&kind, None, 9).await.unwrap().entries;
    let ids: Vec<DeadLetterId> = letters.iter().map(|letter| letter.id).collect();
    admin.dead_letter(ids[0]).replay().args(later).await.unwrap();
    admin.dead_letter(ids[1]).discard().await.unwrap();
}

/// The columns of jobkit's tables in which this text is.
pub(crate) async fn stored(lab: &Lab, text: &str) -> Vec<String> {
    let columns: Vec<(String, String)> = sqlx::query_as(
        "select c.relname::text, a.attname::text from pg_class c join pg_attribute a
            on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition order by 1, a.attnum",
    )
    .fetch_all(lab.direct())
    .await
    .unwrap();
    let mut found = Vec::new();
    for (table, column) in columns {
        let such =
            format!("select exists (select from jobkit.{table} where {column}::text like $1)");
        let such = sqlx::query_scalar(sqlx::AssertSqlSafe(such)).bind(format!("%{text}%"));
        if such.fetch_one(lab.direct()).await.unwrap() {
            found.push(format!("{table}.{column}"));
        }
    }
    found
}

/// What would give the values away in other encodings; none of it is stored but in payloads.
async fn encoded_nowhere(lab: &Lab) -> Vec<String> {
    let texts = [encoded(&token()), encoded(&secret())].concat();
    let middles: Vec<String> = texts.iter().map(|text| middle(text)).collect();
    for text in &middles {
        let found = stored(lab, text).await;
        assert!(found.iter().all(|column| PAYLOADS.contains(&&**column)), "{text}: {found:?}");
    }
    middles
}

/// What is sealed, without the key's id, as far as it is enough to find it.
async fn ciphertexts(lab: &Lab) -> Vec<String> {
    lab.value(
        r#"select array_agg(distinct m[1]) from (
            select args::text from jobkit.jobs union all select args::text from jobkit.finished
            union all select args::text from jobkit.dead_letters
            union all select args::text from jobkit.schedules
        ) a (args), regexp_matches(a.args, '"key-1\.([A-Za-z0-9_-]{20})', 'g') m"#,
    )
    .await
}

/// What the dashboard answers to everything that can be got, and ends: pages, JSON, the export,
/// metrics.
pub(crate) async fn served(app: &Router, lab: &Lab) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for route in routes().filter(|route| route.method == "GET" && route.path != "/events") {
        let ids = match route.path {
            path if !path.contains('{') => "select null::text".to_owned(),
            path if path.contains("/jobs/") => "select id::text from jobkit.jobs union
                select job_id::text from jobkit.finished union
                select job_id::text from jobkit.dead_letters"
                .to_owned(),
            path if path.contains("dead") => "select id::text from jobkit.dead_letters".to_owned(),
            path if path.contains("/workers/") => {
                "select to_hex(id) from jobkit.workers".to_owned()
            }
            _ => continue,
        };
        let ids: Vec<Option<String>> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(ids)).fetch_all(lab.direct()).await.unwrap();
        let query = "?limit=500&queue=default&kind=canary&group=canary&verb=replay&name=by%20hand";
        paths.extend(ids.iter().map(|id| match id {
            Some(id) => filled(route.path, id),
            None => format!("{}{query}", route.path),
        }));
    }
    let whole = ["/audit", "/api/v1/audit", "/jobs?state=ready", "/jobs?state=finished"];
    paths.extend(whole.map(str::to_owned));
    let mut served = Vec::new();
    for path in paths {
        let reply = get(app, &path).await;
        assert!(!reply.status.is_server_error(), "{path}: {}", reply.body);
        served.push((path, reply.body));
    }
    served
}

/// What the stream of a page says of a change.
async fn streamed(app: &Router, lab: &Lab) -> (String, String) {
    let mut stream = live::listen(app).await;
    sing(How::Wait).options().after(Duration::from_secs(3600)).enqueue(lab.pool()).await.unwrap();
    post(app, "/limits/pause", "scope=queue&name=elsewhere").await;
    let told = tokio::time::timeout(Duration::from_secs(30), live::next(&mut stream)).await;
    let told = told.unwrap();
    assert!(told.contains("changed"), "{told}");
    ("/events".to_owned(), told)
}

/// What the command line prints, with these words before each command.
async fn printed(lab: &Lab, words: &[&str]) -> String {
    let ids = |from: &'static str| async move {
        lab.value::<Vec<i64>>(&format!("select array_agg({from}")).await
    };
    let mut commands = vec![
        "jobs list".to_owned(),
        "dead list".to_owned(),
        "dead groups".to_owned(),
        "schedules list".to_owned(),
    ];
    let jobs = [ids("id) from jobkit.jobs").await, ids("job_id) from jobkit.finished").await];
    commands.extend(jobs.concat().iter().map(|id| format!("jobs show {id}")));
    let dead = ids("id) from jobkit.dead_letters").await;
    commands.extend(dead.iter().map(|id| format!("dead show {id}")));
    let mut printed = String::new();
    for command in commands {
        let mut run = Command::new(env!("CARGO_BIN_EXE_jobkit-cli"));
        run.env("DATABASE_URL", lab.url()).args(words).args(command.split(' '));
        let output = ended(&mut run).await;
        assert!(output.status.success(), "{command}: {output:?}");
        printed.push_str(&String::from_utf8_lossy(&output.stdout));
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    printed
}

/// The dashboard, for whoever may see so much of payloads.
fn dashboard(lab: &Lab, redaction: Redaction) -> Router {
    let access = Access::new("alice", Permissions::admin()).redaction(redaction);
    let access = move |_| {
        let access = access.clone();
        async move { Ok::<_, axum::http::StatusCode>(access) }
    };
    Dashboard::new(Admin::new(lab.pool())).access(access).into_router()
}

#[tokio::test]
async fn what_is_redacted_is_shown_nowhere_and_what_is_encrypted_lies_nowhere() {
    encryption::keys(Keyring::new("key-1", *b"only a test: one of many letters").unwrap());
    // With a single subscriber the threads of other tests decide what is logged.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let (log, _logged) = logged();
    let lab = Lab::new().await;
    let worker = world(&lab).await;

    let stored = stored(&lab, CANARY).await;
    let elsewhere = stored.iter().filter(|column| !PAYLOADS.contains(&&***column));
    assert_eq!(elsewhere.collect::<Vec<_>>(), Vec::<&String>::new(), "{stored:?}");
    assert_eq!(stored.len(), PAYLOADS.len(), "it is in all payloads: {stored:?}");

    assert_eq!(self::stored(&lab, SECRET).await, Vec::<String>::new());

    let tells = |served: &[(String, String)], texts: &[String]| -> Vec<String> {
        let tells = |body: &str| texts.iter().any(|text| body.contains(text.as_str()));
        served.iter().filter(|(_, body)| tells(body)).map(|(path, _)| path.clone()).collect()
    };
    let middles = encoded_nowhere(&lab).await;
    let sealed = ciphertexts(&lab).await;
    assert!(sealed.len() > 10, "{sealed:?}");
    let all = [vec![CANARY.to_owned(), SECRET.to_owned()], sealed.clone(), middles].concat();
    let app = dashboard(&lab, Redaction::Marked);
    let mut marked = served(&app, &lab).await;
    marked.push(streamed(&app, &lab).await);
    assert_eq!(tells(&marked, &all), Vec::<String>::new());
    let whole = served(&dashboard(&lab, Redaction::Nothing), &lab).await;
    // Who sees everything sees ciphertext.
    assert_eq!(tells(&whole, &all[1..2]), Vec::<String>::new());
    assert!(!tells(&whole, &sealed).is_empty());
    let shown = tells(&whole, &all[..1]);
    for place in ["/jobs/", "/dead/", "/dead/export", "/schedules/", "/audit", "/api/v1/"] {
        assert!(shown.iter().any(|path| path.starts_with(place)), "{place} shows it: {shown:?}");
    }
    for form in [&[][..], &["--json"]] {
        let printed = ("printed".to_owned(), printed(&lab, form).await);
        assert_eq!(tells(&[printed], &all), Vec::<String>::new(), "{form:?}");
    }
    let revealed = printed(&lab, &["--reveal"]).await;
    assert!(revealed.contains(CANARY) && !revealed.contains(SECRET));
    worker.stop().await;
    let log = log.text();
    for said in ["jobkit: attempt failed", "a dead letter", "•••"] {
        assert!(log.contains(said), "{said}: {log}");
    }
    let lines: Vec<_> = log.lines().map(|line| (line.to_owned(), line.to_owned())).collect();
    assert_eq!(tells(&lines, &all), Vec::<String>::new());
}
