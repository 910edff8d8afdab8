//! What a running worker does by itself about jobs that failed for good.

use std::time::Duration;

use jobkit::{Enqueue, JobId, Worker, WorkerHandle};
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Then};
use crate::races::calls;

async fn lab() -> Lab {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    lab
}

fn worker(lab: &Lab) -> Worker {
    let worker = lab.worker().replay_every(Duration::from_millis(100));
    worker.state(lab.pool().clone()).jobs(jobs::all()).queue("default", 10)
}

async fn start(lab: &Lab) -> WorkerHandle {
    worker(lab).start().await.unwrap()
}

fn payload(then: Then) -> String {
    serde_json::to_string(&Act::then(then)).unwrap()
}

/// Enqueues a job with one attempt and a dead-letter key.
async fn lettered(lab: &Lab, key: &str, then: Then) -> JobId {
    let args = payload(then);
    let enqueue = format!(
        "select jobkit.enqueue('act', '{args}', p_max_attempts => 1, p_dead_letter_key => '{key}')"
    );
    JobId(lab.value(&enqueue).await)
}

/// Jobs without attempts left, half of them in `ready` and half in `scheduled`.
async fn exhausted(lab: &Lab, count: usize) -> Vec<JobId> {
    let jobs = (0..count).map(|_| Act::then(Then::Succeed));
    let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    lab.run(
        "update jobkit.jobs set attempt = max_attempts;
        delete from jobkit.ready where job_id % 2 = 1;
        insert into jobkit.scheduled select run_at, id, true from jobkit.jobs where id % 2 = 1",
    )
    .await;
    jobs
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_without_attempts_are_buried_but_the_one_that_cannot_be() {
    // So many that are wrong from the start: not for the guard.
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let jobs = exhausted(&lab, 150).await;
    let stays = jobs[70];
    lab.run(&format!(
        "create function refuse() returns trigger language plpgsql as
            $$ begin raise exception 'not this one' using errcode = '23514'; end $$;
        create trigger refuse before insert on jobkit.dead_letters for each row
            when (new.job_id = {stays}) execute function refuse()"
    ))
    .await;
    let worker = start(&lab).await;
    for _ in 0..20 {
        let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    }
    lab.until("count(*) = 149 from jobkit.dead_letters").await;
    jobkit_tests::wait(Duration::from_secs(10), "all are counted", || async {
        worker.counts().buried == 149
    })
    .await;
    assert_eq!(lab.value::<i64>("select id from jobkit.jobs").await, stays.0);
    assert_eq!(lab.count("effects where what = 'begin'").await, 20, "none of them ran");
    // Once nothing refuses it, it goes the same way.
    lab.run("drop trigger refuse on jobkit.dead_letters").await;
    lab.until("count(*) = 150 from jobkit.dead_letters").await;
    worker.stop().await;
    let exhausted = "jobkit.dead_letters where (reason, cycles, attempt) = ('exhausted', 1, 3)
        and error = 'it was found with no attempts left' and errors = '[]'";
    assert_eq!(lab.count(exhausted).await, 150);
    for table in ["jobs", "ready", "scheduled"] {
        assert_eq!(lab.count(&format!("jobkit.{table}")).await, 0, "{table}");
    }
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_replays_by_itself_does_so_until_its_last_cycle() {
    let lab = lab().await;
    let worker = start(&lab).await;
    let policy = "auto_replay = '10 ms', max_cycles = 4 where kind = 'act'";
    lab.run(&format!("update jobkit.kinds set {policy}")).await;
    lettered(&lab, "k", Then::Fail("no".to_owned())).await;
    lettered(&lab, "", Then::Fail("no".to_owned())).await;
    lab.until("count(*) = 2 from jobkit.dead_letters where state = 'open' and cycles = 4").await;
    assert_eq!(lab.count("jobkit.dead_letters where replay_at is not null").await, 0);
    assert_eq!(lab.count("effects where what = 'begin'").await, 8);
    assert_eq!(lab.value::<i32>("select jobkit.replay_due(100)").await, 0);
    let history = "jobkit.dead_letters where attempts = 4 and jsonb_array_length(errors) = 4";
    assert_eq!(lab.count(history).await, 2);
    // Nobody asked for any of it.
    assert_eq!(lab.count("jobkit.audit").await, 0);
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_resolved_long_ago_is_pruned() {
    let lab = lab().await;
    let first = start(&lab).await;
    for key in ["old", "new", "open"] {
        lettered(&lab, key, Then::Fail("no".to_owned())).await;
    }
    lab.until("count(*) = 3 from jobkit.dead_letters").await;
    let args = payload(Then::Succeed);
    lab.run(&format!(
        "select jobkit.replay(id, p_args => '{args}') from jobkit.dead_letters
        where key <> 'open'"
    ))
    .await;
    lab.until("count(*) = 2 from jobkit.dead_letters where state = 'resolved'").await;
    first.stop().await;
    lab.run(
        "update jobkit.dead_letters
        set resolved_at = resolved_at - interval '2 h', failed_at = failed_at - interval '2 h'
        where key in ('old', 'open')",
    )
    .await;
    let worker = worker(&lab).keep_resolved(Duration::from_secs(60 * 60)).start().await.unwrap();
    lab.until("count(*) < 3 from jobkit.dead_letters").await;
    let left = "select string_agg(key || ' ' || state, ', ' order by key) from jobkit.dead_letters";
    assert_eq!(lab.value::<String>(left).await, "new resolved, open open");
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_last_attempt_that_crashes_becomes_a_dead_letter_of_its_key() {
    let lab = lab().await;
    start(&lab).await.stop().await;
    // Two workers with ids like real ones, each with a job.
    for (n, worker) in [(1, 0x1f2e_3d4c_5b6a_7988_i64), (2, 0x7e57_ab1e_0ddb_a115_i64)] {
        lettered(&lab, &format!("k{n}"), Then::Succeed).await;
        let register = format!("{worker}, 'dead', '{{default}}', '{{act}}', '1 min'");
        lab.run(&format!("select jobkit.register({register})")).await;
        lab.run(&calls::claim(worker, n, 1)).await;
    }
    lab.run("update jobkit.workers set lease = '1 ms', lease_until = now() - interval '1 s'").await;
    let worker = worker(&lab).lease(Duration::from_secs(1)).start().await.unwrap();
    lab.until("count(*) = 2 from jobkit.dead_letters").await;
    let buried = "jobkit.dead_letters
        where (reason, state, cycles, attempt) = ('crashed', 'open', 1, 1) and key in ('k1', 'k2')
            and fingerprint = jobkit.fingerprint('act', 'crashed', null, error)
            and errors->0->>'outcome' = 'crash'";
    assert_eq!(lab.count(buried).await, 2);
    let causes = "select count(distinct fingerprint) from jobkit.dead_letters";
    assert_eq!(lab.value::<i64>(causes).await, 1, "the same cause, whichever worker died");
    worker.stop().await;
    assert_eq!(lab.count("effects").await, 0, "nobody ran them");
    assert_eq!(lab.count("jobkit.claims").await, 0);
    lab.check_invariants().await;
}

/// A default of the role, a firewall or a proxy may end what is idle for less than a heartbeat.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ended_when_idle_is_no_gap_in_a_lease() {
    let lab = lab().await;
    let worker = worker(&lab).lease(Duration::from_secs(2)).start().await.unwrap();
    lab.run(
        "select jobkit.register(31, 'dead', '{elsewhere}', '{noop}', '1 min');
        select jobkit.enqueue('noop', p_queue => 'elsewhere');
        select from jobkit.claim(31, 1, '{noop}', '{elsewhere}', '{1}');
        update jobkit.workers set lease = '100 ms', lease_until = clock_timestamp() where id = 31",
    )
    .await;
    assert_eq!(lab.count("jobkit.claims").await, 1);
    let cut = "(select count(pg_terminate_backend(pid)) from pg_stat_activity
        where datname = current_database() and application_name = 'jobkit heartbeat'
            and state = 'idle' and state_change < clock_timestamp() - interval '100 ms')
        is not null";
    lab.until_within(
        Duration::from_secs(15),
        &format!("{cut} and not exists (select from jobkit.claims)"),
    )
    .await;
    worker.stop().await;
}
