//! The contract of those who enqueue by SQL: the page says what the catalogue has, kinds are there
//! without a worker, and programs in other languages work as they are shown.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use jobkit::error::{AnnounceError, DatabaseError, SchemaError};
use jobkit::{Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

#[path = "producers/clients.rs"]
mod clients;

use crate::clients::clients;

const PAGE: &str = include_str!("../docs/sql.md");

/// What the programs enqueue.
#[derive(Serialize, Deserialize)]
#[job]
struct SendReceipt {
    order_id: i64,
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Limited where it has an account.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = self.account)]
struct MaybeKeyed {
    account: Option<String>,
}

impl Job for MaybeKeyed {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// A database without a worker, whose kinds were announced.
async fn announced() -> Lab {
    let lab = Lab::guarded().await;
    jobkit::announce(lab.pool()).await.unwrap();
    lab
}

/// The first two cells of the page's rows whose first begins so.
fn rows(begin: &str) -> Vec<(String, String)> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter(|row| row.starts_with(begin));
    let cells = |row: &str| {
        let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned());
        (cells.next().unwrap(), cells.next().unwrap())
    };
    rows.map(cells).collect()
}

#[tokio::test]
async fn the_page_has_the_parameters_of_the_catalogue() {
    let lab = Lab::new().await;
    let signature = "select string_agg(a.name || ' ' || format_type(t.type, null), ', '
            order by a.at)
        from pg_proc p,
            unnest(p.proargnames) with ordinality a (name, at),
            unnest(p.proargtypes) with ordinality t (type, at)
        where p.oid = 'jobkit.enqueue'::regproc and a.at = t.at";
    let said: Vec<_> = rows("p_").iter().map(|(name, of)| format!("{name} {of}")).collect();
    assert_eq!(said.join(", "), lab.value::<String>(signature).await);
    let version: i32 = lab.value("select jobkit.contract()").await;
    assert!(PAGE.contains(&format!("**version {version}**")), "version {version}");
}

#[tokio::test]
async fn the_page_has_the_sqlstates_of_the_functions() {
    let lab = Lab::new().await;
    let raised = "select string_agg(distinct m[1], ' ') from pg_proc p,
        regexp_matches(p.prosrc, 'JK[0-9]{3}', 'g') m
        where p.pronamespace = 'jobkit'::regnamespace";
    let raised: String = lab.value(raised).await;
    let said: BTreeSet<_> =
        PAGE.match_indices("`JK").map(|(at, _)| &PAGE[at + 1..at + 6]).collect();
    assert_eq!(said, raised.split(' ').collect());
}

/// As they were written for version 1; whoever changes what they say breaks somebody's program.
#[tokio::test]
async fn calls_of_the_first_version_go_on_working() {
    let lab = announced().await;
    for call in [
        "'send_receipt'",
        "'send_receipt', '{}'",
        "'send_receipt', '{}', 'q', null, 1, 2, null, '{a}', '1', 'd'",
        "p_kind => 'maybe_keyed', p_args => '{}', p_queue => 'q', p_run_at => now(),
            p_priority => 1, p_max_attempts => 2, p_concurrency_key => 'k', p_tags => '{a}',
            p_metadata => '1', p_dead_letter_key => 'd'",
    ] {
        let id: i64 = lab.value(&format!("select jobkit.enqueue({call})")).await;
        assert!(id > 0, "{call}");
    }
    lab.check_invariants().await;
}

#[tokio::test]
async fn the_rights_on_the_page_are_enough_for_a_producer() {
    let lab = Lab::new().await;
    jobkit::announce(lab.pool()).await.unwrap();
    let role = format!("shop_{:x}", fastrand::u64(..));
    lab.run(&format!("create role {role}")).await;
    for grant in PAGE.lines().filter(|line| line.starts_with("grant ")) {
        lab.run(&grant.replace(" to shop;", &format!(" to {role};"))).await;
    }
    let mut shop = lab.session("shop").await;
    shop.run(&format!("set role {role}")).await.unwrap();
    let unique = "'send_receipt', p_unique_key => 'k', p_unique_while => 'running'";
    for (more, answer) in [
        ("", "enqueued"),
        ("", "existing"),
        (", p_on_duplicate => 'replace'", "replaced"),
        (", p_on_duplicate => 'debounce', p_run_at => now() + interval '1 h'", "replaced"),
    ] {
        let call = format!("begin; select jobkit.enqueue({unique}{more})");
        shop.run(&call).await.unwrap();
        let said: String = shop.value("select current_setting('jobkit.answer')").await.unwrap();
        assert_eq!(said, answer, "{more}");
        shop.run("commit; select jobkit.enqueue('send_receipt')").await.unwrap();
    }
    // A job that waits for another attempt ends as superseded.
    lab.run("update jobkit.jobs set attempt = 1 where unique_key = 'k'").await;
    shop.run(&format!("select jobkit.enqueue({unique})")).await.unwrap();
    assert_eq!(lab.count("jobkit.finished where reason like 'superseded by%'").await, 1);
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test]
async fn kinds_are_known_without_a_worker_and_nothing_is_written_twice() {
    let lab = Lab::guarded().await;
    jobkit::announce(lab.pool()).await.unwrap();
    let kinds = "select string_agg(k::text || k.xmin::text, ' ' order by k.kind)
        from jobkit.kinds k";
    let before: String = lab.value(kinds).await;
    jobkit::announce(lab.pool()).await.unwrap();
    let jobs = [Registration::of::<SendReceipt, _>(), Registration::of::<MaybeKeyed, _>()];
    let worker = lab.worker().jobs(jobs).queue("nothing", 1).start().await.unwrap();
    worker.stop().await;
    assert_eq!(lab.value::<String>(kinds).await, before);
    let error = jobkit::announce(Lab::empty().await.pool()).await.unwrap_err();
    assert!(
        matches!(error, AnnounceError::Database(DatabaseError::Schema(SchemaError::Missing))),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_announce_beside_starting_workers() {
    let lab = Lab::guarded().await;
    let mut starters = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (pool, worker) = (lab.pool().clone(), lab.worker());
        starters.spawn(async move {
            if n % 4 == 0 {
                let worker = worker.jobs([Registration::of::<MaybeKeyed, _>()]);
                worker.queue("nothing", 1).start().await.unwrap().stop().await;
            } else {
                jobkit::announce(&pool).await.unwrap();
            }
        });
    }
    starters.join_all().await;
    assert_eq!(lab.count("jobkit.kinds where kind = 'maybe_keyed' and key_optional").await, 1);
}

/// It waits for whoever announces the same, and is then told what that said.
#[tokio::test(flavor = "multi_thread")]
async fn an_announcement_behind_another_waits_for_it() {
    let lab = announced().await;
    let mut other = lab.session("other").await;
    let change = "begin; update jobkit.kinds set queue = 'other' where kind = 'send_receipt'";
    other.run(change).await.unwrap();
    let pool = lab.pool().clone();
    let second = tokio::spawn(async move { jobkit::announce(&pool).await });
    let holding = other.pid;
    lab.until(&format!(
        "count(*) = 1 from pg_stat_activity a where {holding} = any (pg_blocking_pids(a.pid))"
    ))
    .await;
    other.run("commit").await.unwrap();
    second.await.unwrap().unwrap();
    assert_eq!(lab.count("jobkit.kinds where queue = 'other'").await, 0);
}

#[tokio::test]
async fn a_key_may_be_null_where_it_is_optional() {
    let lab = announced().await;
    let free = MaybeKeyed { account: None }.enqueue(lab.pool()).await.unwrap();
    let sql: i64 = lab.value("select jobkit.enqueue('maybe_keyed')").await;
    let keys = format!(
        "jobkit.jobs where id in ({free}, {sql}) and concurrency_key is null
            and concurrency_group is null"
    );
    assert_eq!(lab.count(&keys).await, 2);
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_role_needs_only_the_rights_that_the_page_grants() {
    // The guard's triggers need more.
    let lab = Lab::new().await;
    jobkit::announce(lab.pool()).await.unwrap();
    let role = format!("shop_{:x}", fastrand::u64(..));
    let (_, rights) = PAGE.split_once("```sql\ngrant").unwrap();
    let rights = format!("grant{}", rights.split_once("```").unwrap().0);
    let rights = rights.replace("to shop", &format!("to {role}"));
    lab.run(&format!("create role {role}; {rights}")).await;
    let mut session = lab.session("shop").await;
    session.run(&format!("set role {role}")).await.unwrap();
    let enqueue = "select jobkit.enqueue('send_receipt', p_run_at => now() + interval '1 h')";
    session.value::<i64>(enqueue).await.unwrap();
    session.value::<i64>("select jobkit.enqueue('send_receipt')").await.unwrap();
    session.run("reset role").await.unwrap();
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Whether this ends well.
fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|run| run.status.success())
}

/// How each program is run; or what is missing.
fn programs() -> [(&'static str, Result<Command, &'static str>); 3] {
    let python = clients::python("psycopg").map(Command::new);
    let go = Path::new("/usr/share/gocode/src/github.com/lib/pq").exists() && works("go", &["env"]);
    let go = if go { Ok(Command::new("go")) } else { Err("golang-go golang-github-lib-pq-dev") };
    let go = go.map(|mut go| {
        go.arg("run").env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode");
        go
    });
    let mut all = [("producer.py", python), ("producer.mts", typescript()), ("producer.go", go)];
    for (name, command) in &mut all {
        let shown = repository().join("docs/producers").join(*name).canonicalize().unwrap();
        let shown = if name.ends_with(".mts") { PathBuf::from("producer.mjs") } else { shown };
        if let Ok(command) = command {
            command.arg(shown);
        }
    }
    all
}

/// Compiles the program beside its packages.
fn typescript() -> Result<Command, &'static str> {
    let packages = repository().join("tests/producers/node_modules");
    if !packages.exists() || !works("node", &["--version"]) {
        return Err("npm ci in tests/producers");
    }
    let place = repository().join("target/producer");
    std::fs::create_dir_all(&place).unwrap();
    let _there =
        std::os::unix::fs::symlink(packages.canonicalize().unwrap(), place.join("node_modules"));
    std::fs::copy(repository().join("docs/producers/producer.mts"), place.join("producer.mts"))
        .unwrap();
    let mut compiler = Command::new("node");
    compiler.current_dir(&place).arg("node_modules/typescript/bin/tsc");
    compiler.args(["--strict", "--module", "nodenext", "--target", "es2022", "producer.mts"]);
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    let mut node = Command::new("node");
    node.current_dir(place);
    Ok(node)
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_in_other_languages_enqueue_and_roll_back() {
    let mut ran = Vec::new();
    for (name, command) in programs().into_iter().chain(clients()) {
        let Ok(mut command) = command.map_err(|missing| {
            // Not by `eprintln!`, which nobody sees when the test passes.
            writeln!(std::io::stderr(), "SKIPPED, {name}: {missing}")
        }) else {
            continue;
        };
        let lab = announced().await;
        lab.run("create table orders (id bigint primary key)").await;
        // Without what only sqlx understands; and pq asks for TLS unless it is told not to.
        let address = lab.url().split('?').next().unwrap();
        let url = format!("{address}?sslmode=disable");
        command.arg("7").env("DATABASE_URL", url);
        let first = command.output().unwrap();
        assert!(first.status.success(), "{name}: {}", String::from_utf8_lossy(&first.stderr));
        let job = String::from_utf8(first.stdout).unwrap();
        let job: i64 = job.trim().parse().unwrap();
        let stored = format!(
            "jobkit.ready r join jobkit.jobs j on j.id = r.job_id
            where j.id = {job} and j.args::jsonb = '{{\"order_id\": 7}}' and j.tags = '{{shop}}'"
        );
        assert_eq!(lab.count(&stored).await, 1, "{name}");
        // The same order again: the job is enqueued, and goes with the transaction.
        let second = command.output().unwrap();
        assert!(!second.status.success(), "{name}");
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert!(said.contains("not placed"), "{name}: {said}");
        lab.run("delete from jobkit.kinds; delete from orders").await;
        let third = command.output().unwrap();
        let said = String::from_utf8_lossy(&third.stderr).into_owned();
        assert!(said.contains("refused: JK003"), "{name}: {said}");
        assert_eq!(lab.count("jobkit.jobs").await, 1, "{name}");
        assert_eq!(lab.count("orders").await, 0, "{name}");
        lab.check_invariants().await;
        ran.push(name);
    }
    writeln!(std::io::stderr(), "{} clients ran: {}", ran.len(), ran.join(", ")).unwrap();
}
