//! What no worker could run is refused by whichever door it comes.

use jobkit::admin::dead_letters::{DeadLetterId, ReplayError};
use jobkit::{Admin, Registration};
use jobkit_tests::{Lab, Roles};
use sqlx::AssertSqlSafe;

use crate::jobs::Noop;

/// The parts of a job, each as SQL.
struct Parts {
    kind: &'static str,
    queue: &'static str,
    priority: &'static str,
    attempts: &'static str,
    group: &'static str,
    key: &'static str,
    dead_letter_key: &'static str,
    args: &'static str,
    version: &'static str,
}

const GOOD: Parts = Parts {
    kind: "'door'",
    queue: "'q'",
    priority: "0",
    attempts: "3",
    group: "null",
    key: "null",
    dead_letter_key: "null",
    args: "'{}'",
    version: "null",
};

/// What is wrong, and words of the answer.
const WRONG: &[(Parts, &str)] = &[
    (Parts { key: "'k'", ..GOOD }, "without its group"),
    (Parts { key: "'k'", group: "''", ..GOOD }, "the group of a key"),
    (Parts { key: "'k'", group: "repeat('g', 129)", ..GOOD }, "the group of a key"),
    (Parts { key: "repeat('k', 513)", group: "'g'", ..GOOD }, "512 bytes"),
    (Parts { dead_letter_key: "repeat('k', 513)", ..GOOD }, "512 bytes"),
    (Parts { kind: "''", ..GOOD }, "name of a kind"),
    (Parts { kind: "null", ..GOOD }, "name of a kind"),
    (Parts { kind: "repeat('ä', 65)", ..GOOD }, "name of a kind"),
    (Parts { queue: "''", ..GOOD }, "name of a queue"),
    (Parts { queue: "null", ..GOOD }, "name of a queue"),
    (Parts { queue: "repeat('q', 129)", ..GOOD }, "name of a queue"),
    (Parts { priority: "4", ..GOOD }, "a priority"),
    (Parts { priority: "-4", ..GOOD }, "a priority"),
    (Parts { priority: "32767", ..GOOD }, "a priority"),
    (Parts { priority: "null", ..GOOD }, "a priority"),
    (Parts { attempts: "0", ..GOOD }, "a number of attempts"),
    (Parts { attempts: "-1", ..GOOD }, "a number of attempts"),
    (Parts { attempts: "1001", ..GOOD }, "a number of attempts"),
    (Parts { attempts: "null", ..GOOD }, "a number of attempts"),
    (Parts { version: "0", ..GOOD }, "a version"),
    (Parts { args: "null", ..GOOD }, "the payload is null"),
    (Parts { args: r#"'{"a": "\u0000"}'"#, ..GOOD }, "a NUL"),
    (Parts { args: r#"'{"\u0000": 1}'"#, ..GOOD }, "a NUL"),
    (Parts { args: r#"'{"a": "\ud800"}'"#, ..GOOD }, "an unpaired surrogate"),
    (Parts { args: r#"'{"a": "\uDC00x"}'"#, ..GOOD }, "an unpaired surrogate"),
    (Parts { args: "to_json(repeat('x', 1048576))::text", ..GOOD }, "1048576 bytes"),
];

/// Every door that takes a job as a client has made it.
fn doors(parts: &Parts) -> Vec<String> {
    let Parts { kind, queue, priority, attempts, group, key, dead_letter_key, args, version } =
        parts;
    let one = format!(
        "{kind}::text, {queue}::text, {priority}::int2, {attempts}::int2, {args}::text,
        p_concurrency_group => {group}::text, p_concurrency_key => {key}::text,
        p_dead_letter_key => {dead_letter_key}::text, p_version => {version}::int2"
    );
    let all = format!(
        "array[{kind}::text], array[{queue}::text], array[{priority}::int2],
        array[{attempts}::int2], array[{args}::text], p_concurrency_group => array[{group}::text],
        p_concurrency_key => array[{key}::text],
        p_dead_letter_key => array[{dead_letter_key}::text], p_version => array[{version}::int2]"
    );
    let unique = "p_unique_scope => '{door}', p_unique_key => '{u}',
        p_unique_while => '{unfinished}', p_on_duplicate => '{skip}'";
    let coalesces =
        "p_unique_scope => '{door}', p_unique_key => '{u}', p_unique_while => '{coalesce}'";
    let of_one = |options: &str| options.replace("'{", "'").replace("}'", "'");
    let [one_unique, one_coalesces] = [unique, coalesces].map(of_one);
    vec![
        format!("select jobkit.enqueue_all(jobkit.new_jobs({all}))"),
        format!("select jobkit.store_all(jobkit.new_jobs({all}))"),
        format!("select jobkit.store_one(jobkit.new_job({one}))"),
        format!("select jobkit.enqueue_unique(jobkit.new_jobs({all}, {unique}))"),
        format!("select jobkit.enqueue_unique(jobkit.new_jobs({all}, {coalesces}))"),
        format!("select jobkit.store_unique(jobkit.new_job({one}, {one_unique}))"),
        format!("select jobkit.store_unique(jobkit.new_job({one}, {one_coalesces}))"),
    ]
}

async fn refusal(session: &mut jobkit_tests::Session, statement: &str) -> (String, String) {
    let error = session.run(statement).await.expect_err(statement);
    let error = error.as_database_error().expect(statement);
    (error.code().unwrap_or_default().into_owned(), error.message().to_owned())
}

#[tokio::test]
async fn a_job_that_no_worker_could_run_is_refused_at_every_door() {
    let roles = Roles::new(Lab::new().await).await;
    let mut session = roles.lab.session("producer").await;
    session.run(&format!("set role {}producer", roles.prefix)).await.unwrap();
    let mut checks = 0;
    for (parts, words) in WRONG {
        for statement in doors(parts) {
            let (code, message) = refusal(&mut session, &statement).await;
            assert_eq!(code, "JK008", "{statement}: {message}");
            assert!(message.contains(words), "{statement}: {message}");
            checks += 1;
        }
    }
    assert!(checks >= 180, "{checks}");
    assert_eq!(roles.lab.count("jobkit.jobs").await, 0);
    assert_eq!(roles.lab.count("jobkit.unique_keys").await, 0);
    for statement in doors(&Parts { group: "'g'", key: "'k'", args: r#"'"\\u0000"'"#, ..GOOD }) {
        session.run(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    assert_eq!(roles.lab.count("jobkit.jobs where args::text = '\"\\\\u0000\"'").await, 6);
    drop(session);
    roles.end().await;
}

/// A client that may write to the tables has looked at its jobs; half a key is refused even so.
#[tokio::test]
async fn whoever_may_write_to_the_tables_is_refused_half_a_key() {
    let lab = Lab::new().await;
    let mut session = lab.session("owner").await;
    for statement in doors(&Parts { key: "'k'", ..GOOD }) {
        let (code, message) = refusal(&mut session, &statement).await;
        assert_eq!(code, "JK008", "{statement}: {message}");
    }
    for statement in doors(&Parts { key: "'k'", group: "'g'", ..GOOD }) {
        session.run(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    assert_eq!(lab.count("jobkit.jobs where concurrency_group = 'g'").await, 6);
}

/// Topics, schedules and replays.
#[tokio::test]
async fn other_doors_refuse_it_too() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('door', 'q', 0, 3);
        insert into jobkit.subscriptions (topic, kind) values ('t', 'door');
        select jobkit.create_schedule('{\"name\": \"s\", \"times\": \"@hourly\",
            \"kind\": \"door\", \"catch_up\": \"none\", \"catch_up_max\": 1,
            \"catch_up_window\": \"1 h\", \"overlap\": \"allow\", \"jitter\": \"0\"}', '{}', 'me')",
    )
    .await;
    let created = |more: &str| {
        format!(
            "select jobkit.create_schedule('{{\"name\": \"n\", \"times\": \"@hourly\",
            \"kind\": \"door\", \"catch_up\": \"none\", \"catch_up_max\": 1,
            \"catch_up_window\": \"1 h\", \"overlap\": \"allow\", \"jitter\": \"0\", {more}}}',
            '{{}}', 'me')"
        )
    };
    let declared = created("\"queue\": \"q\", \"priority\": 9, \"max_attempts\": 1")
        .replace("create_schedule('", "declare_schedules('[")
        .replace("}',\n            '{}', 'me'", "}]', '{\"{}\"}'");
    let long = "x".repeat(129);
    let mut session = lab.session("owner").await;
    for statement in [
        r#"select jobkit.fan_out('t', '{"a": "\u0000"}', null, null)"#.to_owned(),
        r#"select jobkit.fan_out('nobody', '{"a": "\udfff"}', null, null)"#.to_owned(),
        "select jobkit.publish('t', '{}', 0)".to_owned(),
        "select jobkit.enqueue('door', p_priority => 40000)".to_owned(),
        "select jobkit.enqueue('door', p_max_attempts => 0)".to_owned(),
        format!("select jobkit.enqueue('door', p_queue => '{long}')"),
        created("\"priority\": 9"),
        created("\"max_attempts\": 0"),
        created(&format!("\"queue\": \"{long}\"")),
        created(&format!("\"dead_letter_key\": \"{}\"", long.repeat(4))),
        created("\"tags\": [null]"),
        created("\"queue\": \"q\"").replace("'{}', 'me'", "null, 'me'"),
        declared,
        "select jobkit.edit_schedule('s', '{\"priority\": -9}', null, 'me')".to_owned(),
        "select jobkit.edit_schedule('s', '{\"queue\": \"\"}', null, 'me')".to_owned(),
        "select jobkit.edit_schedule('s', '{\"concurrency_key\": \"k\"}', null, 'me')".to_owned(),
        "select jobkit.replay(1, 'me', p_queue => '')".to_owned(),
        "select jobkit.replay(1, 'me', p_max_attempts => 1001)".to_owned(),
        "select jobkit.replay(1, 'me', p_args => '{}', p_concurrency => '{null,k}')".to_owned(),
    ] {
        let (code, message) = refusal(&mut session, &statement).await;
        assert_eq!(code, "JK008", "{statement}: {message}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    assert_eq!(lab.count("jobkit.schedules").await, 1);
}

#[tokio::test]
async fn a_payload_that_a_driver_has_quoted_once_more_is_refused() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts, takes_text)
        values ('object', 'q', 0, 3, false), ('text', 'q', 0, 3, true), ('old', 'q', 0, 3, null);
        insert into jobkit.subscriptions (topic, kind) values ('t', 'text'), ('t', 'object')",
    )
    .await;
    let mut session = lab.session("driver").await;
    for statement in [
        r#"select jobkit.enqueue('object', '"{\"order_id\": 7}"')"#,
        r#"select jobkit.enqueue('object', '"seven"')"#,
        r#"select jobkit.enqueue('object', '"[7]"', p_unique_key => 'k')"#,
        r#"select jobkit.enqueue('old', '" {\"order_id\": 7}"')"#,
        r#"select jobkit.enqueue('old', '"[7]"')"#,
        r#"select jobkit.publish('t', '"{}"')"#,
    ] {
        let (code, message) = refusal(&mut session, statement).await;
        assert_eq!(code, "JK008", "{statement}: {message}");
        assert!(message.contains("the payload is a JSON string"), "{statement}: {message}");
    }
    for statement in [
        r#"select jobkit.enqueue('object', '{"order_id": 7}')"#,
        r#"select jobkit.enqueue('object', '[7]')"#,
        r#"select jobkit.enqueue('text', '"{\"order_id\": 7}"')"#,
        r#"select jobkit.enqueue('old', '"seven"')"#,
    ] {
        session.run(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// What operators give a payload: a schedule that is new, one that they change, a dead letter.
fn create(kind: &str, args: &str) -> String {
    format!(
        "select jobkit.create_schedule('{{\"name\": \"{kind}\", \"times\": \"@hourly\",
        \"kind\": \"{kind}\", \"catch_up\": \"none\", \"catch_up_max\": 1,
        \"catch_up_window\": \"1 h\", \"overlap\": \"allow\", \"jitter\": \"0\"}}',
        {args}, 'me')"
    )
}

fn edit(kind: &str, args: &str) -> String {
    format!("select jobkit.edit_schedule('{kind}', '{{}}', {args}, 'me')")
}

fn replay(kind: &str, args: &str) -> String {
    format!(
        "select jobkit.replay((select id from jobkit.dead_letters where kind = '{kind}'), 'me',
        p_args => {args})"
    )
}

/// Kinds of which one takes no string, one does and one has not said, each with a schedule and a
/// dead letter.
const OPERATED: &str = "insert into jobkit.kinds (kind, queue, priority, max_attempts, takes_text)
    values ('object', 'q', 0, 3, false), ('text', 'q', 0, 3, true), ('old', 'q', 0, 3, null);
    insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max, catch_up_window,
        overlap, jitter, kind, queue, priority, max_attempts, args)
    select kind, '@hourly', now() + '1 h', 'none', 1, '1 h', 'allow', '0', kind, 'q', 0, 3, '{}'
    from jobkit.kinds;
    insert into jobkit.dead_letters (kind, job_id, queue, priority, max_attempts, reason, error,
        fingerprint, errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at,
        args)
    select kind, 7, 'q', 0, 3, 'dead', 'e', 'f', '[]', 1, 1, 0, now(), now(), now(), '{}'
    from jobkit.kinds";

#[tokio::test]
async fn a_payload_that_an_operator_gives_is_looked_at() {
    let lab = Lab::new().await;
    lab.run(OPERATED).await;
    let mut session = lab.session("operator").await;
    for (kind, args) in [
        ("object", r#"'"{\"order_id\": 7}"'"#),
        ("object", r#"'"seven"'"#),
        ("old", r#"'" {\"order_id\": 7}"'"#),
        ("old", r#"'"[7]"'"#),
    ] {
        for door in [create, edit, replay] {
            let (code, message) = refusal(&mut session, &door(kind, args)).await;
            assert_eq!(code, "JK008", "{kind} {args}: {message}");
            assert!(message.contains("the payload is a JSON string"), "{args}: {message}");
        }
    }
    for args in ["'{'", "''", "'{} {}'", r#"'{"a": "\u0000"}'"#, "'[1e400000]'"] {
        for door in [create, edit] {
            let (code, message) = refusal(&mut session, &door("text", args)).await;
            assert_eq!(code, "JK008", "{args}: {message}");
            assert!(message.contains("the payload "), "{args}: {message}");
        }
    }
    // By the library it is the payload that is wrong, not the database.
    let letter: i64 = lab.value("select id from jobkit.dead_letters where kind = 'object'").await;
    let replayed = Admin::new(lab.pool())
        .dead_letter(DeadLetterId(letter))
        .replay()
        .args("seven".into())
        .await;
    assert!(matches!(replayed, Err(ReplayError::Undecodable(_))), "{replayed:?}");
    session.run(&edit("old", "null")).await.unwrap();
    for (kind, args) in [("object", "'[7]'"), ("text", r#"'"[7]"'"#), ("old", r#"'"seven"'"#)] {
        for door in [create, edit, replay] {
            session.run(&door(kind, args)).await.unwrap();
        }
        for table in ["jobs", "schedules"] {
            let stored = format!("jobkit.{table} where kind = '{kind}' and args::text = {args}");
            assert_eq!(lab.count(&stored).await, 1, "{table} {kind}");
        }
    }
}

/// A type says itself whether it reads strings.
#[tokio::test]
async fn kinds_say_whether_they_take_a_string() {
    let lab = Lab::new().await;
    let jobs = [
        Registration::of::<Noop, _>(),
        Registration::of::<kinds::Text, _>(),
        Registration::of::<kinds::Word, _>(),
        Registration::of::<kinds::Struct, _>(),
    ];
    lab.worker().jobs(jobs).queue("default", 1).start().await.unwrap().stop().await;
    let takes = "select jsonb_object_agg(kind, takes_text) from jobkit.kinds
        where kind in ('noop', 'door_text', 'door_word', 'door_struct')";
    let found: serde_json::Value = sqlx::query_scalar(takes).fetch_one(lab.pool()).await.unwrap();
    let expected = serde_json::json!({
        "noop": false, "door_text": true, "door_word": true, "door_struct": false
    });
    assert_eq!(found, expected);
}

mod kinds {
    use jobkit::{Job, JobContext, job};
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    #[job(kind = "door_text")]
    pub(super) struct Text(String);

    #[derive(Serialize, Deserialize)]
    pub(super) enum Answer {
        Yes,
        No,
    }

    #[derive(Serialize, Deserialize)]
    #[job(kind = "door_word")]
    pub(super) struct Word(Answer);

    #[derive(Serialize, Deserialize)]
    #[job(kind = "door_struct")]
    pub(super) struct Struct {
        #[serde(default)]
        text: String,
    }

    impl Job for Text {
        async fn run(self, _cx: JobContext) -> jobkit::Result {
            Ok(())
        }
    }

    impl Job for Word {
        async fn run(self, _cx: JobContext) -> jobkit::Result {
            Ok(())
        }
    }

    impl Job for Struct {
        async fn run(self, _cx: JobContext) -> jobkit::Result {
            Ok(())
        }
    }
}

/// Nor has any other function two forms, of which the server would have to choose.
#[tokio::test]
async fn half_a_concurrency_key_is_refused_by_the_one_enqueue_all() {
    let lab = Lab::new().await;
    let twice = "select count(*) from (select proname from pg_proc
        where pronamespace = 'jobkit'::regnamespace group by 1 having count(*) > 1) p";
    assert_eq!(lab.value::<i64>(twice).await, 0);
    let half = "select jobkit.enqueue_all(jobkit.new_jobs('{k}', '{q}', '{0}', '{1}',
        '{\"{}\"}', p_concurrency_key => '{key}'))";
    let refused = sqlx::query(AssertSqlSafe(half.to_owned())).execute(lab.pool()).await;
    let refused = refused.unwrap_err();
    assert!(refused.to_string().contains("without its group"), "{refused}");
}
