//! A copy of the database takes over: a dump that was restored, a standby that was promoted.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::doctor::{Check, Finding};
use jobkit::admin::operations::BulkAction;
use jobkit::{Admin, Enqueue};
use jobkit_tests::Lab;
use private_postgres::{Cluster, Mode};
use tokio::task::JoinSet;

use crate::jobs::{Act, Deed};
use crate::permits::enqueue_keyed;
use crate::process::Process;
use crate::program::Program;
use crate::restart::{missing, produce};
use crate::stage::{all_done, crashable, enqueue, heavy_turn, hurry, light_turn, traces, with};

/// A program of PostgreSQL's client package; says aloud when it is not installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let program = private_postgres::program(name).unwrap();
    if program.is_none() {
        println!("SKIPPED, since {name} is missing: apt-get install postgresql-client");
    }
    program
}

async fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&printed));
}

/// The schema is there as the migrations made it, and no row is where it may not be.
async fn is_sound(lab: &Lab) {
    let applied =
        "select string_agg(applied_at::text, ' ' order by version) from jobkit._migrations";
    let before: String = lab.value(applied).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    assert_eq!(lab.value::<String>(applied).await, before, "there was nothing to migrate");
    lab.check_invariants().await;
    let findings = Admin::new(lab.pool()).doctor().await.unwrap().findings;
    let wrong = |finding: &&Finding| {
        matches!(finding.check, Check::Schema | Check::Indexes | Check::Publication)
    };
    assert_eq!(findings.iter().filter(wrong).collect::<Vec<_>>(), [] as [&Finding; 0]);
}

/// Jobs in every place, and a worker that ran some of them is gone. Returns the ids of those that
/// will succeed.
async fn in_every_place(lab: &Lab) -> Vec<i64> {
    let mut worker = Process::start(&Program { concurrency: 8, ..Program::quick(lab.url()) }).await;
    let mut jobs = enqueue(lab, 20, Act::Tally).await;
    enqueue(lab, 3, Act::Fail).await;
    lab.until("count(*) = 20 from jobkit.finished").await;
    lab.until("count(*) = 3 from jobkit.dead_letters").await;
    // Three of them run, with a permit each, and five behind them wait for one.
    jobs.extend(enqueue_keyed(lab, 1, [1, 2, 3], Act::HangOnce).await);
    jobs.extend(enqueue(lab, 2, Act::HangOnce).await);
    traces(lab, 5, "what = 'begin'").await;
    jobs.extend(enqueue_keyed(lab, 1, [1, 1, 2, 2, 3], Act::Tally).await);
    lab.until("count(*) = 5 from jobkit.blocked_executions").await;
    worker.kill();
    let later = Deed { act: Act::Tally }.options().after(Duration::from_secs(3600));
    jobs.push(later.enqueue(lab.pool()).await.unwrap());
    jobs.extend(enqueue(lab, 20, Act::Tally).await);
    let replay = BulkAction::Replay(DeadLetterFilter::all());
    Admin::new(lab.pool()).begin_operation(&replay, "", "all of them").await.unwrap();
    for place in ["ready", "scheduled", "blocked_executions", "claims", "permits", "workers"] {
        assert!(lab.count(&format!("jobkit.{place}")).await > 0, "{place}");
    }
    jobs.into_iter().map(|job| job.0).collect()
}

#[tokio::test]
async fn a_restored_dump_goes_on_where_it_was() {
    let (Some(dump), Some(restore)) = (program("pg_dump"), program("pg_restore")) else { return };
    let _turn = light_turn().await;
    let (_cluster, lab) = crashable(&[]).await;
    let jobs = in_every_place(&lab).await;
    let file = std::env::temp_dir().join(format!("jobkit-{:016x}.dump", fastrand::u64(..)));
    run(Command::new(dump).args(["-Fc", "-d", lab.url(), "-f"]).arg(&file)).await;
    lab.run("create database restored template template0").await;
    let url = [lab.url().rsplit_once('/').unwrap().0, "/restored"].concat();
    run(Command::new(restore).args(["--exit-on-error", "-d", &url]).arg(&file)).await;
    std::fs::remove_file(&file).unwrap();

    let restored = Lab::at(url).await;
    for table in ["jobs", "claims", "permits", "finished", "dead_letters", "operations"] {
        let table = format!("jobkit.{table}");
        assert_eq!(restored.count(&table).await, lab.count(&table).await, "{table}");
    }
    is_sound(&restored).await;
    let worker = Process::start(&Program::quick(restored.url())).await;
    restored.until("not exists (select from jobkit.operations where ended_at is null)").await;
    hurry(&restored).await;
    all_done(&restored).await;
    assert_eq!(missing(&restored, &jobs).await, 0);
    assert_eq!(restored.count("jobkit.dead_letters where generation = 2").await, 3);
    // What ran when its worker was killed, and nothing else, is charged a crash.
    let crashed = "jobkit.finished where errors @? '$[*] ? (@.outcome == \"crash\")'";
    assert_eq!(restored.count(crashed).await, 5);
    worker.stop().await;
    assert_eq!(restored.count("jobkit.sleepers").await, 0);
    restored.check_invariants().await;
}

/// With synchronous replication. Without, the last commits may be gone.
#[tokio::test]
async fn a_promoted_standby_goes_on_and_has_every_acknowledged_job() {
    if program("pg_basebackup").is_none() {
        return;
    }
    let _turn = heavy_turn().await;
    let (primary, lab) = crashable(&[]).await;
    let made = Arc::clone(&primary);
    let standby = tokio::task::spawn_blocking(move || made.standby().unwrap()).await.unwrap();
    let standby: Arc<Cluster> = Arc::new(standby);
    lab.run("alter system set synchronous_standby_names = 'walreceiver'").await;
    lab.run("select pg_reload_conf()").await;
    lab.until("exists (select from pg_stat_replication where sync_state = 'sync')").await;

    let program = Program { concurrency: 20, ..Program::quick(lab.url()) };
    let mut worker = Process::start(&program).await;
    let enough = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for _ in 0..2 {
        producers.spawn(produce(lab.url().to_owned(), Arc::clone(&enough)));
    }
    let hanging = enqueue(&lab, 5, Act::HangOnce).await;
    traces(&lab, 5, "what = 'begin'").await;
    lab.until("count(*) > 200 from jobkit.finished").await;
    with(&primary, |primary| primary.stop(Mode::Immediate)).await;
    enough.store(true, Ordering::Relaxed);
    let mut acknowledged: Vec<i64> = producers.join_all().await.concat();
    acknowledged.extend(hanging.iter().map(|job| job.0));
    worker.kill();
    with(&standby, Cluster::promote).await;

    let promoted = Lab::at(standby.url()).await;
    assert_eq!(promoted.count("jobkit.sleepers").await, 0, "a hint is not replicated");
    is_sound(&promoted).await;
    assert!(promoted.count("jobkit.claims").await > 0, "some of them hang, at least");
    let worker = Process::start(&Program::quick(promoted.url())).await;
    all_done(&promoted).await;
    assert!(acknowledged.len() > 100, "there was hardly any load");
    assert_eq!(missing(&promoted, &acknowledged).await, 0);
    worker.stop().await;
    promoted.check_invariants().await;
}
