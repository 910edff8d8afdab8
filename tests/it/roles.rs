//! Each role of the database does its work, and nothing else.

mod hostile;
mod refused;
mod rights;

use std::time::Duration;

use jobkit::admin::Admin;
use jobkit::admin::audit::AuditFilter;
use jobkit::admin::batches::{BatchCancelled, BatchQuery, Members};
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::limits::{Change, LimitFilter, To};
use jobkit::admin::measures::MeasureFilter;
use jobkit::admin::semaphores::SemaphoreFilter;
use jobkit::enqueue::Topic;
use jobkit::enqueue::wait::WaitError;
use jobkit::error::{DatabaseError, MigrateError};
use jobkit::unique::{Enqueued, OnDuplicate};
use jobkit::{Batch, Enqueue, Job, JobContext, JobError, Registration, Worker, job};
use jobkit_tests::{Lab, Roles};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPool;

/// What no viewer may see.
const SECRET: &str = "canary-of-the-payload";

/// Fails as often as it is told to.
#[derive(Serialize, Deserialize, Clone)]
#[job(
    kind = "of_roles",
    max_attempts = 2,
    backoff = fixed("1ms"),
    retention = "1h",
    concurrency_key = self.account,
    concurrency_limit = 1
)]
struct Pay {
    account: i64,
    secret: String,
    fails: u32,
}

impl Job for Pay {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if cx.snoozes() == 0 && self.account == 3 {
            return Err(JobError::snooze(Duration::from_millis(1)));
        }
        if cx.attempt() <= self.fails { Err("no money".into()) } else { Ok(()) }
    }
}

/// A topic, and who subscribes.
#[derive(Serialize, Deserialize)]
struct Paid {
    order: i64,
}

impl Topic for Paid {
    const NAME: &'static str = "paid.of_roles";
}

#[derive(Serialize, Deserialize)]
#[job(kind = "receipt_of_roles", subscribes, retention = "1h")]
struct Receipt(Paid);

impl Job for Receipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        if self.0.order == 7 { Ok(()) } else { Err(JobError::dead("another order")) }
    }
}

fn pay(account: i64, fails: u32) -> Pay {
    Pay { account, secret: SECRET.to_owned(), fails }
}

async fn produce(pool: &PgPool) {
    let minute = Duration::from_secs(60);
    let first = pay(1, 0).enqueue(pool).await.unwrap();
    let all = [pay(1, 1), pay(2, 9), pay(3, 0)];
    assert_eq!(jobkit::enqueue_all(all, pool).await.unwrap().len(), 3);
    pay(4, 0).options().after(minute).enqueue(pool).await.unwrap();
    let unique = || pay(5, 0).options().after(minute).unique_key("k");
    let one = unique().enqueue_unique(pool).await.unwrap();
    assert!(matches!(one, Enqueued::New(id) if id > first));
    assert_eq!(unique().enqueue_unique(pool).await.unwrap(), Enqueued::Existing(one.id()));
    let replace = unique().on_duplicate(OnDuplicate::Replace);
    let many = [replace, pay(6, 0).options()];
    let many = jobkit::enqueue::enqueue_all_unique(many, pool).await.unwrap();
    assert!(matches!(many[..], [Enqueued::Replaced(id), Enqueued::New(_)] if id == one.id()));
    let now = pay(7, 0).options().unique_key("now");
    assert!(matches!(now.enqueue_unique(pool).await, Ok(Enqueued::New(_))));
    pay(8, 0).options().coalesce_key("c").enqueue(pool).await.unwrap();
    assert_eq!(Paid { order: 7 }.publish(pool).await.unwrap().len(), 1);
    let hour = Duration::from_secs(3600);
    let later = |account| pay(account, 0).options().after(hour);
    let mut connection = pool.acquire().await.unwrap();
    let batch = Batch::of([later(12)]).then(pay(14, 0)).open(&mut connection).await.unwrap();
    assert_eq!(batch.add([later(13)], &mut connection).await.unwrap().len(), 1);
    batch.close(&mut connection).await.unwrap();
    // To wait for a job is to look at it.
    let waited = pay(11, 0).enqueue_and_wait(pool, Duration::from_secs(1)).await;
    assert!(matches!(waited, Err(WaitError::TimedOut { .. })), "{waited:?}");
    let call = "select jobkit.enqueue('of_roles', '{\"account\": 9, \"secret\": \"\", \
        \"fails\": 0}', p_concurrency_key => '9', p_tags => '{sql}', p_unique_key => 'sql')";
    for _ in 0..2 {
        sqlx::query(call).execute(pool).await.unwrap();
    }
}

/// As after an upgrade: all functions are made anew, and are the owner's.
async fn migrate(roles: &Roles) {
    let Roles { lab, prefix } = roles;
    let database: String = lab.value("select current_database()::text").await;
    let login = format!("{prefix}migrator_login in database {database}");
    lab.run(&format!("alter role {login} set role = '{prefix}owner'")).await;
    let all = "pg_proc where pronamespace = 'jobkit'::regnamespace";
    let owned = format!("{all} and proowner = '{prefix}owner'::regrole");
    let functions = lab.count(&owned).await;
    lab.run("delete from jobkit._migrations where name = 'functions'").await;
    jobkit::migrate(&roles.pool("migrator")).await.unwrap();
    assert_eq!(lab.count("jobkit._migrations where name = 'functions'").await, 1);
    assert_eq!(lab.count(&owned).await, functions);
    assert_eq!(lab.count(all).await, functions, "all are the owner's");
    for role in ["producer", "worker", "viewer", "operator"] {
        assert!(jobkit::migrate(&roles.pool(role)).await.is_ok(), "{role}: there is nothing to do");
        lab.run("delete from jobkit._migrations where name = 'functions'").await;
        let refused = jobkit::migrate(&roles.pool(role)).await.unwrap_err();
        assert!(
            matches!(refused, MigrateError::Database(DatabaseError::Failed(_))),
            "{role}: {refused}"
        );
        jobkit::migrate(&roles.pool("migrator")).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_does_its_work_alone() {
    let roles = Roles::new(Lab::new().await).await;
    let lab = &roles.lab;
    migrate(&roles).await;

    let jobs = [Registration::of::<Pay, _>(), Registration::of::<Receipt, _>()];
    let worker = Worker::new(roles.pool("worker")).jobs(jobs);
    let worker = worker.poll(Duration::from_millis(100)).lease(Duration::from_secs(2));
    let worker = worker.queue("default", 5).schedule("hourly", "@hourly", pay(10, 0));
    let worker = worker.start().await.unwrap();
    produce(&roles.pool("producer")).await;
    lab.until("not exists (select from jobkit.jobs j where j.run_at < now() + '30 s')").await;
    assert_eq!(lab.count("jobkit.dead_letters").await, 1);
    assert!(lab.count("jobkit.finished where outcome = 'finish'").await >= 6);

    operate(&Admin::new(&roles.pool("operator")).acting_as("olga")).await;
    // What operators asked for, done by the worker.
    lab.until("not exists (select from jobkit.operations where state in ('pending', 'running'))")
        .await;
    look(&Admin::new(&roles.pool("viewer"))).await;
    // The duties of a worker, at whatever time they would come.
    let mut session = lab.session("duties").await;
    session.run(&format!("set role {}worker", roles.prefix)).await.unwrap();
    for duty in ["finished_prepare(20)", "sweep('{}', '{}', 1)"] {
        let _of_any_form = session.run(&format!("select jobkit.{duty}")).await;
    }
    session.run("select jobkit.finished_prepare(20)").await.unwrap();
    session.run("select jobkit.prune_audit('1 y', 10)").await.unwrap();
    worker.stop().await;
    lab.check_invariants().await;
    drop(session);
    roles.end().await;
}

/// What an operator does.
async fn operate(admin: &Admin) {
    look_of(admin, true).await;
    admin.acting_as("olga").queue("default").pause("a test").await.unwrap();
    admin.queue("default").resume().await.unwrap();
    let kind = admin.kind("of_roles");
    kind.pause("a test").await.unwrap();
    let _ = kind.set(&Change::new().running(5)).await.unwrap();
    let _ = kind.set(&Change::new().running(To::Reset)).await.unwrap();
    kind.resume().await.unwrap();
    let _known = admin.group("of_roles").set(&Change::new().running(2)).await.unwrap();
    let _known = admin.key("of_roles", "1").set(&Change::new().running(3)).await.unwrap();
    let _known = admin.key("of_roles", "1").pause_for(Duration::from_secs(1), "").await.unwrap();
    admin.key("of_roles", "1").resume().await.unwrap();
    admin.schedule("hourly").pause("a test").await.unwrap();
    admin.schedule("hourly").resume().await.unwrap();
    admin.schedule("hourly").run().await.unwrap();
    let found = admin.jobs(&"state:scheduled".parse().unwrap(), None, 10).await.unwrap();
    let [first, second, ..] = &found.jobs[..] else { panic!("{found:?}") };
    admin.job(first.id).reschedule(None).await.unwrap();
    admin.job(second.id).cancel().await.unwrap();
    let dead = admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap();
    admin.cause(&dead.entries[0].fingerprint).note("known").await.unwrap();
    admin.dead_letter(dead.entries[0].id).replay().await.unwrap();
    let batches = admin.batches(BatchQuery::all().open(), None, 10).await.unwrap();
    let cancelled = admin.batch(batches[0].id).cancel("a test").await.unwrap();
    assert!(matches!(cancelled, BatchCancelled::By(_)), "{cancelled:?}");
}

/// What a viewer sees: all, but no payload.
async fn look(admin: &Admin) {
    look_of(admin, false).await;
}

async fn look_of(admin: &Admin, payloads: bool) {
    let mut seen = String::new();
    let mut see = |what: String| seen.push_str(&what);
    see(format!("{:?}", admin.overview().await.unwrap()));
    see(format!("{:?}", admin.doctor().await.unwrap()));
    see(format!("{:?}", admin.queues().await.unwrap()));
    let batches = admin.batches(BatchQuery::all(), None, 10).await.unwrap();
    let batch = admin.batch(batches[0].id);
    see(format!("{:?}", batch.get().await.unwrap()));
    see(format!("{:?}", batch.members(Members::All, None, 10).await.unwrap()));
    see(format!("{:?}", admin.kinds().await.unwrap()));
    see(format!("{:?}", admin.limits(&LimitFilter::all()).await.unwrap()));
    see(format!("{:?}", admin.workers().await.unwrap()));
    see(format!("{:?}", admin.key("of_roles", "1").get().await.unwrap()));
    see(format!("{:?}", admin.semaphores(&SemaphoreFilter::all(), None, 9).await.unwrap()));
    see(format!("{:?}", admin.semaphore("of_roles", "1").await.unwrap()));
    see(format!("{:?}", admin.schedules("", 10).await.unwrap()));
    see(format!("{:?}", admin.schedule("hourly").get().await.unwrap().unwrap().args.reveal()));
    see(format!("{:?}", admin.audit(&AuditFilter::all(), None, 99).await.unwrap()));
    let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
    see(format!("{:?}", admin.measures(&MeasureFilter::all(), hour, minute).await.unwrap()));
    see(format!("{:?}", admin.dead_letter_groups(10).await.unwrap()));
    see(format!("{:?}", admin.violations().await.unwrap()));
    let dead = admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap();
    for entry in dead.entries {
        let entry = admin.dead_letter(entry.id).get().await.unwrap().unwrap();
        see(format!("{:?} {}", entry, entry.args.reveal()));
    }
    for state in ["live", "ready", "scheduled", "running", "finished", "cancelled"] {
        let query: JobQuery = format!("state:{state}").parse().unwrap();
        for job in admin.jobs(&query, None, 20).await.unwrap().jobs {
            let detail = admin.job(job.id).get().await.unwrap().unwrap();
            see(format!("{:?} {}", detail, detail.args.reveal()));
            see(format!("{:?}", admin.job(job.id).explain().await.unwrap()));
        }
        admin.count_jobs(&query).await.unwrap();
    }
    let search = format!("state:finished args.secret:{SECRET}");
    let found = admin.jobs(&search.parse().unwrap(), None, 20).await.unwrap();
    assert_eq!(found.jobs.is_empty(), !payloads, "{found:?}");
    assert_eq!(seen.contains(SECRET), payloads, "{seen}");
}
