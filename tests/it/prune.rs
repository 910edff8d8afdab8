//! The partitions of the history: made ahead, dropped when they expire, whatever cut that short.

use jobkit::{Enqueue, Job, JobContext, Registration, Worker, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

use crate::jobs::{self, Act, EFFECTS, Noop, Then};
use crate::startup::least_privilege;

/// Kept for a month.
#[derive(Serialize, Deserialize)]
#[job(retention = "30d")]
struct Kept;

impl Job for Kept {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// A worker whose longest retention is one hour.
async fn start(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    worker.queue("default", 5).start().await.unwrap()
}

/// Makes the partition of a day long past, with a job in it.
pub(crate) async fn make_day(lab: &Lab, day: &str) {
    let table = format!("jobkit.finished_{}", day.replace('-', ""));
    lab.run(&format!(
        "create table {table} (like jobkit.finished including all);
        alter table jobkit.finished attach partition {table}
            for values from ('{day} 00:00+00') to (timestamptz '{day} 00:00+00' + interval '1 day');
        insert into jobkit.finished_days values ('{day}');
        insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
            snoozes, created_at, run_at, finished_at, args, expires_at)
        values (-1, 'act', 'default', 0, 'finish', 1, 1, 0, '{day}', '{day}', '{day}', '{{}}',
            '{day} 12:00+00');"
    ))
    .await;
}

fn table(day: &str) -> String {
    format!("to_regclass('jobkit.finished_{}')", day.replace('-', ""))
}

/// Waits until nothing is left of these days.
pub(crate) async fn gone(lab: &Lab, days: &[&str]) {
    for day in days {
        lab.until(&format!("{} is null", table(day))).await;
        assert_eq!(lab.count(&format!("jobkit.finished_days where day = '{day}'")).await, 0);
    }
    assert_eq!(lab.count("jobkit.finished where job_id < 0").await, 0);
}

const LISTED_AND_ATTACHED: &str = "(select array_agg(day order by day) from jobkit.finished_days)
    = (select array_agg(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')
        order by right(inhrelid::regclass::text, 8))
       from pg_inherits where inhparent = 'jobkit.finished'::regclass)";

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_made_ahead_of_the_longest_retention() {
    let lab = Lab::new().await;
    let ahead = "select max(day) - (now() at time zone 'UTC')::date from jobkit.finished_days";
    start(&lab).await.stop().await;
    assert_eq!(lab.value::<i32>(ahead).await, 15);
    let worker = lab.worker().jobs([Registration::of::<Kept, _>()]).queue("default", 1);
    worker.start().await.unwrap().stop().await;
    assert_eq!(lab.value::<i32>(ahead).await, 44);
    start(&lab).await.stop().await;
    assert_eq!(lab.count("jobkit.finished_days").await, 45);
    lab.until(LISTED_AND_ATTACHED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_day_is_dropped_and_no_other() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    make_day(&lab, "2024-02-29").await;
    make_day(&lab, "2024-12-31").await;
    let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    let worker = start(&lab).await;
    gone(&lab, &["2024-02-29", "2024-12-31"]).await;
    lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.finished_days").await, 16);
    lab.until(LISTED_AND_ATTACHED).await;
}

/// Leaves a partition half detached: a reader is in the way, until whoever detaches it gives up.
async fn half_detach(lab: &Lab, table: &str) {
    let mut reader = lab.session("reader").await;
    reader.run("begin; select count(*) from jobkit.finished").await.unwrap();
    let mut pruner = lab.session("pruner").await;
    let pid = pruner.pid;
    let detach = format!("alter table jobkit.finished detach partition {table} concurrently");
    let detaching = tokio::spawn(async move { pruner.run(&detach).await });
    let pending = format!("inhdetachpending from pg_inherits where inhrelid = '{table}'::regclass");
    lab.until(&pending).await;
    assert!(lab.value::<bool>(&format!("select pg_cancel_backend({pid})")).await);
    detaching.await.unwrap().unwrap_err();
    assert!(lab.value::<bool>(&format!("select {pending}")).await);
    reader.run("commit").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_was_cut_short_is_completed() {
    let lab = Lab::new().await;
    let days = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"];
    for day in days {
        make_day(&lab, day).await;
    }
    // One is off the list, one is detached as well, and one is half detached. The fourth is as it
    // should be.
    lab.run("delete from jobkit.finished_days where day < '2024-01-04'").await;
    lab.run("alter table jobkit.finished detach partition jobkit.finished_20240102").await;
    half_detach(&lab, "jobkit.finished_20240103").await;
    let worker = start(&lab).await;
    gone(&lab, &days).await;
    worker.stop().await;
    lab.until(LISTED_AND_ATTACHED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_delays_the_removal_and_no_job() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    make_day(&lab, "2024-01-01").await;
    let mut reader = lab.session("reader").await;
    reader.run("begin; select count(*) from jobkit.finished").await.unwrap();
    let worker = start(&lab).await;
    let waits = "from pg_stat_activity where datname = current_database()
        and query like 'alter table jobkit.finished detach%' and wait_event_type = 'Lock'";
    lab.until(&format!("count(*) = 1 {waits}")).await;
    for _ in 0..3 {
        let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    }
    assert!(lab.value::<bool>(&format!("select {} is not null", table("2024-01-01"))).await);
    reader.run("commit").await.unwrap();
    gone(&lab, &["2024-01-01"]).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_owns_no_table_prunes_as_well() {
    let lab = Lab::new().await;
    start(&lab).await.stop().await;
    make_day(&lab, "2024-01-01").await;
    make_day(&lab, "2024-01-02").await;
    lab.run("alter table jobkit.finished detach partition jobkit.finished_20240101").await;
    let (role, pool) = least_privilege(&lab).await;
    let worker = Worker::new(pool.clone()).jobs([Registration::of::<Noop, _>()]);
    let worker = worker.queue("default", 1).start().await.unwrap();
    gone(&lab, &["2024-01-01", "2024-01-02"]).await;
    worker.stop().await;
    let mut session = lab.session("trespasser").await;
    session.run(&format!("set role {role}")).await.unwrap();
    let today = "(now() at time zone 'UTC')::date";
    session.run(&format!("select jobkit.finished_drop({today})")).await.unwrap();
    session.run("reset role").await.unwrap();
    lab.until(LISTED_AND_ATTACHED).await;
    assert_eq!(lab.count("jobkit.finished_days").await, 16);
    pool.close().await;
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_day_always_stays() {
    let lab = Lab::new().await;
    make_day(&lab, "2024-01-01").await;
    make_day(&lab, "2024-01-02").await;
    let expired = "select string_agg(day::text, ',') from jobkit.finished_expired()";
    assert_eq!(lab.value::<String>(expired).await, "2024-01-01");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_beyond_the_last_day_is_clamped() {
    let lab = Lab::new().await;
    start(&lab).await.stop().await;
    let jobs = [Then::Succeed, Then::Succeed, Then::Succeed].map(Act::then);
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    lab.run("select jobkit.register(1, 'by hand', '{default}', '{act}', '1 min')").await;
    lab.run("select * from jobkit.claim(1, 1, '{act}', '{default}', '{10}')").await;
    let [a, b, c] = [ids[0], ids[1], ids[2]];
    lab.run(&format!(
        "select * from jobkit.settle(1, jobkit.outcomes('{{1,1,1}}', '{{{a},{b},{c}}}',
            '{{finish,discard,finish}}', p_error => '{{null,pointless,null}}', 
            p_keep => '{{1000 days,1000 days,1 hour}}', p_took => '{{1 s,1 s,1 s}}'))"
    ))
    .await;
    let last = "(select (max(day) + 1)::timestamp at time zone 'UTC' from jobkit.finished_days)";
    let clamped = format!("jobkit.finished where {last} - expires_at = interval '1 microsecond'");
    assert_eq!(lab.count(&clamped).await, 2);
    assert_eq!(lab.count("jobkit.finished where expires_at - finished_at <= '1 hour'").await, 1);
    lab.run("select jobkit.deregister(1)").await;
    lab.check_invariants().await;
}

/// Leaves these days of history, counted from today, and no other.
async fn days(lab: &Lab, offsets: &str) {
    lab.run(&format!(
        "do $$ declare v_table text; v_day date; begin
            for v_table in select inhrelid::regclass from pg_inherits
                where inhparent = 'jobkit.finished'::regclass
            loop execute 'drop table ' || v_table; end loop;
            delete from jobkit.finished_days;
            insert into jobkit.finished_days
            select (now() at time zone 'UTC')::date + o from unnest('{{{offsets}}}'::integer[]) o;
            for v_day in select day from jobkit.finished_days loop
                v_table := 'jobkit.finished_' || to_char(v_day, 'YYYYMMDD');
                execute format('create table %s (like jobkit.finished including all)', v_table);
                execute format('alter table jobkit.finished attach partition %s
                    for values from (%L) to (%L)', v_table, v_day || ' 00:00Z',
                    v_day + 1 || ' 00:00Z');
            end loop;
        end $$"
    ))
    .await;
}

/// Ends four jobs that are kept for two days: with success, discarded, cancelled where it waits,
/// and cancelled by the reaper.
async fn four_ends(lab: &Lab) {
    let jobs = [(); 4].map(|()| Act::then(Then::Succeed));
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let [a, b, c, d] = [ids[0], ids[1], ids[2], ids[3]];
    let settle = |job, outcome| {
        format!(
            "select * from jobkit.settle(1, jobkit.outcomes('{{1}}', '{{{job}}}', '{{{outcome}}}',
                p_keep => '{{2 days}}'));"
        )
    };
    let (finish, discard) = (settle(a, "finish"), settle(b, "discard"));
    lab.run(&format!(
        "select jobkit.announce('{{act}}', '{{default}}', '{{0}}', '{{3}}', '{{2 days}}',
            '{{null}}', '{{null}}');
        select jobkit.register(1, 'w', '{{default}}', '{{act}}', '1 min');
        select * from jobkit.claim(1, 1, '{{act}}', '{{default}}', '{{3}}');
        {finish} {discard}
        select jobkit.cancel_mark('{{{c},{d}}}');
        select jobkit.cancel_take('{{{d}}}', 'cancel', 'cancelled');
        select jobkit.deregister(1);
        select jobkit.reap_claim(1, 1)"
    ))
    .await;
    lab.check_invariants().await;
}

/// Days are missing before the first worker, and once the clock has been wrong: it jumped ahead, a
/// pruner made days there and dropped those of now, and it was put right.
#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_finds_a_day_whatever_days_there_are() {
    let lab = Lab::new().await;
    let begins = |day| format!("((finished_at at time zone 'UTC')::date + {day})::timestamp");
    let wanted = "finished_at at time zone 'UTC' + interval '2 days'".to_owned();
    for (offsets, expires) in [
        ("", begins(1)),
        ("0,1,2,3", wanted.clone()),
        ("2,3,40", wanted),
        ("0,1", begins(2)),
        ("0,1,5,6", begins(5)),
        ("40,41", begins(40)),
        ("40,42", begins(40)),
        ("-3,-2", begins(-1)),
        ("-9,-2", begins(-1)),
    ] {
        days(&lab, offsets).await;
        four_ends(&lab).await;
        let off = format!("extract(epoch from expires_at at time zone 'UTC' - ({expires}))");
        let right = format!("jobkit.finished where abs({off}) < 5");
        assert_eq!(lab.count(&right).await, 4, "{offsets}");
    }
}

/// A dump that was taken while a day was made or removed, a table dropped by hand, a removal cut
/// short of a day that has come again.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_days_that_is_wrong_is_put_right() {
    let lab = Lab::new().await;
    days(&lab, "0,1,2,3,4,5").await;
    let day = |day: i32| format!("(now() at time zone 'UTC')::date + {day}");
    let table = async |offset: i32| {
        let sql = format!("select 'jobkit.finished_' || to_char({}, 'YYYYMMDD')", day(offset));
        lab.value::<String>(&sql).await
    };
    lab.run(&format!("delete from jobkit.finished_days where day = {}", day(1))).await;
    lab.run("insert into jobkit.finished_days values ('2024-01-01')").await;
    lab.run(&format!("drop table {}", table(2).await)).await;
    lab.run(&format!("alter table jobkit.finished detach partition {}", table(3).await)).await;
    let fourth_table = table(4).await;
    half_detach(&lab, &fourth_table).await;
    assert_eq!(lab.value::<i32>("select jobkit.finished_prepare(5)").await, 3);
    let fourth = format!("jobkit.finished_days where day = {}", day(4));
    assert_eq!(lab.count(&fourth).await, 0);
    assert_eq!(lab.count("jobkit.finished_days").await, 5);
    let detach = format!("alter table jobkit.finished detach partition {fourth_table}");
    lab.run(&format!("{detach} finalize")).await;
    assert_eq!(lab.value::<i32>("select jobkit.finished_prepare(5)").await, 1);
    assert_eq!(lab.value::<i32>("select jobkit.finished_prepare(5)").await, 0);
    lab.until(LISTED_AND_ATTACHED).await;
}

/// Not before the pruner has made it again: but that is no failure of the job.
#[tokio::test(flavor = "multi_thread")]
async fn a_success_waits_for_a_day_that_somebody_dropped() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let worker = start(&lab).await;
    // The worker makes days when it starts, perhaps only now: not before it has tried twice.
    lab.run("alter function jobkit.finished_prepare(integer) rename to finished_prepare_later")
        .await;
    lab.until(
        "not exists (select from pg_stat_activity where datname = current_database()
            and pid <> pg_backend_pid() and state = 'active' and query like '%finished_prepare(%')",
    )
    .await;
    lab.run(
        "create sequence tries;
        create function try() returns trigger language plpgsql as
            $$ begin perform nextval('public.tries'); return old; end $$;
        create trigger try before delete on jobkit.jobs for each row execute function try();
        do $$ declare v_table text; begin
            for v_table in select inhrelid::regclass from pg_inherits
                where inhparent = 'jobkit.finished'::regclass
            loop execute 'drop table ' || v_table; end loop;
        end $$",
    )
    .await;
    let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    lab.until("last_value >= 2 from tries").await;
    assert_eq!(lab.count("jobkit.attempts").await, 0);
    lab.run(
        "alter function jobkit.finished_prepare_later(integer) rename to finished_prepare;
        select jobkit.finished_prepare(1)",
    )
    .await;
    lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    let attempt = format!("select attempt from jobkit.finished where job_id = {job}");
    assert_eq!(lab.value::<i32>(&attempt).await, 1);
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_retention_nothing_is_kept() {
    let lab = Lab::new().await;
    let worker = start(&lab).await;
    jobkit::enqueue_all([Noop, Noop, Noop], lab.pool()).await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.finished").await, 0);
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
}
