//! Whoever does an operation is killed in the middle of it, again and again.

use std::time::{Duration, Instant};

use jobkit::Admin;
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::operations::{BulkAction, OperationState};
use jobkit_tests::Lab;

use crate::jobs::Act;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{heavy_turn, lab};

const LETTERS: i64 = 50_000;

/// Every so many of them the replay is run, too, by the workers that are killed.
const RUN: i64 = 50;

/// Makes the dead letters.
async fn bury(lab: &Lab) {
    let args = serde_json::json!({ "act": Act::Sleep(Duration::ZERO) });
    lab.run(&format!(
        "insert into jobkit.dead_letters (kind, job_id, queue, priority, max_attempts, reason,
            error, fingerprint, errors, attempt, attempts, snoozes, created_at, first_failed_at,
            failed_at, args)
        select 'deed', -i, case when i % {RUN} = 0 then 'default' else 'nobodys' end, 0, 5, 'dead',
            'e', 'f', '[]', 1, 1, 0, now(), now(), now() - i % 1000 * interval '1 s', '{args}'
        from generate_series(1, {LETTERS}) i"
    ))
    .await;
}

#[tokio::test]
async fn a_replay_of_50_000_survives_the_death_of_who_does_it_and_replays_each_once() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    let program = Program::quick(lab.url());
    let mut runner = Process::start(&program).await;
    bury(&lab).await;
    let admin = Admin::new(lab.pool());
    let began = Instant::now();
    let action = BulkAction::Replay(DeadLetterFilter::all());
    let begun = admin.begin_operation(&action, "", "all of them").await.unwrap();
    let mut deaths = 0;
    for part in 1..=4 {
        let reached = part * LETTERS / 5;
        lab.until(&format!("done >= {reached} from jobkit.operations where id = {}", begun.id))
            .await;
        runner.kill();
        let left = admin.operation(begun.id).get().await.unwrap().unwrap();
        deaths += i64::from(!left.state.has_ended());
        runner = Process::start(&program).await;
    }
    let ends = format!("state = 'done' from jobkit.operations where id = {}", begun.id);
    lab.until_within(Duration::from_secs(60), &ends).await;
    let ended = admin.operation(begun.id).get().await.unwrap().unwrap();
    println!("{LETTERS} in {:.1} s, {deaths} deaths", began.elapsed().as_secs_f64());
    assert!(deaths >= 2, "too few deaths met the operation: {deaths}");
    assert_eq!(ended.state, OperationState::Done);
    assert_eq!((ended.done + ended.skipped, ended.skipped), (LETTERS.try_into().unwrap(), 0));
    let resolved = format!("count(*) = {} from jobkit.finished", LETTERS / RUN);
    lab.until_within(Duration::from_secs(60), &resolved).await;
    let replays = "(select dead_letter_id from jobkit.jobs where dead_letter_id is not null
        union all select dead_letter_id from jobkit.finished) r";
    assert_eq!(lab.count(replays).await, LETTERS, "one replay of each");
    let different: i64 = lab.value(&format!("select count(distinct r) from {replays}")).await;
    assert_eq!(different, LETTERS);
    assert_eq!(lab.count("jobkit.dead_letters where generation <> 1 or state = 'open'").await, 0);
    let audited = "select (detail->>'done')::bigint from jobkit.audit where action = 'begin'";
    let audited: i64 = lab.value(audited).await;
    assert_eq!(audited, LETTERS);
    runner.stop().await;
    lab.check_invariants().await;
}
