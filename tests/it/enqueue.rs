//! Enqueueing: every executor and option, what is refused before it is sent, and the SQL function.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use jobkit::enqueue::{EnqueueError, Pending};
use jobkit::error::{DatabaseError, InvalidValue, SchemaError};
use jobkit::policy::Policy;
use jobkit::{Enqueue, Job, JobContext, JobType, Registration, enqueue_all, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use sqlx::postgres::PgListener;
use sqlx::{Connection, PgConnection, PgPool};

use crate::jobs::{self, Act, EFFECTS, Noop, Then};

/// Records what its context says.
#[derive(Serialize, Deserialize, Debug)]
#[job(max_attempts = 7, retention = "1h")]
struct Look {
    text: String,
}

impl Job<PgPool> for Look {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let metadata = cx.metadata().map(RawValue::get);
        let seen = json!([self.text, cx.queue(), cx.max_attempts(), cx.tags(), metadata]);
        jobs::trace(&cx, &seen.to_string()).await
    }
}

fn look(text: impl Into<String>) -> Pending<Look> {
    Look { text: text.into() }.options()
}

/// Limited by its text.
#[derive(Serialize, Deserialize)]
#[job(queue = "keyed", priority = -1, concurrency_key = self.0.replace("NUL", "\0"))]
struct Keyed(String);

impl Job for Keyed {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Its failures share a dead letter.
#[derive(Serialize, Deserialize)]
#[job(
    dead_letter_key = self.0.as_ref().map(|key| key.replace("NUL", "\0")),
    auto_replay = "1h",
    max_cycles = 5,
)]
struct Shared(Option<String>);

impl Job for Shared {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// JSON as it is written.
#[derive(Serialize, Deserialize)]
#[job]
struct Verbatim(Box<RawValue>);

impl Job for Verbatim {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn verbatim(json: &str) -> Pending<Verbatim> {
    Verbatim(RawValue::from_string(json.to_owned()).unwrap()).options()
}

/// JobType by hand, with a kind the attribute would refuse.
#[derive(Serialize, Deserialize)]
struct Unnamed;

impl JobType for Unnamed {
    type Output = ();
    const POLICY: Policy = Policy::new("");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_executor_will_do() {
    let lab = Lab::guarded().await;
    let mut own = PgConnection::connect(lab.url()).await.unwrap();
    // Not through a pooler, which may part the two messages of a statement outside a transaction.
    let mut pooled = lab.direct().acquire().await.unwrap();
    let mut tx = own.begin().await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    Noop.enqueue(&mut *pooled).await.unwrap();
    Noop.enqueue(&mut *tx).await.unwrap();
    Noop.options().priority(1).enqueue(&mut *tx).await.unwrap();
    enqueue_all([Noop, Noop], &mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    Noop.enqueue(&mut own).await.unwrap();
    assert_eq!(lab.count("jobkit.ready").await, 7);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_reach_the_handler() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let tags = ["red", "zwölf", "\"{}\\"];
    let late = look("late").priority(3).queue("other").max_attempts(2);
    let late = late.tags(tags).metadata(json!({"by": "me"})).enqueue(lab.pool()).await.unwrap();
    look("early").queue("other").priority(-3).enqueue(lab.pool()).await.unwrap();
    look("plain").queue("other").at(DateTime::UNIX_EPOCH).enqueue(lab.pool()).await.unwrap();
    let worker = lab.worker().state(lab.direct().clone()).jobs([Registration::of::<Look, _>()]);
    let worker = worker.queue("other", 1).start().await.unwrap();
    lab.until("count(*) = 3 from jobkit.finished").await;
    worker.stop().await;

    let seen: String = lab.value("select string_agg(what, ' ' order by id) from effects").await;
    let seen: Vec<_> = seen.split(' ').collect();
    assert_eq!(seen[0], r#"["early","other",7,[],null]"#);
    assert_eq!(seen[1], r#"["plain","other",7,[],null]"#);
    let metadata = format!("select what from effects where job_id = {late}");
    let last: serde_json::Value =
        serde_json::from_str(&lab.value::<String>(&metadata).await).unwrap();
    assert_eq!(last, json!(["late", "other", 2, tags, "{\"by\": \"me\"}"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_decides_whether_a_job_is_ready() {
    let lab = Lab::guarded().await;
    let hour = TimeDelta::hours(1);
    for (pending, ready) in [
        (look("").after(Duration::ZERO), true),
        (look("").after(Duration::from_secs(3600)), false),
        (look("").at(Utc::now() - hour), true),
        (look("").at(Utc::now() + hour), false),
        (look("").at(DateTime::<Utc>::MIN_UTC), true),
        (look("").at("9999-12-31T23:59:59Z".parse().unwrap()), false),
    ] {
        let text = format!("{pending:?}");
        let job = pending.enqueue(lab.pool()).await;
        let job = job.unwrap_or_else(|error| panic!("{text}: {error}"));
        let there = lab.count(&format!("jobkit.ready where job_id = {job}")).await == 1;
        assert_eq!(there, ready, "{text}");
    }
    let never = look("").after(Duration::MAX).enqueue(lab.pool()).await;
    assert!(matches!(never, Err(EnqueueError::Invalid(InvalidValue::Range { .. }))), "{never:?}");
    let never = look("").at(DateTime::<Utc>::MAX_UTC).enqueue(lab.pool()).await;
    assert!(
        matches!(never, Err(EnqueueError::Invalid(InvalidValue::Range { value: 262_142, .. }))),
        "{never:?}"
    );
    let an_hour = "jobkit.jobs where run_at - created_at between '59 min' and '61 min'";
    assert_eq!(lab.count(an_hour).await, 2);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_isolation_level_will_do() {
    let lab = Lab::guarded().await;
    for level in ["read committed", "repeatable read", "serializable"] {
        let mut session = lab.session("producer").await;
        session.run(&format!("begin isolation level {level}")).await.unwrap();
        session.run("select count(*) from jobkit.jobs").await.unwrap();
        Noop.enqueue(lab.pool()).await.unwrap();
        Noop.enqueue(&mut session.connection).await.unwrap();
        session.run("commit").await.unwrap_or_else(|error| panic!("{level}: {error}"));
    }
    assert_eq!(lab.count("jobkit.ready").await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_jobs_are_one_statement() {
    let lab = Lab::guarded().await;
    let mut session = lab.session("producer").await;
    let act = |then| Act::then(then).options();
    let jobs = [act(Then::Succeed), act(Then::Discard).after(Duration::from_secs(60))];
    let ids = enqueue_all(jobs, &mut session.connection).await.unwrap();
    assert!(ids[0] < ids[1]);
    assert_eq!(lab.count("jobkit.scheduled").await, 1);
    // Each statement outside a transaction block is a transaction of its own.
    assert_eq!(lab.value::<i64>("select count(distinct xmin::text) from jobkit.jobs").await, 1);
    let none: [Noop; 0] = [];
    assert!(enqueue_all(none, &mut session.connection).await.unwrap().is_empty());
}

/// Each of these is refused before anything is sent.
fn refused() -> Vec<(&'static str, Pending<Look>)> {
    let long = |bytes| "x".repeat(bytes);
    vec![
        ("payload of `look` has 1048600 bytes", look(long(1024 * 1024 + 13))),
        ("payload of `look` has", look("").metadata(json!(long(1024 * 1024)))),
        ("payload contains a NUL", look("a\0b")),
        ("metadata contains a NUL", look("").metadata(json!({"a\0": 1}))),
        ("tag contains a NUL", look("").tags(["a\0"])),
        ("queue contains a NUL", look("").queue("a\0")),
        ("queue has 129 bytes", look("").queue(long(129))),
        ("queue has 0 bytes", look("").queue("")),
        ("tag has 129 bytes", look("").tags([long(129)])),
        ("tag has 0 bytes", look("").tags([""])),
        ("number of tags is 33", look("").tags(vec!["a"; 33])),
        ("priority is 4", look("").priority(4)),
        ("priority is -4", look("").priority(-4)),
        ("number of attempts is 0", look("").max_attempts(0)),
        ("number of attempts is 1001", look("").max_attempts(1001)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_leaves_the_transaction_usable() {
    let lab = Lab::guarded().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let mut answers = Vec::new();
    for (text, pending) in refused() {
        answers.push((text, pending.enqueue(&mut *tx).await));
    }
    let deep = ["[".repeat(128), "]".repeat(128)].concat();
    for (text, json) in [
        ("nesting of the payload is 128", &*deep),
        ("payload of `verbatim` does not encode", r#""\ud800""#),
        ("payload of `verbatim` does not encode", r#"{"a\udc00b":1}"#),
        ("payload contains a NUL", r#"{"\u0000":1}"#),
    ] {
        answers.push((text, verbatim(json).enqueue(&mut *tx).await));
    }
    for (text, key) in [
        ("concurrency key contains a NUL", "NUL".to_owned()),
        ("concurrency key has 513 bytes", "k".repeat(513)),
    ] {
        answers.push((text, Keyed(key).enqueue(&mut *tx).await));
    }
    for (text, key) in [
        ("dead-letter key contains a NUL", "NUL".to_owned()),
        ("dead-letter key has 513 bytes", "k".repeat(513)),
    ] {
        answers.push((text, Shared(Some(key)).enqueue(&mut *tx).await));
    }
    answers.push(("kind has 0 bytes", Unnamed.enqueue(&mut *tx).await));
    for (text, answer) in answers {
        let error = answer.expect_err(text);
        assert!(error.to_string().contains(text), "{text}: {error}");
        assert!(
            !matches!(error, EnqueueError::Database(DatabaseError::Failed(_))),
            "{text}: {error:?}"
        );
    }
    let all = [look("good"), look("bad").priority(9)];
    assert!(enqueue_all(all, &mut *tx).await.is_err());
    let nested = ["[".repeat(127), "]".repeat(127)].concat();
    verbatim(&nested).enqueue(&mut *tx).await.unwrap();
    verbatim(r#"["\ud83d\ude00", "\\u0000", "\\ud800"]"#).enqueue(&mut *tx).await.unwrap();
    Keyed("k".repeat(512)).enqueue(&mut *tx).await.unwrap();
    Shared(Some("k".repeat(512))).enqueue(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_key_is_stored_beside_the_job() {
    let lab = announced().await;
    let jobs = [Some("a"), None, Some("")].map(|key| Shared(key.map(ToOwned::to_owned)));
    enqueue_all(jobs, lab.pool()).await.unwrap();
    Shared(None).enqueue(lab.pool()).await.unwrap();
    lab.run("select jobkit.enqueue('shared', '\"b\"', p_dead_letter_key => 'c')").await;
    let keys =
        "select string_agg(coalesce(dead_letter_key, '-'), ',' order by id) from jobkit.jobs";
    assert_eq!(lab.value::<String>(keys).await, "a,-,,-,c");
    assert_eq!(lab.count("jobkit.jobs where concurrency_key is not null").await, 0);
    assert_eq!(lab.count("jobkit.ready").await, 5);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_announces_what_replays_by_itself() {
    let lab = announced().await;
    let kinds = "select string_agg(concat_ws(' ', kind, auto_replay, max_cycles), ',' \
        order by kind) from jobkit.kinds";
    assert_eq!(lab.value::<String>(kinds).await, "keyed 0,look 0,shared 01:00:00 5");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_beyond_what_a_message_holds_is_refused() {
    let lab = Lab::guarded().await;
    let text = "x".repeat(900 * 1024);
    let error = enqueue_all((0..300).map(|_| look(&*text)), lab.pool()).await.unwrap_err();
    assert!(matches!(error, EnqueueError::BatchTooLarge { bytes: 276_000_000.., .. }), "{error}");
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_schema_the_error_says_to_migrate() {
    let lab = Lab::empty().await;
    let error = Noop.enqueue(lab.pool()).await.unwrap_err();
    assert!(
        matches!(error, EnqueueError::Database(DatabaseError::Schema(SchemaError::Missing))),
        "{error:?}"
    );
    assert!(error.to_string().contains("jobkit::migrate"), "{error}");
    let none: [Noop; 0] = [];
    assert!(enqueue_all(none, lab.pool()).await.unwrap().is_empty());
}

/// A database whose kinds a worker has announced.
async fn announced() -> Lab {
    let lab = Lab::guarded().await;
    let jobs = [
        Registration::of::<Look, _>(),
        Registration::of::<Keyed, _>(),
        Registration::of::<Shared, _>(),
    ];
    let worker = lab.worker().state(lab.direct().clone()).jobs(jobs).queue("nothing", 1);
    worker.start().await.unwrap().stop().await;
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_stays_as_it_was_sent() {
    const SENT: &str = r#"{"zeta":1.50,"a":[1E2,9007199254740993,"\u00e9"]}"#;
    let lab = Lab::guarded().await;
    verbatim(SENT).enqueue(lab.pool()).await.unwrap();
    verbatim(SENT).after(Duration::ZERO).enqueue(lab.pool()).await.unwrap();
    let all = "select string_agg(distinct args::text, '') from jobkit.";
    assert_eq!(lab.value::<String>(&format!("{all}jobs")).await, SENT);
    let worker = lab.worker().jobs([Registration::of::<Verbatim, _>()]).queue("default", 2);
    let worker = worker.start().await.unwrap();
    lab.until("count(*) = 2 from jobkit.finished").await;
    worker.stop().await;
    assert_eq!(lab.value::<String>(&format!("{all}finished")).await, SENT);
    lab.check_invariants().await;
}

/// Or it could not be searched for.
#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_any_length_is_refused() {
    let lab = Lab::new().await;
    for (sent, fits) in [("1e9999", true), ("1e10000", false), ("[-0.1E-20000]", false)] {
        assert_eq!(verbatim(sent).enqueue(lab.pool()).await.is_ok(), fits, "{sent}");
    }
    assert_eq!(lab.count("jobkit.jobs where length((args::jsonb)::text) = 10000").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_enqueues_with_the_defaults_of_the_kind() {
    let lab = announced().await;
    let look = lab.value::<i64>(r#"select jobkit.enqueue('look', '{"text": "hi"}')"#).await;
    let sql = format!(
        "select concat_ws(' ', queue, priority, max_attempts, args->>'text', tags) \
        from jobkit.jobs where id = {look}"
    );
    assert_eq!(lab.value::<String>(&sql).await, "default 0 7 hi");
    let keyed = lab
        .value::<i64>(
            r#"select jobkit.enqueue('keyed', '"a"', 'mail', now() + interval '1 hour', 2, 3,
                p_concurrency_key => 'a', p_tags => '{x,y}', p_metadata => '[1]')"#,
        )
        .await;
    let sql = format!(
        "select concat_ws(' ', queue, priority, max_attempts, concurrency_group, concurrency_key, \
        tags, metadata, s.job_id) from jobkit.jobs j, jobkit.scheduled s where j.id = {keyed}"
    );
    assert_eq!(lab.value::<String>(&sql).await, format!("mail 2 3 keyed a {{x,y}} [1] {keyed}"));
    let keyed = lab.value::<i64>("select jobkit.enqueue('keyed', p_concurrency_key => 'b')").await;
    let sql = format!("select concat_ws(' ', queue, priority) from jobkit.jobs where id = {keyed}");
    assert_eq!(lab.value::<String>(&sql).await, "keyed -1");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_refuses_what_no_worker_could_run() {
    let lab = announced().await;
    let mut session = lab.session("producer").await;
    for (call, code) in [
        ("'nobody_knows'", "JK003"),
        ("null", "JK003"),
        ("'keyed'", "JK004"),
        ("'look', p_concurrency_key => 'a'", "JK004"),
        ("'look', p_priority => 4", "JK008"),
        ("'look', p_priority => 100000", "JK008"),
        ("'look', p_max_attempts => 0", "JK008"),
        ("'look', p_max_attempts => 1001", "JK008"),
        ("'look', p_queue => ''", "JK008"),
        ("'look', p_queue => repeat('q', 129)", "JK008"),
        ("'look', p_dead_letter_key => repeat('k', 513)", "JK008"),
        ("'keyed', p_concurrency_key => repeat('k', 513)", "JK008"),
        ("'look', p_run_at => 'infinity'", "JK008"),
        ("'look', p_run_at => '-infinity'", "JK008"),
        ("'look', p_run_at => '294276-12-31'", "JK008"),
        ("'look', p_args => null", "JK008"),
        ("'look', to_jsonb(repeat('x', 1048575))", "JK005"),
        ("'look', p_metadata => to_jsonb(repeat('x', 1048573))", "JK005"),
    ] {
        let answer = session.value::<i64>(&format!("select jobkit.enqueue({call})")).await;
        let error = answer.expect_err(call);
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), code, "{call}: {error}");
    }
    for default in ["queue = ''", "priority = 4", "max_attempts = 0"] {
        session.run(&format!("begin; update jobkit.kinds set {default}")).await.unwrap();
        let error = session.run("select jobkit.enqueue('look')").await.expect_err(default);
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), "JK008", "{default}");
        session.run("rollback").await.unwrap();
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_may_enqueue() {
    let lab = announced().await;
    lab.run(
        "create table orders (id bigint);
        create function order_placed() returns trigger language plpgsql as $$
        begin
            perform jobkit.enqueue('look', jsonb_build_object('text', new.id::text));
            return new;
        end $$;
        create trigger placed after insert on orders
            for each row execute function order_placed();
        insert into orders select generate_series(1, 3);",
    )
    .await;
    let texts = "select string_agg(args->>'text', ',' order by id) from jobkit.jobs";
    assert_eq!(lab.value::<String>(texts).await, "1,2,3");
    assert_eq!(lab.count("jobkit.ready").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_at_infinity_holds_back_no_other() {
    let lab = announced().await;
    // Nobody can enqueue such a job, but a table can be written by hand.
    lab.run(
        "select jobkit.enqueue('look', p_run_at => now() + interval '1 hour');
        update jobkit.jobs set run_at = 'infinity';
        update jobkit.scheduled set run_at = 'infinity';
        select jobkit.enqueue('look', p_run_at => clock_timestamp() + interval '20 ms')",
    )
    .await;
    let promote = "(p).promoted = 1 and (p).next_in is null from jobkit.promote(100) as p";
    lab.until(promote).await;
    assert_eq!(lab.count("jobkit.ready").await, 1);
    assert_eq!(lab.count("jobkit.scheduled where run_at = 'infinity'").await, 1);
}

/// How many notifications were sent since the last time.
async fn rung(lab: &Lab, listener: &mut PgListener) -> usize {
    lab.run("select pg_notify('jobkit', 'mark')").await;
    let mut rings = 0;
    while listener.recv().await.unwrap().payload() != "mark" {
        rings += 1;
    }
    rings
}

/// One job and many take different ways to the same.
#[tokio::test]
async fn an_enqueue_rings_only_for_a_worker_that_sleeps_at_that_queue() {
    let lab = Lab::new().await;
    let mut listener = PgListener::connect_with(lab.direct()).await.unwrap();
    listener.listen("jobkit").await.unwrap();
    for (sleepers, one, many) in [
        ("", 0, 0),
        ("(1, '{other}', now() + interval '1 h')", 0, 0),
        ("(2, '{other,default}', now() - interval '1 s')", 0, 0),
        ("(3, '{other,default}', now() + interval '1 h')", 1, 1),
    ] {
        if !sleepers.is_empty() {
            lab.run(&format!("insert into jobkit.sleepers values {sleepers}")).await;
        }
        Noop.enqueue(lab.pool()).await.unwrap();
        assert_eq!(rung(&lab, &mut listener).await, one, "one job, {sleepers}");
        enqueue_all([Noop, Noop], lab.pool()).await.unwrap();
        assert_eq!(rung(&lab, &mut listener).await, many, "two jobs, {sleepers}");
    }
    lab.check_invariants().await;
}
