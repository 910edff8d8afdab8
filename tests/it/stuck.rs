//! One row that the server can neither read nor write holds up no other.

use std::time::Duration;

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::doctor::Finding;
use jobkit::admin::operations::BulkAction;
use jobkit::admin::overview::Attention;
use jobkit::{Admin, Enqueue, JobId, Worker, WorkerHandle};
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};
use crate::races::calls;

/// Stands for a damaged page: no trouble of the job's making, and none that passes.
const DAMAGED: &str = "create function damaged() returns trigger language plpgsql as $$ begin
    raise exception 'could not read block 7' using errcode = tg_argv[0]; end $$;";

/// How long those take that do not depend on the damaged row: beside it they must not wait, and a
/// mutant that has them wait is found by this.
const SOON: Duration = Duration::from_secs(20);

in_a_lab![
    claims_of_dead_workers_are_taken_back_but_for_the_job_that_cannot_be,
    lost_claims_are_given_back_but_for_the_job_that_cannot_be,
    due_jobs_become_ready_beside_one_that_cannot,
    a_claim_is_refused_behind_what_is_paused_or_limited,
];

async fn lab() -> Lab {
    prepared(Lab::new().await).await
}

async fn prepared(lab: Lab) -> Lab {
    lab.run(EFFECTS).await;
    lab.run(DAMAGED).await;
    lab
}

fn worker(lab: &Lab) -> Worker {
    let worker = lab.worker().replay_every(Duration::from_millis(100));
    worker.state(lab.pool().clone()).jobs(jobs::all()).queue("default", 400)
}

async fn start(lab: &Lab) -> WorkerHandle {
    worker(lab).start().await.unwrap()
}

/// From now on this happens to no row for which the condition holds.
async fn damage(lab: &Lab, code: &str, what: &str, condition: &str) {
    lab.run(&format!(
        "create trigger damaged before {what} for each row when ({condition})
            execute function damaged('{code}')"
    ))
    .await;
}

/// It is well again, and the next try is due.
async fn heal(lab: &Lab, table: &str) {
    lab.run(&format!("drop trigger damaged on jobkit.{table}")).await;
}

/// Whoever looks is told which job it is, and why.
async fn seen(lab: &Lab, job: JobId, transition: &str) {
    lab.until(&format!("exists (select from jobkit.stuck_jobs where job_id = {job})")).await;
    let admin = Admin::new(lab.pool());
    let attention = admin.overview().await.unwrap().attention;
    let stuck = attention.iter().find_map(|item| match item {
        Attention::StuckJob(stuck) => Some(stuck),
        _ => None,
    });
    let stuck = stuck.unwrap();
    assert_eq!((stuck.job, &*stuck.transition), (job, transition));
    assert!(stuck.error.contains("could not read block 7"), "{stuck:?}");
    let sentence = admin.job(job).explain().await.unwrap().unwrap().sentence;
    assert!(sentence.starts_with("Stuck since") && sentence.contains(transition), "{sentence}");
    let findings = admin.doctor().await.unwrap().findings;
    let found = |finding: &Finding| finding.found.contains(&format!("job {job}: Stuck"));
    assert!(findings.iter().any(found), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_recorded_beside_one_that_cannot_be() {
    for code in ["XX001", "53100", "55000", "58030"] {
        let lab = lab().await;
        let bad = Noop.enqueue(lab.pool()).await.unwrap();
        damage(&lab, code, "delete on jobkit.jobs", &format!("old.id = {bad}")).await;
        jobkit::enqueue_all((0..300).map(|_| Noop), lab.pool()).await.unwrap();
        let worker = start(&lab).await;
        lab.until("(select array_agg(id) from jobkit.jobs) = '{1}'").await;
        seen(&lab, bad, "settle").await;
        heal(&lab, "jobs").await;
        // Whatever was put off is tried once more at the end.
        worker.stop().await;
        assert_eq!(lab.count("jobkit.jobs").await, 0, "{code}");
        assert_eq!(lab.count("jobkit.stuck_jobs").await, 0, "{code}");
        lab.check_invariants().await;
    }
}

pub(crate) async fn claims_of_dead_workers_are_taken_back_but_for_the_job_that_cannot_be(lab: Lab) {
    let lab = prepared(lab).await;
    start(&lab).await.stop().await;
    for dead in [1, 2, 3] {
        lab.run("select jobkit.enqueue('noop', 'null') from generate_series(1, 5)").await;
        let register = format!("{dead}, 'dead', '{{default}}', '{{noop}}', '1 min'");
        lab.run(&format!("select jobkit.register({register})")).await;
        let claim = calls::Scan { kinds: "noop", ..calls::Scan::default() };
        lab.run(&calls::claim_where(dead, 1, &claim)).await;
    }
    let bad: i64 = lab.value("select job_ids[2] from jobkit.claims where worker_id = 1").await;
    damage(&lab, "XX001", "update on jobkit.jobs", &format!("old.id = {bad}")).await;
    lab.run("update jobkit.workers set lease = '1 ms', lease_until = now() - interval '1 s'").await;
    let worker = worker(&lab).lease(Duration::from_secs(2)).start().await.unwrap();
    lab.until_within(SOON, &format!("(select array_agg(id) from jobkit.jobs) = '{{{bad}}}'")).await;
    let left = format!("jobkit.claims where worker_id = 1 and job_ids = '{{{bad}}}'");
    assert_eq!(lab.count(&left).await, 1, "it stays in its claim");
    heal(&lab, "jobs").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

pub(crate) async fn lost_claims_are_given_back_but_for_the_job_that_cannot_be(lab: Lab) {
    let lab = prepared(lab).await;
    let worker = start(&lab).await;
    damage(&lab, "XX001", "insert on jobkit.ready", "new.job_id = 2").await;
    // As a claim leaves them whose answer is lost.
    lab.run(
        "alter table jobkit.ready disable trigger damaged;
        select jobkit.enqueue('noop', 'null') from generate_series(1, 5);
        alter table jobkit.ready enable trigger damaged;
        delete from jobkit.ready;
        insert into jobkit.claims (worker_id, n, job_ids)
        select w.id, -1, array(select j.id from jobkit.jobs j) from jobkit.workers w",
    )
    .await;
    lab.until_within(SOON, "(select array_agg(id) from jobkit.jobs) = '{2}'").await;
    assert_eq!(lab.count("jobkit.claims where n = -1 and job_ids = '{2}'").await, 1);
    heal(&lab, "ready").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_without_attempts_are_buried_beside_one_that_cannot_be() {
    let lab = lab().await;
    jobkit::enqueue_all((0..150).map(|_| Noop), lab.pool()).await.unwrap();
    lab.run("update jobkit.jobs set attempt = max_attempts").await;
    damage(&lab, "53100", "insert on jobkit.dead_letters", "new.job_id = 70").await;
    let worker = start(&lab).await;
    lab.until_within(SOON, "(select array_agg(id) from jobkit.jobs) = '{70}'").await;
    heal(&lab, "dead_letters").await;
    lab.until("(select count(*) from jobkit.dead_letters) = 150").await;
    worker.stop().await;
    lab.check_invariants().await;
}

pub(crate) async fn due_jobs_become_ready_beside_one_that_cannot(lab: Lab) {
    let lab = prepared(lab).await;
    let worker = start(&lab).await;
    damage(&lab, "XX001", "insert on jobkit.ready", "new.job_id = 3").await;
    lab.run(
        "select jobkit.enqueue('noop', 'null', p_run_at => clock_timestamp() + interval '100 ms')
        from generate_series(1, 20)",
    )
    .await;
    lab.until_within(SOON, "(select array_agg(id) from jobkit.jobs) = '{3}'").await;
    heal(&lab, "ready").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_run_beside_one_whose_row_cannot_be_read() {
    let lab = lab().await;
    // What is no jsonb: to show it is an error of class XX, as with a damaged page.
    lab.run("create cast (bytea as jsonb) without function").await;
    let bad = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    let noops = jobkit::enqueue_all((0..50).map(|_| Noop), lab.pool());
    noops.await.unwrap();
    let metadata =
        |value: &str| format!("update jobkit.jobs set metadata = {value} where id = {bad}");
    lab.run(&metadata("'\\x00000000'::bytea::jsonb")).await;
    let worker = start(&lab).await;
    lab.until("(select array_agg(id) from jobkit.jobs) = '{1}'").await;
    let charged = lab.value::<i32>("select attempt from jobkit.jobs").await;
    assert_eq!(charged, 0, "it is not the job's fault");
    assert_eq!(lab.count("jobkit.stuck_jobs where transition = 'claim'").await, 1);
    lab.run(&metadata("null")).await;
    lab.until("not exists (select from jobkit.jobs)").await;
    lab.until("not exists (select from jobkit.stuck_jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Nothing of jobkit stores such rows: they come by an INSERT of the owner's.
fn insert(id: i64, priority: i16, group: &str, key: &str) -> String {
    format!(
        "with job as (
            insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at,
                created_at, concurrency_group, concurrency_key, args)
            values ({id}, 'noop', 'default', {priority}, 3, now(), now(), {group}, {key},
                'null')
            returning *
        )
        insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group,
            concurrency_key)
        select queue, priority, id, kind, concurrency_group, concurrency_key from job"
    )
}

/// More of what may not be claimed than there are slots, and behind it the row.
pub(crate) async fn a_claim_is_refused_behind_what_is_paused_or_limited(lab: Lab) {
    let lab = prepared(lab).await;
    for rule in ["pause_limit('kind', 'act')", "set_limit('kind', 'act', null, '{\"running\": 1}')"]
    {
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("default", 4);
        let worker = worker.start().await.unwrap();
        lab.run(&format!("select jobkit.{rule}")).await;
        let first = Act::then(Then::WaitForStop).enqueue(lab.pool()).await.unwrap();
        let limited = rule.starts_with("set_limit");
        if limited {
            lab.until(&format!("exists (select from effects where job_id = {first})")).await;
        }
        jobkit::enqueue_all((0..20).map(|_| Act::then(Then::Succeed)), lab.pool()).await.unwrap();
        lab.run(&insert(1_000_001, 0, "null", "'k'")).await;
        lab.run("select jobkit.enqueue('noop', 'null', p_priority => 1)").await;
        let left = "not exists (select from jobkit.jobs where kind = 'noop' and id < 1000000)";
        lab.until_within(SOON, left).await;
        lab.until("exists (select from jobkit.stuck_jobs where job_id = 1000001)").await;
        let waiting = if limited { 20 } else { 21 };
        assert_eq!(lab.count("jobkit.ready where kind = 'act'").await, waiting, "{rule}");
        worker.stop().await;
        lab.run(
            "delete from jobkit.limits; delete from jobkit.turns; delete from jobkit.scheduled;
            delete from jobkit.ready",
        )
        .await;
        lab.run("delete from jobkit.jobs; delete from jobkit.stuck_jobs; delete from effects")
            .await;
    }
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_run_beside_one_whose_claim_is_refused() {
    let lab = lab().await;
    let worker = start(&lab).await;
    // A key without a group: no semaphore can be made for it.
    lab.run(&insert(1001, -3, "null", "'k'")).await;
    lab.run("select jobkit.enqueue('noop', 'null') from generate_series(1, 20)").await;
    lab.until_within(SOON, "(select array_agg(id) from jobkit.jobs) = '{1001}'").await;
    lab.until("exists (select from jobkit.stuck_jobs where transition = 'claim')").await;
    let error: String = lab.value("select error from jobkit.stuck_jobs where job_id = 1001").await;
    assert!(error.contains("concurrency_group"), "{error}");
    let admin = Admin::new(lab.pool());
    let attention = admin.overview().await.unwrap().attention;
    assert!(
        attention.iter().any(|a| matches!(a, Attention::StuckJob(s) if s.job == JobId(1001))),
        "{attention:?}"
    );
    let sentence = admin.job(JobId(1001)).explain().await.unwrap().unwrap().sentence;
    assert!(sentence.starts_with("Stuck since"), "{sentence}");
    // Ids that no enqueue gives, and priorities beyond all lanes: whatever becomes of these.
    for (id, priority) in
        [(i64::MIN, 0), (i64::MIN + 1, 0), (-1, 3), (0, 0), (i64::MAX, 0), (7001, 32767)]
    {
        lab.run(&insert(id, priority, "null", "null")).await;
    }
    lab.run("select jobkit.enqueue('noop', 'null') from generate_series(1, 20)").await;
    lab.until_within(SOON, "(select array_agg(id) from jobkit.jobs) = '{1001}'").await;
    lab.run("update jobkit.jobs set concurrency_key = null").await;
    lab.run("update jobkit.scheduled set run_at = now()").await;
    lab.run("delete from jobkit.stuck_jobs").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// The marking of a job is one step, its end another; a replay is a third.
#[tokio::test(flavor = "multi_thread")]
async fn operations_go_on_beside_a_job_that_cannot_be_changed() {
    let lab = lab().await;
    let admin = Admin::new(lab.pool());
    let worker = start(&lab).await;
    for (what, bad) in [("update", 7), ("delete", 37)] {
        let jobs = (0..30).map(|_| Noop.options().queue("elsewhere"));
        let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
        assert!(jobs.contains(&JobId(bad)), "{jobs:?}");
        damage(&lab, "XX001", &format!("{what} on jobkit.jobs"), &format!("old.id = {bad}")).await;
        let action = BulkAction::Cancel("queue:elsewhere".parse().unwrap());
        let begun = admin.begin_operation(&action, "", what).await.unwrap();
        let ended = format!(
            "exists (select from jobkit.operations
            where id = {} and (state, done, skipped) = ('done', 29, 1))",
            begun.id
        );
        lab.until(&ended).await;
        let results = admin.operation(begun.id).results().await.unwrap();
        assert_eq!(results[0].subject, bad);
        assert!(results[0].outcome.contains("could not read block 7"), "{results:?}");
        assert_eq!(lab.value::<i64>("select id from jobkit.jobs").await, bad);
        heal(&lab, "jobs").await;
        let rest = BulkAction::Cancel("queue:elsewhere".parse().unwrap());
        admin.begin_operation(&rest, "", &format!("rest of {what}")).await.unwrap();
        lab.until("not exists (select from jobkit.jobs)").await;
    }
    for _ in 0..10 {
        Act::then(Then::Dead).enqueue(lab.pool()).await.unwrap();
    }
    lab.until("(select count(*) from jobkit.dead_letters) = 10").await;
    damage(&lab, "XX001", "update on jobkit.dead_letters", "old.id = 4").await;
    let action = BulkAction::Replay(DeadLetterFilter::all());
    let begun = admin.begin_operation(&action, "", "replay").await.unwrap();
    lab.until(&format!(
        "exists (select from jobkit.operations
        where id = {} and (state, done, skipped) = ('done', 9, 1))",
        begun.id
    ))
    .await;
    worker.stop().await;
    lab.check_invariants().await;
}
