//! One worker, several queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jobkit::{Admin, Enqueue};
use jobkit_tests::{Lab, counted};
use tokio::task::JoinSet;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};
use crate::lifecycle::outcome;

/// A claim asks for 500 jobs at most, whatever is free; every queue has its share of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_queue_leaves_room_for_a_small_one() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.queue("large", 1_000).queue("default", 10).start().await.unwrap();
    let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    assert_eq!(outcome(&lab, job).await, "finish");
    worker.stop().await;
    lab.check_invariants().await;
}

/// An even share would be 31 jobs a claim.
#[tokio::test(flavor = "multi_thread")]
async fn the_one_queue_that_has_jobs_has_most_of_a_claim() {
    let lab = Lab::new().await;
    lab.run(
        "create table batches (jobs integer);
         create function note() returns trigger language plpgsql as $$ begin
             insert into public.batches values (cardinality(new.job_ids));
             return null;
         end $$;
         create trigger note after insert on jobkit.claims for each row execute function note()",
    )
    .await;
    jobkit::enqueue_all((0..2_000).map(|_| Noop), lab.pool()).await.unwrap();
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("default", 100);
    let worker = (1..16).fold(worker, |worker, n| worker.queue(format!("empty{n}"), 100));
    let worker = worker.start().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let largest: i32 = lab.value("select max(jobs) from batches").await;
    assert!(largest > 62, "{largest}");
    lab.check_invariants().await;
}

/// Where a scan from the start is dear it is put off, so that what lies below the marks may be
/// found later. But a worker that has looked at everything has no reason to do so again.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asleep_goes_on_scanning_no_dear_queues() {
    let lab = Lab::guarded().await;
    lab.run("create sequence looks").await;
    let gate = "perform jobkit.decide_lock();";
    lab.mutate("claim", gate, &format!("{gate} perform nextval('public.looks');")).await;
    lab.mutate("claim", "* 1000000", "* 1000000 + 5000").await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.poll(Duration::from_secs(1));
    let worker = (0..16).fold(worker, |worker, n| worker.queue(format!("queue{n}"), 10));
    let worker = worker.start().await.unwrap();
    until_asleep(&lab, "7 s").await;
    let looks: i64 = lab.value("select last_value from looks").await;
    let asleep = Instant::now();
    lab.until(&format!("exists (select from looks where last_value >= {looks} + 6)")).await;
    assert!(asleep.elapsed() > Duration::from_millis(1_500), "{:?}", asleep.elapsed());
    worker.stop().await;
    lab.check_invariants().await;
}

/// What was enqueued before another job and committed after it lies below the mark of that.
#[tokio::test(flavor = "multi_thread")]
async fn what_lies_below_the_marks_is_found_as_soon_as_a_scan_from_the_start_is_due() {
    let lab = Lab::guarded().await;
    lab.mutate("claim", "* 1000000", "* 1000000 + 300000").await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.poll(Duration::from_secs(60)).queue("default", 10);
    let worker = worker.start().await.unwrap();
    until_asleep(&lab, "125 s").await;
    let mut late = lab.pool().begin().await.unwrap();
    let early = Noop.enqueue(&mut *late).await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    late.commit().await.unwrap();
    lab.until(&format!("not exists (select from jobkit.jobs where id = {early})")).await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Enqueues notify it, so it has no reason to look again and again after each job, not even where
/// another queue has no slot left. Once in a while it has: after a scan that was slow the next ones
/// do not begin at the start, and are followed by one that does.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_notified_looks_once_for_each_job() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.listen(true).poll(Duration::from_secs(60)).stop_grace(Duration::ZERO);
    let worker = worker.queue("default", 1_000).queue("full", 1).start().await.unwrap();
    lab.until("exists (select from jobkit.sleepers)").await;
    assert_eq!(least_looks(&lab).await, 1, "calls from one job to the next");
    let in_full = async |then| {
        let job = Act::then(then).options().queue("full").enqueue(lab.pool()).await;
        job.unwrap()
    };
    let (holds, waits) = (in_full(Then::WaitForCancel).await, in_full(Then::Succeed).await);
    lab.until(&format!("exists (select from effects where job_id = {holds})")).await;
    assert_eq!(least_looks(&lab).await, 1, "… where a queue is full");
    // Long before it looks by itself.
    Admin::new(lab.pool()).job(holds).cancel().await.unwrap();
    assert_eq!(outcome(&lab, waits).await, "finish");
    worker.stop().await;
}

/// While jobs come without a pause it looks by itself: no enqueue that notifies it makes another
/// producer wait. Then it is notified again, and whatever came in between is found, long before it
/// would poll.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_in_a_rush_takes_its_hint_back() {
    let lab = Lab::new().await;
    note_risen(&lab).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.listen(true).poll(Duration::from_secs(60)).queue("default", 100);
    let worker = worker.start().await.unwrap();
    lab.until("exists (select from jobkit.sleepers)").await;
    let over = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for _ in 0..4 {
        let (pool, over) = (lab.pool().clone(), Arc::clone(&over));
        producers.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                Noop.enqueue(&pool).await.unwrap();
            }
        });
    }
    lab.until("exists (select from risen)").await;
    over.store(true, Ordering::Relaxed);
    producers.join_all().await;
    lab.until("exists (select from jobkit.sleepers)").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// So does one that works off a backlog.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_a_backlog_takes_its_hint_back() {
    let lab = Lab::new().await;
    note_risen(&lab).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.queue("default", 20).start().await.unwrap();
    // Of its 6.4 s, so that it has stood long enough to be taken back.
    let stands = "until < clock_timestamp() + interval '5.7 s'";
    lab.until(&format!("exists (select from jobkit.sleepers where {stands})")).await;
    jobkit::enqueue_all((0..2_000).map(|_| Noop), lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    assert!(lab.value::<i64>("select max(ready) from risen").await > 0);
    worker.stop().await;
    lab.check_invariants().await;
}

/// One that was reaped in its sleep: what enqueues knew of it is gone as well, so nobody wakes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_begins_anew_looks_at_once() {
    let lab = Lab::guarded().await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.poll(Duration::from_secs(60)).queue("default", 10);
    let worker = worker.start().await.unwrap();
    until_asleep(&lab, "124.5 s").await;
    lab.run("delete from jobkit.sleepers; delete from jobkit.workers").await;
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// A crash of the server takes the hints along, which are unlogged. A worker learns of it when its
/// claim fails; until it says again that it sleeps nobody would wake it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_claim_failed_says_again_that_it_sleeps() {
    let lab = Lab::guarded().await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.poll(Duration::from_secs(60)).queue("default", 10).few_connections(false);
    let worker = worker.start().await.unwrap();
    until_asleep(&lab, "124.5 s").await;
    lab.run("delete from jobkit.sleepers").await;
    let claimer = "select pid from pg_stat_activity where datname = current_database()
        and application_name = 'jobkit claim'";
    let ended: bool = lab.value(&format!("select pg_terminate_backend(({claimer}), 10000)")).await;
    assert!(ended);
    lab.run("notify jobkit").await;
    lab.until("exists (select from jobkit.sleepers)").await;
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// A queue without a free slot: its producers need not wait for the lock of NOTIFY, and as soon as
/// there is room they notify again. That is not a moment to leave out another one that is full now:
/// each hint is a write.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_asks_not_to_be_told_of_a_queue_that_is_full() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let told_of = |queue: &str, is_told: bool| {
        let told = format!("exists (select from jobkit.sleepers where '{queue}' = any (queues))");
        if is_told { told } else { format!("not {told}") }
    };
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.poll(Duration::from_secs(20)).queue("narrow", 1).queue("slim", 1);
    let worker = worker.queue("default", 10).start().await.unwrap();
    lab.until(&told_of("narrow", true)).await;
    let hold = async |queue: &str| {
        let holder = Act::then(Then::WaitForCancel).options().queue(queue);
        holder.enqueue(lab.pool()).await.unwrap()
    };
    let holder = hold("narrow").await;
    lab.until(&format!("{} and {}", told_of("narrow", false), told_of("default", true))).await;
    let other = hold("slim").await;
    lab.until("count(*) = 2 from jobkit.claims").await;
    Noop.options().queue("narrow").enqueue(lab.pool()).await.unwrap();
    Admin::new(lab.pool()).job(holder).cancel().await.unwrap();
    lab.until(&format!("not exists (select from jobkit.jobs where id = {holder})")).await;
    // By its slot, not by a poll or a renewal.
    lab.until_within(Duration::from_secs(10), &told_of("narrow", true)).await;
    assert!(lab.value::<bool>(&format!("select {}", told_of("slim", true))).await);
    Admin::new(lab.pool()).job(other).cancel().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Where a scan from the start takes longer than a call may, the marks are the way to go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_scan_from_the_start_that_takes_too_long_does_not_stop_the_others() {
    let lab = Lab::guarded().await;
    lab.run("create table stuck (); create sequence stalls").await;
    let picks = "with picked as (";
    let stalls = "if v_at is null and exists (select from public.stuck) then
        perform nextval('public.stalls'); perform pg_sleep(60); end if;";
    lab.mutate("claim", picks, &format!("{stalls} {picks}")).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true);
    let worker = worker.call_deadline(Duration::from_secs(1)).queue("default", 10);
    let worker = worker.start().await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    lab.run("insert into stuck default values").await;
    lab.until("(select is_called from stalls)").await;
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Waits until the hint of a worker stands for no longer than this: of two polls and 6 s. By then
/// it naps for a poll.
async fn until_asleep(lab: &Lab, left: &str) {
    let stands = format!("until < clock_timestamp() + interval '{left}'");
    lab.until(&format!("exists (select from jobkit.sleepers where {stands})")).await;
}

/// Notes, since it may be over before it can be observed, that a worker has taken its hint back,
/// and how many jobs were ready then.
async fn note_risen(lab: &Lab) {
    lab.run(
        "create table risen (ready bigint);
         create function note() returns trigger language plpgsql as $$ begin
             insert into public.risen select count(*) from jobkit.ready;
             return null;
         end $$;
         create trigger note after delete on jobkit.sleepers for each row execute function note()",
    )
    .await;
}

/// The least number of calls between two jobs that come one second after the other.
async fn least_looks(lab: &Lab) -> i64 {
    let (mut last, mut least) = (0, i64::MAX);
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Act::then(Then::WaitForCancel).enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.claims where n > 2 * {last})")).await;
        // Each call has two numbers, one for what is claimed ahead.
        let call: i64 = lab.value("select (max(n) + 1) / 2 from jobkit.claims").await;
        if last > 0 {
            least = least.min(call - last);
        }
        if least == 1 {
            break;
        }
        last = call;
    }
    least
}

/// Whatever the worker of one call would do, all are done once; only where a call brings many is
/// there a second connection that claims.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_claims_many_jobs_has_two_calls_under_way() {
    for (jobs, claimers) in [(200, 1), (5_000, 2)] {
        let lab = Lab::new().await;
        jobkit::enqueue_all((0..jobs).map(|_| jobs::Noop), lab.pool()).await.unwrap();
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
        let worker = worker.queue("default", 1_200).start().await.unwrap();
        lab.until("not exists (select from jobkit.jobs)").await;
        let sessions = "pg_stat_activity where datname = current_database()
            and application_name in ('jobkit claim', 'jobkit second claim')";
        lab.until(&format!("count(*) = {claimers} from {sessions}")).await;
        lab.until("not exists (select from jobkit.claims)").await;
        assert_eq!(counted(&worker, jobs).await.finished, jobs);
        worker.stop().await;
        lab.check_invariants().await;
    }
}
