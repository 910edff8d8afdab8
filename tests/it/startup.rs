//! What a worker checks before it starts, and what it says about it.

use std::time::{Duration, Instant};

use jobkit::admin::AdminError;
use jobkit::enqueue::EnqueueError;
use jobkit::error::{DatabaseError, MigrateError, SchemaError, StartError};
use jobkit::policy::{Concurrency, Policy, QueueLimit};
use jobkit::{Admin, Enqueue, Job, JobContext, JobType, Registration, Worker, enqueue_all};
use jobkit_tests::{Lab, Log, wait};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tracing::Level;

use crate::jobs::{self, Act, Noop, Then};

struct Mailer;
struct Printer;

/// Jobs that contradict each other are declared by hand, so that they are not linked into the
/// registry of this whole binary.
macro_rules! job {
    ($name:ident, $state:ty, $policy:expr) => {
        #[derive(Serialize, Deserialize)]
        struct $name;

        impl JobType for $name {
            type Output = ();
            const POLICY: Policy = $policy;
        }

        impl Job<$state> for $name {
            async fn run(self, _cx: JobContext<$state>) -> jobkit::Result {
                Ok(())
            }
        }
    };
}

const fn team(kind: &'static str, limit: u32) -> Policy {
    Policy { concurrency: Some(Concurrency { group: "team", limit }), ..Policy::new(kind) }
}

job!(Mails, Mailer, Policy::new("mails"));
job!(Prints, Printer, Policy::new("prints"));
job!(One, (), Policy::new("the_same"));
job!(Two, (), Policy::new("the_same"));
job!(TeamOfTwo, (), team("team_of_two", 2));
job!(TeamOfThree, (), team("team_of_three", 3));
job!(Hasty, (), Policy { priority: -4, max_attempts: 0, ..Policy::new("hasty") });

fn flawed(pool: &PgPool) -> Worker {
    let jobs = [
        Registration::of::<Mails, _>(),
        Registration::of::<Prints, _>(),
        Registration::of::<One, _>(),
        Registration::of::<Two, _>(),
        Registration::of::<TeamOfTwo, _>(),
        Registration::of::<TeamOfThree, _>(),
        Registration::of::<Hasty, _>(),
    ];
    let worker = Worker::new(pool.clone()).jobs(jobs).state(1_u8).state(2_u8);
    let worker = worker.queue("mail", 0).queue("mail", 10_001).queue("", 1);
    worker.lease(Duration::from_millis(999)).heartbeat(Duration::from_secs(1)).poll(Duration::ZERO)
}

async fn problems(worker: Worker) -> Vec<String> {
    match worker.start().await {
        Err(StartError::Problems(problems)) => problems.iter().map(str::to_owned).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_serves_no_more_queues_than_a_call_can_ask() {
    let lab = Lab::new().await;
    let worker = Worker::new(lab.pool().clone()).jobs([Registration::of::<Noop, _>()]);
    let problems =
        problems((0..501).fold(worker, |worker, n| worker.queue(format!("q{n}"), 1))).await;
    let expected = "501 queues are served; at most 500 are allowed: start more workers";
    assert_eq!(problems, [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_server_would_refuse_is_named_before_it_is_asked() {
    let lab = Lab::guarded().await;
    for (name, expected) in [
        ("", "the worker's name has 0 bytes; 1 to 128 are allowed"),
        ("a\0b", "the worker's name contains a NUL character"),
        (&*"n".repeat(129), "the worker's name has 129 bytes; 1 to 128 are allowed"),
    ] {
        let worker = noop_worker(&lab).queue("ma\0il", 1).name(name);
        let problems = problems(worker.limit_queue("b\0x", QueueLimit::new())).await;
        assert!(problems[0].contains(expected), "{problems:?}");
        for (problem, queue) in problems[1..].iter().zip([r#""ma\0il""#, r#""b\0x""#]) {
            assert!(problem.contains(&format!("{queue} contains a NUL")), "{problems:?}");
        }
        assert_eq!(problems.len(), 3, "{problems:?}");
    }
    noop_worker(&lab).name("n".repeat(128)).start().await.unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_gap_is_named_at_once() {
    let lab = Lab::empty().await;
    let problems = problems(flawed(lab.pool())).await;
    let expected = [
        "the state `u8` was given twice",
        "`Worker::lease` is",
        "at most half the lease",
        "`Worker::poll` is 0ns; 1ms to 86400s are allowed",
        "the queue `mail` was given twice",
        "the queue `mail` has a concurrency of 0",
        "the queue `mail` has a concurrency of 10001",
        "the queue name `` must have 1 to 128 bytes",
        "job `mails` needs the state `it::startup::Mailer`: set it with `Worker::state`, or run \
         only other jobs, with `Worker::only` or `Worker::jobs`",
        "job `prints` needs the state `it::startup::Printer`",
        "job `hasty`: the priority -4 must be −3 to 3",
        "job `hasty`: the 0 attempts must be 1 to 1000",
        "the kind `the_same` is claimed by `it::startup::One` and `it::startup::Two`",
        "group `team` has limit 3 in job `team_of_three` and 2 in job `team_of_two`",
        "this database has no jobkit schema; run `jobkit::migrate(&pool)` first",
    ];
    for text in expected {
        assert_eq!(
            problems.iter().filter(|problem| problem.contains(text)).count(),
            1,
            "{text}: {problems:#?}"
        );
    }
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_queues_or_jobs_says_so() {
    let lab = Lab::guarded().await;
    let problems = problems(lab.worker().jobs([])).await;
    assert!(problems[0].contains("no queue is served: add `.queue("), "{problems:?}");
    assert!(problems[1].contains("no job is linked into this binary"), "{problems:?}");
    assert_eq!(lab.count("jobkit.workers").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_runs_only_the_jobs_that_are_named() {
    let lab = Lab::guarded().await;
    for (worker, kinds) in [
        (lab.worker().only::<Noop>(), "{noop}"),
        (lab.worker().state(lab.pool().clone()).only::<(Act, Noop)>(), "{act,noop}"),
    ] {
        let worker = worker.queue("default", 1).start().await.unwrap();
        assert_eq!(lab.value::<String>("select kinds::text from jobkit.workers").await, kinds);
        worker.stop().await;
    }
    let problems = problems(lab.worker().only::<(Act, Mails)>().queue("default", 1)).await;
    assert!(problems[0].contains("`it::startup::Mails` has no `#[jobkit::job]`"), "{problems:?}");
    assert!(problems[1].contains("job `act` needs the state"), "{problems:?}");
    assert_eq!(problems.len(), 2, "{problems:?}");
}

fn noop_worker(lab: &Lab) -> Worker {
    lab.worker().jobs([Registration::of::<Noop, _>()]).queue("default", 1)
}

/// What a start has against the schema.
fn unfit(error: &StartError) -> Option<&SchemaError> {
    match error {
        StartError::Database(DatabaseError::Schema(error)) => Some(error),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_must_fit_the_binary() {
    let lab = Lab::empty().await;
    let start = async || noop_worker(&lab).start().await;
    let error = start().await.unwrap_err();
    assert_eq!(unfit(&error), Some(&SchemaError::Missing), "{error}");

    jobkit::migrate(lab.pool()).await.unwrap();
    let version: i32 = lab.value("select max(version) from jobkit._migrations").await;
    lab.run("create table kept as select * from jobkit._migrations").await;
    lab.run(&format!("delete from jobkit._migrations where version = {version}")).await;
    let older: i32 = lab.value("select max(version) from jobkit._migrations").await;
    let error = start().await.unwrap_err();
    let expected = SchemaError::Older { found: older, needed: version };
    assert_eq!(unfit(&error), Some(&expected), "{error}");
    assert!(error.to_string().contains("jobkit::migrate"), "{error}");

    let newer = version + 3;
    let note = |readable_by| {
        format!(
            "delete from jobkit._migrations; insert into jobkit._migrations table kept;
            insert into jobkit._migrations values ({newer}, 'later', 'x', {readable_by})"
        )
    };
    lab.run(&note(newer)).await;
    let error = start().await.unwrap_err();
    let expected = SchemaError::Newer { found: newer, known: version };
    assert_eq!(unfit(&error), Some(&expected), "{error}");
    let error = jobkit::migrate(lab.pool()).await.unwrap_err();
    let MigrateError::Database(DatabaseError::Schema(error)) = error else { panic!("{error}") };
    assert_eq!(error, expected);

    lab.run(&note(version)).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    start().await.unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_and_producers_are_refused_where_the_schema_does_not_fit() {
    let lab = Lab::new().await;
    let (looks, admin) =
        (async |admin: &Admin| admin.kinds().await.map(drop), Admin::new(lab.pool()));
    let unfit = async |pool: &PgPool| match looks(&Admin::new(pool)).await {
        Err(AdminError::Database(DatabaseError::Schema(error))) => error,
        other => panic!("{other:?}"),
    };
    looks(&admin).await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    let newer = "insert into jobkit._migrations values (999, 'later', 'x', 999)";
    lab.run(newer).await;
    let refused = unfit(lab.pool()).await;
    assert!(matches!(refused, SchemaError::Newer { found: 999, .. }), "{refused:?}");
    let diagnosed = Admin::new(lab.pool());
    assert_eq!(diagnosed.doctor().await.unwrap().schema, 999, "the doctor looks all the same");
    assert!(looks(&diagnosed).await.is_err(), "and nobody works on its connection");
    // What a set does that takes other enqueues only.
    let drop = "drop function jobkit.enqueue_form_1()";
    lab.run(drop).await;
    let one = Noop.enqueue(lab.pool()).await.unwrap_err();
    let many = enqueue_all([Noop, Noop], lab.pool()).await.unwrap_err();
    for error in [&one, &many] {
        use EnqueueError as E;
        let is_unfit = matches!(error, E::Database(DatabaseError::Schema(SchemaError::Unfit)));
        assert!(is_unfit, "{error}");
    }
    assert!(one.to_string().contains("newer jobkit"), "{one}");
    assert_eq!(lab.count("jobkit.jobs").await, 1);
    lab.run("delete from jobkit._migrations where version > 4").await;
    let refused = unfit(lab.pool()).await;
    assert!(matches!(refused, SchemaError::Older { found: 4, .. }), "{refused:?}");
    let none = Lab::empty().await;
    assert_eq!(unfit(none.pool()).await, SchemaError::Missing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_quoted_and_nothing_else() {
    let lab = Lab::empty().await;
    let options = (*lab.pool().connect_options()).clone();
    let nowhere = PgPoolOptions::new().connect_lazy_with(options.database("nosuchdb"));
    let worker = Worker::new(nowhere.clone()).jobs([Registration::of::<Noop, _>()]);
    let errors = [
        Admin::new(&nowhere).overview().await.unwrap_err().to_string(),
        jobkit::migrate(&nowhere).await.unwrap_err().to_string(),
        worker.queue("default", 1).start().await.unwrap_err().to_string(),
        Noop.enqueue(&nowhere).await.unwrap_err().to_string(),
    ];
    for text in errors {
        assert!(text.contains("database \"nosuchdb\" does not exist"), "{text}");
        assert!(!text.contains("at line") && !text.contains("error returned"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_server_is_said_to_be_so_in_time() {
    // One port that nobody listens on, and one that accepts and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ports = [closed.local_addr().unwrap().port(), silent.local_addr().unwrap().port()];
    drop(closed);
    for port in ports {
        let options = PgConnectOptions::new().host("127.0.0.1").port(port).username("nobody");
        let pool = PgPoolOptions::new().connect_lazy_with(options);
        let began = Instant::now();
        let worker = Worker::new(pool).jobs([Registration::of::<Noop, _>()]).queue("default", 1);
        let error = worker.call_deadline(Duration::from_secs(1)).start().await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        assert!(matches!(error, StartError::Database(DatabaseError::Unreachable(_))), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("check that it runs and that the address is right"), "{text}");
    }
}

/// How many warnings contain this.
fn warned(log: &Log, text: &str) -> usize {
    log.lines(text).iter().filter(|line| line.contains("WARN")).count()
}

#[tokio::test]
async fn waiting_jobs_of_an_unserved_queue_are_mentioned() {
    let (log, _guard) = Log::listen(Level::INFO);
    let lab = Lab::guarded().await;
    for queue in ["default", "forgotten", "elsewhere"] {
        Noop.options().queue(queue).enqueue(lab.pool()).await.unwrap();
    }
    let other = lab.worker().jobs([Registration::of::<Act, _>()]).state(lab.pool().clone());
    let other = other.queue("elsewhere", 1).start().await.unwrap();
    let before = warned(&log, "forgotten");
    let worker = noop_worker(&lab).start().await.unwrap();
    assert_eq!((before, warned(&log, "forgotten")), (1, 2));
    assert_eq!(warned(&log, "queue=\"elsewhere\" jobkit: jobs wait in a queue"), 0);
    assert_eq!(warned(&log, "synchronous_commit"), 0);
    worker.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn of_many_unserved_queues_and_unknown_kinds_a_few_are_named() {
    let (log, _guard) = Log::listen(Level::INFO);
    let lab = Lab::guarded().await;
    let jobs = (0..25).map(|n| Act::then(Then::Succeed).options().queue(format!("q{n}")));
    jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = noop_worker(&lab).start().await.unwrap();
    assert_eq!(warned(&log, "jobs wait in a queue that no worker serves"), 10);
    assert_eq!(warned(&log, "in more queues that no worker serves queues=15"), 1);
    worker.stop().await;
    let worker = noop_worker(&lab).queue("q*", 1).start().await.unwrap();
    let counted = "of more kinds, versions and queues are left alone more=15";
    wait(Duration::from_secs(30), counted, async || warned(&log, counted) == 1).await;
    assert_eq!(warned(&log, "this binary does not know are left alone"), 10);
    worker.stop().await;
}

#[tokio::test]
async fn unknown_kinds_are_mentioned_once_and_left_alone() {
    let (log, _guard) = Log::listen(Level::INFO);
    let lab = Lab::guarded().await;
    let strange = (0..5).map(|_| Act::then(Then::Succeed));
    jobkit::enqueue_all(strange, lab.pool()).await.unwrap();
    let worker = noop_worker(&lab).start().await.unwrap();
    let mentioned = "job.kind=\"act\" job.version=1 queue=\"default\"";
    wait(Duration::from_secs(30), mentioned, async || warned(&log, mentioned) == 1).await;
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs where kind = 'noop')").await;
    worker.stop().await;
    assert_eq!(warned(&log, "act"), 1);
    assert_eq!(
        warned(&log, "their crate may not be linked: mention it with `use my_jobs as _;`"),
        1
    );
    assert_eq!(lab.count("jobkit.ready where kind = 'act'").await, 5);
}

#[tokio::test]
async fn a_pool_that_does_not_come_about_says_why_in_a_sentence() {
    let lab = Lab::guarded().await;
    let pool = jobkit::connect(lab.url()).await.unwrap();
    Noop.enqueue(&pool).await.unwrap();
    let name: String = lab.value("select current_database()").await;
    for (url, why) in [
        (lab.url().replace(&name, "no_such"), "database \"no_such\" does not exist; check"),
        ("postgres://127.0.0.1:1/x".to_owned(), "cannot reach PostgreSQL (Connection refused"),
        ("localhost".to_owned(), "this is not a database address"),
    ] {
        let error = jobkit::connect(&url).await.unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("at line"), "{error}");
    }
}

/// Its crate is mentioned: another version of it is known.
#[tokio::test]
async fn an_unknown_version_of_a_known_kind_is_no_forgotten_crate() {
    let (log, _guard) = Log::listen(Level::INFO);
    let lab = Lab::guarded().await;
    noop_worker(&lab).start().await.unwrap().stop().await;
    lab.run("select jobkit.enqueue('noop', p_version => 7)").await;
    let worker = noop_worker(&lab).start().await.unwrap();
    let mentioned = "job.kind=\"noop\" job.version=7 queue=\"default\" known=[1]";
    wait(Duration::from_secs(30), mentioned, async || warned(&log, mentioned) == 1).await;
    worker.stop().await;
    assert_eq!(warned(&log, "leave a newer one to the binary that enqueued it"), 1);
    assert_eq!(warned(&log, "use my_jobs"), 0);
}

#[tokio::test]
async fn commits_that_may_be_lost_are_mentioned() {
    let (log, _guard) = Log::listen(Level::INFO);
    let lab = Lab::guarded().await;
    let name: String = lab.value("select current_database()").await;
    lab.run(&format!("alter database {name} set synchronous_commit = off")).await;
    noop_worker(&lab).start().await.unwrap().stop().await;
    assert_eq!(warned(&log, "synchronous_commit=\"off\""), 1);
    assert_eq!(warned(&log, "turn synchronous_commit on"), 1);
}

/// A role of its own for one test, and a pool that connects as it.
pub(crate) async fn least_privilege(lab: &Lab) -> (String, PgPool) {
    let role = format!("jobkit_test_{:016x}", fastrand::u64(..));
    lab.run(&format!(
        "create role {role} login;
        grant usage on schema jobkit to {role};
        grant select, insert, update, delete on all tables in schema jobkit to {role};
        grant usage on all sequences in schema jobkit to {role};
        grant execute on all routines in schema jobkit to {role};"
    ))
    .await;
    let options: PgConnectOptions = lab.url().parse().unwrap();
    (role.clone(), PgPool::connect_with(options.username(&role)).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_create_nothing_can_do_everything_else() {
    let lab = Lab::guarded().await;
    lab.run(jobs::EFFECTS).await;
    let (role, pool) = least_privilege(&lab).await;
    lab.run(&format!("grant insert on effects to {role}")).await;
    let denied = sqlx::query("create table jobkit.mine ()").execute(&pool).await.unwrap_err();
    assert_eq!(denied.as_database_error().unwrap().code().unwrap(), "42501");

    jobkit::migrate(&pool).await.unwrap();
    let worker = Worker::new(pool.clone()).state(pool.clone()).jobs(jobs::all());
    let worker = worker.poll(Duration::from_millis(200)).queue("default", 5).start().await.unwrap();
    for then in [Then::Succeed, Then::FailTimes(1), Then::Dead, Then::SnoozeTimes(1)] {
        Act::then(then).enqueue(&pool).await.unwrap();
    }
    lab.until("count(*) = 3 from jobkit.finished").await;
    lab.until("count(*) = 1 from jobkit.dead_letters").await;
    worker.stop().await;
    pool.close().await;
    assert_eq!(lab.count("jobkit.workers").await, 0);
    lab.check_invariants().await;
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}

/// Without a policy there is nothing to be seen, and no error that says so.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_may_be_hidden_are_an_error() {
    let lab = Lab::guarded().await;
    let (role, pool) = least_privilege(&lab).await;
    let start = async || {
        let worker = Worker::new(pool.clone()).jobs([Registration::of::<Noop, _>()]);
        worker.queue("default", 1).start().await
    };
    lab.run(
        "alter table jobkit.jobs enable row level security;
        alter table jobkit.ready enable row level security;
        create policy everything on jobkit.ready using (true)",
    )
    .await;
    let refused = start().await.unwrap_err();
    assert!(
        matches!(&refused, StartError::RowSecurity { tables } if tables == "jobs"),
        "{refused:?}"
    );
    let everything = format!("create policy everything on jobkit.jobs to {role} using (true)");
    for (change, starts) in [
        ("create policy inserts on jobkit.jobs for insert with check (true)", false),
        (&everything, true),
        ("create policy few on jobkit.jobs as restrictive using (id > 0)", false),
        ("drop policy few on jobkit.jobs", true),
        ("drop policy everything on jobkit.jobs", false),
        (&format!("alter role {role} bypassrls"), true),
    ] {
        lab.run(change).await;
        match start().await {
            Ok(worker) if starts => worker.stop().await,
            answer => assert!(!starts && answer.is_err(), "{change}: {answer:?}"),
        }
    }
    pool.close().await;
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}
