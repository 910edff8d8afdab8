//! Rates of concurrency keys over four processes, by the database's clock.
//!
//! `JOBKIT_RATE_SECONDS` makes the first longer, `JOBKIT_RATE_JOBS` the last larger.

use std::time::Duration;

use jobkit::Enqueue;
use jobkit_tests::Lab;

use crate::jobs::{Act, HundredASecond, TenAtOnce, ThousandASecond};
use crate::pauses::CLAIMED;
use crate::permits::none_left;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, clock, heavy_turn, lab};

/// What the first test lasts, and the jobs of the last, unless the environment says more.
const SECONDS: u32 = 8;
const JOBS: u32 = 4_000;

const NO_JOBS: &str = "not exists (select from jobkit.jobs)";

fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

async fn processes(lab: &Lab) -> Vec<Process> {
    let program = Program { concurrency: 50, ..Program::quick(lab.url()) };
    let mut processes = Vec::new();
    for _ in 0..4 {
        processes.push(Process::start(&program).await);
    }
    processes
}

async fn stop(processes: Vec<Process>) {
    for process in processes {
        process.stop().await;
    }
}

/// Between which times by the database's clock each job took its slot: one is noted before the
/// clock is read that dates the slot, the other afterwards, while the key is locked.
const SLOTS: &str = "
    create table slots (
        job_id bigint primary key, after timestamptz not null default clock_timestamp(),
        before timestamptz);
    create index on slots (job_id) where before is null;
    create function note_slot() returns trigger language plpgsql as '
        begin
            insert into public.slots (job_id) values (new.job_id);
            return new;
        end';
    create trigger note_slot before update on jobkit.permits for each row
        when (old.metered and new.metered is null) execute function note_slot();
    create function note_date() returns trigger language plpgsql as '
        begin
            update public.slots set before = clock_timestamp() where before is null;
            return null;
        end';
    create trigger note_date after update of tat on jobkit.semaphores
        for each row execute function note_date()";

/// Those times, in microseconds and in order.
async fn slots(lab: &Lab) -> Vec<(i64, i64)> {
    let sql = "select (extract(epoch from after) * 1000000)::bigint,
            (extract(epoch from before) * 1000000)::bigint
        from slots order by after";
    sqlx::query_as(sql).fetch_all(lab.pool()).await.unwrap()
}

/// The most that began in a stretch of time beyond what the rate, one in so many microseconds,
/// gave meanwhile; as a time, and at least.
fn most_at_once(slots: &[(i64, i64)], every: i64) -> i64 {
    let (mut earliest, mut most) = (i64::MAX, 0);
    for (n, (after, before)) in (0..).zip(slots) {
        earliest = earliest.min(n * every - after);
        most = most.max((n + 1) * every - before - earliest);
    }
    most
}

#[tokio::test]
async fn four_processes_begin_as_many_jobs_as_the_rate_says() {
    const EVERY: i64 = 10_000;
    const BURST: u32 = 50;
    let _turn = heavy_turn().await;
    let seconds = number("JOBKIT_RATE_SECONDS").unwrap_or(SECONDS);
    let lab = lab().await;
    lab.run(SLOTS).await;
    let processes = processes(&lab).await;
    let jobs = 100 * seconds + BURST;
    let act = Act::Sleep(Duration::ZERO);
    let all = (0..jobs).map(|_| HundredASecond { act });
    jobkit::enqueue_all(all, lab.pool()).await.unwrap();
    lab.until_within(PATIENCE + Duration::from_secs(u64::from(seconds)), NO_JOBS).await;
    stop(processes).await;

    let slots = slots(&lab).await;
    assert_eq!(slots.len(), usize::try_from(jobs).unwrap());
    let most = most_at_once(&slots, EVERY);
    // The burst is gone at once, and the rest comes by the rate.
    let took = slots[slots.len() - 1].0 - slots[0].0;
    let share = f64::from(100 * seconds) * 10_000.0 / took as f64;
    println!("{jobs} jobs in {took} µs: {share:.4} of the rate, {most} µs of it at once");
    // In any stretch of time, the whole included, the burst and what the rate gives meanwhile.
    assert!(most <= i64::from(BURST) * EVERY, "{most} µs at once");
    // Who stands still for longer than the burst makes up for does not catch up.
    let least = if seconds < 60 { 0.8 } else { 0.98 };
    assert!(share >= least, "{share} of the rate");
    none_due(&lab).await;
}

/// All slots are free again, and nothing is left of the key.
async fn none_due(lab: &Lab) {
    lab.run(
        "update jobkit.semaphores set tat = clock_timestamp();
        update jobkit.due_keys set due_at = clock_timestamp();
        select jobkit.grant_due(100)",
    )
    .await;
    none_left(lab).await;
}

#[tokio::test]
async fn one_429_stops_four_processes_within_a_tenth_of_a_second() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    lab.run(CLAIMED).await;
    let processes = processes(&lab).await;
    for group in ["ten_at_once", "hundred_a_second"] {
        let mut tries = Vec::new();
        // What was claimed before is noted later where the machine is busy, but not each time.
        while tries.iter().all(|last| *last >= 0.1) {
            assert!(tries.len() < 3, "{group}: {tries:?} s after the pause");
            tries.push(last_of_a_pause(&lab, group).await);
        }
    }
    stop(processes).await;
}

/// How long after its beginning the last job of a paused key was claimed or began to run.
async fn last_of_a_pause(lab: &Lab, group: &str) -> f64 {
    let pause = Duration::from_secs(2);
    lab.run("truncate claimed, effects").await;
    let act = Act::Sleep(Duration::from_millis(1));
    let pool = lab.pool();
    let busy = format!("(select count(*) from claimed) > {}", 60);
    if group == "ten_at_once" {
        let jobs = (0..6_000).map(|_| TenAtOnce { key: 1, act });
        jobkit::enqueue_all(jobs, pool).await.unwrap();
        lab.until(&busy).await;
        let told = TenAtOnce { key: 1, act: Act::PauseKey(pause) };
        told.options().priority(-3).enqueue(pool).await.unwrap();
    } else {
        jobkit::enqueue_all((0..300).map(|_| HundredASecond { act }), pool).await.unwrap();
        lab.until(&busy).await;
        let told = HundredASecond { act: Act::PauseKey(pause) };
        told.options().priority(-3).enqueue(pool).await.unwrap();
    }
    let paused = "exists (select from jobkit.semaphores where paused_until > now())";
    lab.until(paused).await;
    let seen = clock(lab).await;
    // The clock under the lock of the key, which is before the commit.
    let from = "select extract(epoch from paused_until - interval '2 s')::float8
        from jobkit.semaphores where paused_until is not null";
    let from: f64 = lab.value(from).await;
    lab.until(&format!("not {paused}")).await;
    let blocked = lab.count("jobkit.blocked_executions").await;
    assert!(blocked > 0, "there was no load");
    let last = |of: &str| {
        format!(
            "select coalesce(max(extract(epoch from at)::float8), 0) - {from} from {of}
            and extract(epoch from at) < {from} + 1.99"
        )
    };
    let claimed: f64 = lab.value(&last("claimed where true")).await;
    let begun: f64 = lab.value(&last("effects where what = 'begin'")).await;
    let late = format!("claimed where extract(epoch from began) between {seen} and {from} + 1.99");
    assert_eq!(lab.count(&late).await, 0, "{group}: claimed by who came after the pause");
    println!("{group}: the last claim {claimed:.3} s after the pause, the last run {begun:.3} s");
    let last = claimed.max(begun);
    assert!(last < 1.0, "{group}: {last} s after the pause");
    lab.until_within(PATIENCE, NO_JOBS).await;
    last
}

/// Each write of a job's place. A claim that its key kept waiting puts back what it picked, and
/// waits no longer than two milliseconds for a lock then.
const WRITES: &str = "
    create table writes (job_id bigint not null, place text not null);
    create function note_writes() returns trigger language plpgsql as
        'begin
            insert into public.writes select n.job_id,
                case when tg_argv[0] = ''ready'' and current_setting(''lock_timeout'') = ''2ms''
                    then ''put back'' else tg_argv[0] end
            from new n;
            return null;
        end';
    create trigger note_writes after insert on jobkit.ready referencing new table as new
        for each statement execute function note_writes('ready');
    create trigger note_writes after insert on jobkit.blocked_executions
        referencing new table as new
        for each statement execute function note_writes('blocked');
    create trigger note_scheduled after insert on jobkit.scheduled referencing new table as new
        for each statement execute function note_writes('scheduled')";

#[tokio::test]
async fn a_job_over_the_rate_is_written_twice_however_many_there_are() {
    let _turn = heavy_turn().await;
    let jobs = number("JOBKIT_RATE_JOBS").unwrap_or(JOBS);
    let lab = lab().await;
    lab.run(WRITES).await;
    let act = Act::Tally;
    jobkit::enqueue_all((0..jobs).map(|_| ThousandASecond { act }), lab.pool()).await.unwrap();
    lab.run("truncate writes").await;
    // The first claims find their key in other hands, and put back what they picked.
    let mut holder = lab.pool().begin().await.unwrap();
    sqlx::query(
        "select jobkit.create_semaphores(array[j.concurrency_group], array[j.concurrency_key])
        from jobkit.jobs j limit 1",
    )
    .execute(&mut *holder)
    .await
    .unwrap();
    let processes = processes(&lab).await;
    lab.until_within(PATIENCE, "exists (select from writes where place = 'put back')").await;
    holder.commit().await.unwrap();
    let began = clock(&lab).await;
    let patience = PATIENCE + Duration::from_millis(u64::from(jobs) * 5);
    lab.until_within(patience, NO_JOBS).await;
    let took = clock(&lab).await - began;
    stop(processes).await;
    let most: i64 = lab
        .value(
            "select max(n) from (
                select count(*) as n from writes where place <> 'put back' group by job_id
            ) w",
        )
        .await;
    let over = lab.count("writes where place = 'blocked'").await;
    println!("{jobs} jobs in {took:.1} s, {over} over the rate; written {most} times at most");
    // Blocked, and ready; that of the enqueue is not counted.
    assert!(most <= 2, "a job was written {most} times");
    assert!(over > i64::from(jobs) / 2, "only {over} were over the rate");
    let once = "jobkit.finished where outcome = 'finish' and attempt = 1";
    assert_eq!(lab.count(once).await, i64::from(jobs));
    none_due(&lab).await;
}
