//! What a claim reads, whatever the backlog and whatever the statistics say of it: on the installed
//! function, by the server's own counters and by the plans it really ran.

use jobkit::admin::jobs::Cancelled;
use jobkit::admin::operations::BulkAction;
use jobkit::{Admin, Enqueue, JobId, Registration};
use jobkit_tests::{Lab, Log, Session, Watch, announce_group};
use sqlx::{AssertSqlSafe, Row};
use tracing::Level;

use crate::jobs::Noop;

in_a_lab![
    a_claim_reads_what_it_takes_of_ten_thousand,
    a_claim_reads_what_it_takes_of_a_million,
    a_marked_claim_passes_over_dead_entries_that_a_reader_pins,
    a_marked_claim_passes_over_jobs_of_unknown_kinds,
    a_claim_of_a_key_without_permits_reads_none_that_it_blocks,
    a_relay_reads_the_one_job_that_it_passes_the_permit_to,
    a_settle_looks_up_the_days_of_history_once_for_all_jobs,
    keys_are_looked_up_one_by_one_however_few_there_were,
];

const SLOTS: i64 = 10;

/// Where scans begin.
#[derive(Debug, Clone, Copy)]
enum From {
    Start,
    /// The same low-water mark in every lane.
    Mark(i64),
    /// No priority has a mark.
    NoMarks,
}

fn claim(queue: &str, from: From, slots: i64) -> String {
    let (lanes, mark, first, last) = match from {
        From::Start => (0, 0, "", ""),
        From::Mark(mark) => (14, mark, "0", "13"),
        From::NoMarks => (14, 0, "14", "13"),
    };
    format!(
        "jobkit.claim(1, nextval('claims'), '{{act, noop}}', '{{{queue}}}', '{{{slots}}}',
            array_fill({mark}::bigint, array[{lanes}]), '{{{first}}}', '{{{last}}}')"
    )
}

/// Makes statistics of a lab change only when told, and begins a worker.
async fn still(lab: Lab) -> Lab {
    lab.run(
        "alter table jobkit.ready set (autovacuum_enabled = off);
        alter table jobkit.jobs set (autovacuum_enabled = off);
        alter table jobkit.claims set (autovacuum_enabled = off);
        alter table jobkit.blocked_executions set (autovacuum_enabled = off);
        create sequence claims;
        select jobkit.register(1, 'w', '{default}', '{act}', '1 day');
        analyze jobkit.ready, jobkit.jobs",
    )
    .await;
    lab
}

/// Makes the jobs with these ids ready.
async fn fill(lab: &Lab, ids: std::ops::RangeInclusive<i64>, queue: &str, kind: &str) {
    let ids = format!("generate_series({}, {}) i", ids.start(), ids.end());
    lab.run(&format!(
        "insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at, args)
        select i, {kind}, {queue}, 0, 3, now(), now(), '{{}}' from {ids};
        insert into jobkit.ready (queue, priority, job_id, kind)
        select {queue}, 0, i, {kind} from {ids}"
    ))
    .await;
}

/// The same in the usual queue, of one key.
async fn fill_keyed(lab: &Lab, ids: std::ops::RangeInclusive<i64>) {
    fill(lab, ids, "'default'", "'act'").await;
    let keyed = "set concurrency_group = 'act', concurrency_key = 'k'";
    lab.run(&format!("update jobkit.jobs {keyed}; update jobkit.ready {keyed}")).await;
}

/// Returns once notices of a session arrive. Another test may just have been the first to get one,
/// without a subscriber, and then none is passed on until interest is asked for anew.
async fn heard(log: &Log, session: &mut Session) {
    for _ in 0..100 {
        session.run("do $$ begin raise notice 'heard'; end $$").await.unwrap();
        if log.take().contains("heard") {
            return;
        }
        tracing::callsite::rebuild_interest_cache();
    }
    panic!("notices do not arrive");
}

/// The plans so far of statements that lock rows of `ready`, or take them out.
fn plans(log: &Log) -> Vec<String> {
    let text = log.take();
    let of_ready = |plan: &&str| plan.contains("Delete on ready") || plan.contains("LockRows");
    let plans = text.split("Query Text: ").skip(1).filter(of_ready);
    plans.map(str::to_owned).collect()
}

/// The counters of a table, in this transaction.
#[derive(Debug)]
struct Touched {
    seq_scans: i64,
    fetched: i64,
    deleted: i64,
}

async fn touched(session: &mut Session, table: &str) -> Touched {
    let sql = format!(
        "select seq_scan, coalesce(idx_tup_fetch, 0) as fetched, n_tup_del as deleted
        from pg_stat_xact_user_tables where schemaname = 'jobkit' and relname = '{table}'"
    );
    let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut session.connection).await.unwrap();
    Touched { seq_scans: row.get(0), fetched: row.get(1), deleted: row.get(2) }
}

/// Claims, looks at what that touched, and gives it back.
async fn look(lab: &Lab, log: &Log, when: &str) {
    for standing in [true, false] {
        for from in [From::Start, From::Mark(0), From::NoMarks] {
            // A session of its own: the counters of a session's last transaction may linger.
            let mut session = if standing {
                lab.worker_session("looked at").await
            } else {
                lab.session("looked at").await
            };
            session.run("load 'auto_explain'").await.unwrap();
            for setting in ["log_level = notice", "log_min_duration = 0", "log_analyze = on"] {
                session.run(&format!("set auto_explain.{setting}")).await.unwrap();
            }
            session.run("set auto_explain.log_nested_statements = on; begin").await.unwrap();
            heard(log, &mut session).await;
            let sql = format!("select count(job_id) from {}", claim("default", from, SLOTS));
            let jobs: i64 = session.value(&sql).await.unwrap();
            let plans = plans(log);
            let what = format!("{when}, standing: {standing}, {from:?}: {plans:#?}");
            assert!(!plans.is_empty(), "no plan was seen: {what}");
            for bad in ["Seq Scan", "Sort", "Bitmap"] {
                assert!(!plans.iter().any(|plan| plan.contains(bad)), "{bad}: {what}");
            }
            let ready = touched(&mut session, "ready").await;
            assert_eq!((ready.seq_scans, ready.deleted), (0, jobs), "{what}");
            assert!(ready.fetched <= SLOTS, "{ready:?}: {what}");
            let payloads = touched(&mut session, "jobs").await;
            assert_eq!((payloads.seq_scans, payloads.deleted), (0, 0), "{what}");
            // Once for their size, and once for themselves.
            assert!(payloads.fetched <= 2 * SLOTS, "{payloads:?}: {what}");
            session.run("commit").await.unwrap();
            give_back(&mut session).await;
        }
    }
}

/// Makes the jobs of the last claim ready again. Not by a rollback: a scan above the marks passes
/// over what somebody had begun to take.
async fn give_back(session: &mut Session) {
    session
        .run(
            "with claim as (
                delete from jobkit.claims where n = (select last_value from claims)
                returning job_ids
            )
            insert into jobkit.ready (queue, priority, job_id, kind)
            select j.queue, j.priority, j.id, j.kind
            from claim c cross join unnest(c.job_ids) u (id) join jobkit.jobs j on j.id = u.id",
        )
        .await
        .unwrap();
}

/// Names of queues and kinds for the backlog: a fifth of it is in the queue claimed from.
const QUEUES: &str = "case when i % 5 = 0 then 'default' else 'other' || i % 5 end";
const KINDS: &str = "case when i % 3 = 0 then 'noop' else 'act' end";

/// Looks at claims before and after there are so many jobs.
async fn a_claim_reads_what_it_takes_of(rows: i64, lab: Lab) {
    let lab = still(lab).await;
    let (log, _guard) = Log::listen(Level::INFO);
    look(&lab, &log, "empty").await;
    fill(&lab, 1..=rows, QUEUES, KINDS).await;
    look(&lab, &log, "filled since the statistics were taken").await;
    lab.run("analyze jobkit.ready, jobkit.jobs").await;
    look(&lab, &log, "fresh statistics").await;
    lab.run("delete from jobkit.ready where job_id > 20; delete from jobkit.jobs where id > 20")
        .await;
    look(&lab, &log, "emptied since the statistics were taken").await;
    lab.run("truncate jobkit.ready, jobkit.jobs").await;
}

/// The smaller backlog; `mutants` breaks the claim and sees this notice.
pub(crate) async fn a_claim_reads_what_it_takes_of_ten_thousand(lab: Lab) {
    a_claim_reads_what_it_takes_of(10_000, lab).await;
}

async fn a_claim_reads_what_it_takes_of_a_million(lab: Lab) {
    a_claim_reads_what_it_takes_of(1_000_000, lab).await;
}

/// The least time in microseconds that a claim of ten spent looking; each is given back.
async fn least(lab: &Lab, queue: &str, from: From) -> i64 {
    let mut session = lab.worker_session("measured").await;
    let sql =
        format!("select max((note ->> 'scan_us')::bigint) from {}", claim(queue, from, SLOTS));
    let mut least = i64::MAX;
    for _ in 0..31 {
        least = least.min(session.value(&sql).await.unwrap());
        give_back(&mut session).await;
    }
    least
}

pub(crate) async fn a_marked_claim_passes_over_dead_entries_that_a_reader_pins(lab: Lab) {
    const DEAD: i64 = 100_000;
    let lab = still(lab).await;
    fill(&lab, 1..=DEAD + 1_000, "'default'", "'act'").await;
    let clean = least(&lab, "default", From::Start).await;
    let mut reader = lab.session("reader").await;
    reader.run("begin isolation level repeatable read").await.unwrap();
    reader.value::<i64>("select count(*) from jobkit.workers").await.unwrap();
    for mark in (0..DEAD).step_by(500) {
        let claimed = claim("default", From::Mark(mark), 500);
        let jobs: i64 = lab.value(&format!("select count(job_id) from {claimed}")).await;
        assert_eq!(jobs, 500);
    }
    let start = least(&lab, "default", From::Start).await;
    let marked = least(&lab, "default", From::Mark(DEAD)).await;
    println!(
        "100,000 dead entries: from the start {start} µs, marked {marked} µs, none {clean} µs"
    );
    assert!(marked <= 2_000, "a marked scan takes {marked} µs");
    assert!(marked * 5 <= start, "from the start {start} µs, marked {marked} µs");
    reader.run("commit").await.unwrap();
}

pub(crate) async fn a_marked_claim_passes_over_jobs_of_unknown_kinds(lab: Lab) {
    const UNKNOWN: i64 = 100_000;
    let lab = still(lab).await;
    fill(&lab, 1..=UNKNOWN, "'default'", "'unknown'").await;
    fill(&lab, UNKNOWN + 1..=UNKNOWN + 1_000, "'default'", "'act'").await;
    fill(&lab, UNKNOWN + 1_001..=UNKNOWN + 2_000, "'clean'", "'act'").await;
    let start = least(&lab, "default", From::Start).await;
    let marked = least(&lab, "default", From::Mark(UNKNOWN)).await;
    let clean = least(&lab, "clean", From::Mark(UNKNOWN)).await;
    println!(
        "100,000 of unknown kind: from the start {start} µs, marked {marked} µs, none {clean} µs"
    );
    // Twice as long, and what a busy machine adds to the shortest of times.
    assert!(marked <= 2 * clean + 500, "marked {marked} µs, without any {clean} µs");
    assert!(marked < start, "from the start {start} µs, marked {marked} µs");
}

/// Whether a key stays crowded is asked of one of its blocked executions, however many there are.
pub(crate) async fn a_claim_of_a_key_without_permits_reads_none_that_it_blocks(lab: Lab) {
    let lab = still(lab).await;
    lab.run(&announce_group("act", 1)).await;
    lab.run("select jobkit.set_limit('key', 'act', 'k', '{\"running\": 0}')").await;
    fill_keyed(&lab, 1..=20_000).await;
    let claim = claim("default", From::Start, SLOTS);
    for statistics in ["", "analyze jobkit.blocked_executions"] {
        for _ in 0..5 {
            let mut session = lab.worker_session("claims").await;
            session.run("begin").await.unwrap();
            let jobs: i64 =
                session.value(&format!("select count(job_id) from {claim}")).await.unwrap();
            let blocked = touched(&mut session, "blocked_executions").await;
            session.run("commit").await.unwrap();
            assert_eq!(jobs, 0);
            assert!(blocked.fetched <= 20 && blocked.seq_scans == 0, "{blocked:?} {statistics}");
        }
        lab.run(statistics).await;
    }
    let blocked: i64 = lab.value("select count(*) from jobkit.blocked_executions").await;
    assert_eq!(blocked, 10 * (SLOTS + 1_000));
}

/// By plans of a time when none was blocked, which a session keeps.
pub(crate) async fn a_relay_reads_the_one_job_that_it_passes_the_permit_to(lab: Lab) {
    let lab = still(lab).await;
    lab.run(&announce_group("act", 1)).await;
    let claim = format!("select count(job_id) from {}", claim("default", From::Start, SLOTS));
    let settle = "select count(*) from jobkit.settle(1, jobkit.outcomes('{1}', '{1}',
        '{finish}'), nextval('claims'), '{default}', '{10}') where ending = 'claim'";
    let mut session = lab.worker_session("settles").await;
    for (ids, claimed) in [(1..=1, 1), (2..=10_000, 0)] {
        fill_keyed(&lab, ids).await;
        assert_eq!(lab.value::<i64>(&claim).await, claimed);
        if claimed == 1 {
            // As if one had been blocked.
            lab.run("update jobkit.semaphores set crowded = true").await;
            lab.run("vacuum analyze jobkit.blocked_executions").await;
            session.run("begin").await.unwrap();
            assert_eq!(session.value::<i64>(settle).await.unwrap(), 0);
            session.run("rollback").await.unwrap();
        }
    }
    session.run("begin").await.unwrap();
    assert_eq!(session.value::<i64>(settle).await.unwrap(), 1);
    for table in ["jobs", "blocked_executions", "permits", "claims"] {
        let read = touched(&mut session, table).await;
        assert!(read.fetched <= 10 && read.seq_scans == 0, "{table}: {read:?}");
    }
    session.run("rollback").await.unwrap();
}

/// For each job only where days are missing.
pub(crate) async fn a_settle_looks_up_the_days_of_history_once_for_all_jobs(lab: Lab) {
    let lab = still(lab).await;
    lab.run("select jobkit.finished_prepare(1)").await;
    fill(&lab, 1..=SLOTS, "'default'", "'act'").await;
    let claim = format!("select count(job_id) from {}", claim("default", From::Start, SLOTS));
    assert_eq!(lab.value::<i64>(&claim).await, SLOTS);
    let mut session = lab.worker_session("settles").await;
    session.run("set track_functions = 'all'; begin").await.unwrap();
    let settle = "select count(s) from
        (select array_agg(job) as job, array_agg(c.n) as n, array_agg(text 'finish') as outcome,
            array_agg(interval '1 hour') as keep
        from jobkit.claims c, unnest(c.job_ids) as job) j,
        jobkit.settle(1, jobkit.outcomes(j.n, j.job, j.outcome, p_keep => j.keep)) s";
    assert_eq!(session.value::<i64>(settle).await.unwrap(), 0);
    let calls = "select count(*) from pg_stat_xact_user_functions where funcname = 'expiry'";
    assert_eq!(session.value::<i64>(calls).await.unwrap(), 0);
    session.run("commit").await.unwrap();
    assert_eq!(lab.count("jobkit.finished").await, SLOTS);
    lab.check_invariants().await;
}

/// What is due stands at the head of the index: the backlog behind it is not looked at.
#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_reads_what_is_due_and_no_more() {
    let lab = Lab::new().await;
    lab.run(
        "with job as (
            insert into jobkit.jobs (kind, queue, priority, max_attempts, args, created_at, run_at)
            select 'act', 'default', 0, 3, '{}', now(),
                now() + case when n <= 10 then interval '-1 s' else interval '1 day' end
            from generate_series(1, 100000) n
            returning id, run_at
        )
        insert into jobkit.scheduled (run_at, job_id) select run_at, id from job",
    )
    .await;
    let mut session = lab.session("promote").await;
    session.run("begin").await.unwrap();
    let promoted: i32 = session.value("select promoted from jobkit.promote(1000)").await.unwrap();
    let fetched = "select idx_tup_fetch + seq_tup_read from pg_stat_xact_user_tables
        where schemaname = 'jobkit' and relname = 'scheduled'";
    let fetched: i64 = session.value(fetched).await.unwrap();
    session.run("commit").await.unwrap();
    assert_eq!(promoted, 10);
    assert!(fetched < 100, "{fetched} rows were read to promote 10");
    lab.check_invariants().await;
}

/// Twenty jobs, one with a key that is taken and the others with new keys; and a cancel of those.
async fn take_and_free_keys(session: &mut Session, round: usize) {
    let same = |value| format!("array_fill({value}, array[20])");
    let [act, holds, queue] = ["'act'::text", "'unfinished'::text", "'default'::text"].map(same);
    let [zero, payload, skip] = ["0::smallint", "'{}'::text", "'skip'::text"].map(same);
    let enqueue = format!(
        "select array_agg(e.job_id) filter (where e.answer = 'enqueued') from
            jobkit.enqueue_unique(jobkit.new_jobs(p_kind => {act}, p_queue => {queue},
                p_priority => {zero}, p_max_attempts => {}, p_args => {payload},
                p_unique_scope => {act}, p_unique_key => array(
                    select case n when 1 then 'taken' else '{round} ' || n end
                    from generate_series(1, 20) n
                ), p_unique_while => {holds}, p_on_duplicate => {skip})) e",
        same("1::smallint")
    );
    let jobs: Vec<i64> = session.value(&enqueue).await.unwrap();
    let jobs = jobs[usize::from(round == 1)..].iter().map(i64::to_string).collect::<Vec<_>>();
    session.run(&format!("select jobkit.cancel_mark('{{{}}}')", jobs.join(","))).await.unwrap();
}

/// A session keeps its plans, those from when there were few keys, too.
pub(crate) async fn keys_are_looked_up_one_by_one_however_few_there_were(lab: Lab) {
    lab.run("alter table jobkit.unique_keys set (autovacuum_enabled = off)").await;
    // Without this the server takes some pages for granted.
    lab.run("vacuum jobkit.unique_keys").await;
    let mut session = lab.session("producer").await;
    for round in 1..=8 {
        take_and_free_keys(&mut session, round).await;
    }
    lab.run(
        "insert into jobkit.unique_keys (scope, key, job_id)
        select 'act', 'other ' || n, -n from generate_series(1, 20000) n",
    )
    .await;
    session.run("begin").await.unwrap();
    let before = touched(&mut session, "unique_keys").await;
    take_and_free_keys(&mut session, 9).await;
    let after = touched(&mut session, "unique_keys").await;
    assert_eq!(after.seq_scans, before.seq_scans);
    assert!(after.fetched - before.fetched <= 200, "{before:?}, {after:?}");
    session.run("commit").await.unwrap();
}

/// Which of the ready jobs hold permits is looked up by queue and priority. With 10,000,000 ready
/// jobs each start of a worker walked their whole index, and held the others up.
#[tokio::test]
async fn those_that_hold_permits_are_found_without_a_look_at_the_backlog() {
    let lab = still(Lab::new().await).await;
    fill(&lab, 1..=100_000, "'default'", "'act'").await;
    lab.vacuum("jobkit.ready").await;
    let watch = Watch::new(lab.url(), true).await.unwrap();
    for (call, passage) in [
        ("jobkit.sweep_unserved(1000)", "from jobkit.ready_queues() q"),
        ("jobkit.pause_limit('queue', 'default')", "jobkit.take_back(array("),
    ] {
        let call = AssertSqlSafe(format!("select {call}"));
        sqlx::query(call).execute(watch.pool()).await.unwrap();
        let blocks = watch.take().blocks_of(passage).unwrap();
        assert!(blocks < 60, "{blocks} blocks: {passage}");
    }
}

/// Where a job is, is looked up by primary keys. A look that walked the others of its priority
/// would go to dozens of blocks for each.
#[tokio::test]
async fn a_ready_job_is_found_without_a_look_at_the_others_of_its_priority() {
    const JOBS: i64 = 5_000;
    let lab = still(Lab::new().await).await;
    fill(&lab, 1..=JOBS, "'default'", "'act'").await;
    let watch = Watch::new(lab.url(), true).await.unwrap();
    let admin = Admin::new(watch.pool());
    let blocked = BulkAction::Cancel("state:blocked".parse().unwrap());
    let begun = admin.begin_operation(&blocked, "", "once").await.unwrap();
    admin.operation(begun.id).run().await.unwrap();
    let page = watch.take().blocks_of("jobkit.matching_jobs(p_operation.filter").unwrap();
    assert!(page <= 7 * JOBS as u64, "{page} blocks for the states of a page");
    admin.job(JobId(JOBS / 2)).explain().await.unwrap().unwrap();
    let explained = watch.take().blocks_of("explain: where a live job").unwrap();
    assert!(explained <= 60, "{explained} blocks to explain one");
    assert_eq!(admin.job(JobId(JOBS / 2)).cancel().await.unwrap(), Cancelled::Now);
    let pulled = watch.take().blocks_of("delete from jobkit.ready").unwrap();
    assert!(pulled <= 20, "{pulled} blocks to take one out");
}

/// The settings that `claim` and `settle` rely on: a worker's own sessions have them, and where
/// there are none, as on a connection that services share, the functions make them.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_has_one_plan_for_every_call_and_that_by_indexes() {
    const SETTINGS: &str = "('plan_cache_mode', 'enable_seqscan', 'enable_bitmapscan', 'jit')";
    for few in [false, true] {
        let lab = Lab::new().await;
        lab.run("create table seen (at text, settings text)").await;
        for (function, passage) in [
            (
                "claim",
                "select clock_timestamp(), exists (select from jobkit.limits l where l.holds)",
            ),
            ("settle", "if p.n = array_fill("),
        ] {
            let look = format!(
                "insert into public.seen select '{function}', string_agg(s.name || '=' ||
                    s.setting, ' ' order by s.name) from pg_settings s where s.name in {SETTINGS};
                {passage}"
            );
            lab.mutate(function, passage, &look).await;
        }
        // A session that has to make the settings is one in which this is called.
        lab.run("create table made ()").await;
        let made = "insert into public.made default values; perform set_config('jobkit.plans'";
        lab.mutate("plan_once", "perform set_config('jobkit.plans'", made).await;
        let id = Noop.enqueue(lab.pool()).await.unwrap();
        let worker = lab.worker().jobs([Registration::of::<Noop, _>()]);
        let worker = worker.few_connections(few).queue("default", 1).start().await.unwrap();
        lab.until(&format!("not exists (select from jobkit.jobs where id = {id})")).await;
        worker.stop().await;
        for function in ["claim", "settle"] {
            let seen =
                format!("string_agg(distinct settings, '; ') from seen where at = '{function}'");
            assert_eq!(
                lab.value::<String>(&format!("select {seen}")).await,
                "enable_bitmapscan=off enable_seqscan=off jit=off \
                plan_cache_mode=force_generic_plan",
                "{function}, few connections: {few}"
            );
        }
        assert_eq!(lab.count("made").await > 0, few);
    }
}

/// A scan that is priced out makes a plan look so dear that the server compiles it, for a quarter
/// of a second each time.
#[tokio::test]
async fn what_prices_scans_out_is_not_compiled() {
    let lab = Lab::new().await;
    let compiled = "pg_proc where pronamespace = 'jobkit'::regnamespace
        and 'enable_seqscan=off' = any (proconfig) and 'jit=off' <> all (proconfig)";
    assert_eq!(lab.count(compiled).await, 0);
}
