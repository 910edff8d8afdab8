//! How it stands with the whole, with each queue, worker and kind.

use std::time::Duration;

use chrono::Utc;
use jobkit::admin::Count;
use jobkit::admin::limits::Change;
use jobkit::admin::overview::{Attention, Hold};
use jobkit::{Enqueue, JobId};

use super::kit::{Desk, HOUR, WORKER};
use crate::jobs::Noop;

const NONE: Count = Count::Exactly(0);

impl Desk {
    pub(super) async fn attention(&self) -> Vec<Attention> {
        self.admin.overview().await.unwrap().attention
    }

    /// This many ready jobs of a kind in a queue, whose payloads nobody reads; due for an hour.
    pub(super) async fn backlog(&self, queue: &str, kind: &str, number: u32) {
        self.lab
            .run(&format!(
                "with job as (
                    insert into jobkit.jobs (kind, queue, priority, max_attempts, created_at,
                        run_at, args)
                    select '{kind}', '{queue}', 0, 3, now() - interval '2 h',
                        now() - interval '1 h', 'null' from generate_series(1, {number})
                    returning id
                )
                insert into jobkit.ready (queue, priority, job_id, kind)
                select '{queue}', 0, id, '{kind}' from job"
            ))
            .await;
    }
}

fn about(age: Option<Duration>, expected: Duration) -> bool {
    age.is_some_and(|age| age >= expected && age < expected + Duration::from_secs(60))
}

#[tokio::test]
async fn an_overview_of_nothing_is_all_zeros() {
    let desk = Desk::without_worker().await;
    let overview = desk.admin.overview().await.unwrap();
    let counts = [overview.ready, overview.scheduled, overview.due_soon, overview.retrying];
    assert_eq!(counts, [NONE; 4]);
    assert_eq!([overview.blocked, overview.dead], [NONE; 2]);
    assert_eq!((overview.running, overview.capacity), (0, 0));
    assert_eq!((overview.ready_age, overview.blocked_age), (None, None));
    assert_eq!((overview.next_run_at, overview.attention), (None, vec![]));
    assert!(desk.admin.queues().await.unwrap().is_empty());
    assert!(desk.admin.workers().await.unwrap().is_empty());
    assert!(desk.admin.kinds().await.unwrap().is_empty());
    assert_eq!(desk.admin.worker(WORKER).get().await.unwrap(), None);
}

#[tokio::test]
async fn an_overview_counts_what_is_in_every_state() {
    let desk = Desk::new().await;
    desk.dead("dead").await;
    desk.running("a").await;
    desk.blocked("a").await;
    let (n, retried) = desk.running("b").await;
    desk.settle(n, retried, "retry").await;
    let soon = "update jobkit.jobs set run_at = now() + '30 min' where attempt = 1 returning id";
    desk.lab
        .run(&format!(
            "with j as ({soon}) update jobkit.scheduled s set run_at = now() + '30 min' from j
        where s.job_id = j.id"
        ))
        .await;
    desk.pay_later("c").await;
    desk.lab.run("update jobkit.blocked_executions set since = now() - interval '7 min'").await;
    desk.backlog("default", "noop", 3).await;
    let overview = desk.admin.overview().await.unwrap();
    assert_eq!(overview.ready, Count::Exactly(3));
    assert!(about(overview.ready_age, HOUR), "{overview:?}");
    assert_eq!((overview.running, overview.capacity), (1, 12));
    assert_eq!((overview.scheduled, overview.due_soon), (Count::Exactly(2), Count::Exactly(1)));
    assert_eq!(overview.retrying, Count::Exactly(1));
    assert!(overview.next_run_at.unwrap() > overview.at);
    assert_eq!((overview.blocked, overview.dead), (Count::Exactly(1), Count::Exactly(1)));
    assert!(about(overview.blocked_age, Duration::from_secs(7 * 60)), "{overview:?}");
    desk.lab.run("update jobkit.workers set stopping = true").await;
    assert_eq!(desk.admin.overview().await.unwrap().capacity, 0);
}

#[tokio::test]
async fn the_age_of_what_is_ready_is_that_of_what_was_due_first_and_not_of_the_first_id() {
    let desk = Desk::new().await;
    desk.backlog("default", "noop", 5).await;
    desk.lab.run("update jobkit.jobs set run_at = now() - interval '3 h' where id = 4").await;
    assert!(about(desk.admin.overview().await.unwrap().ready_age, 2 * HOUR));
    desk.lab.run("update jobkit.jobs set created_at = now() - interval '9 h'").await;
    assert!(about(desk.admin.overview().await.unwrap().ready_age, 3 * HOUR));
    // A producer in SQL may have said anything.
    desk.lab.run("update jobkit.jobs set run_at = '-infinity' where id = 2").await;
    assert!(about(desk.admin.overview().await.unwrap().ready_age, 9 * HOUR));
}

#[tokio::test]
async fn a_paused_queue_needs_attention_while_jobs_wait_in_it() {
    let desk = Desk::new().await;
    desk.admin.acting_as("ada").queue("slow").pause("why").await.unwrap();
    assert_eq!(desk.attention().await, []);
    desk.pay_in("slow", "a").await;
    let attention = desk.attention().await;
    let [Attention::PausedQueue { queue, actor, reason, ready, .. }] = &attention[..] else {
        panic!("{attention:?}");
    };
    assert_eq!((&**queue, actor.as_deref(), reason.as_deref()), ("slow", Some("ada"), Some("why")));
    assert_eq!(*ready, Count::Exactly(1));
    desk.admin.queue("slow").resume().await.unwrap();
    assert_eq!(desk.attention().await, []);
}

#[tokio::test]
async fn a_full_queue_needs_attention_until_a_tenth_of_its_limit_is_free() {
    let desk = Desk::new().await;
    let _ = desk.admin.queue("slow").set(&Change::new().waiting(2)).await.unwrap();
    let jobs = [desk.pay_in("slow", "a").await, desk.pay_in("slow", "b").await];
    // As the last look found it.
    assert_eq!(desk.attention().await, []);
    desk.lab.run("select jobkit.look_at_bounds('slow')").await;
    let attention = desk.attention().await;
    let [Attention::FullQueue { queue, limit, since }] = &attention[..] else {
        panic!("{attention:?}");
    };
    assert_eq!((&**queue, *limit, *since <= Utc::now()), ("slow", 2, true));
    desk.admin.job(jobs[0]).cancel().await.unwrap();
    desk.lab.run("select jobkit.look_at_bounds('slow')").await;
    assert_eq!(desk.attention().await, []);
}

#[tokio::test]
async fn a_key_at_its_limit_needs_attention_when_a_job_waits_for_long() {
    let desk = Desk::new().await;
    desk.running("a").await;
    desk.blocked("a").await;
    desk.blocked("a").await;
    assert_eq!(desk.attention().await, []);
    desk.lab.run("update jobkit.blocked_executions set since = now() - interval '6 min'").await;
    let attention = desk.attention().await;
    let [Attention::HeldKey { group, key, by, blocked, blocked_age }] = &attention[..] else {
        panic!("{attention:?}");
    };
    assert_eq!((&**group, &**key), ("pay", "a"));
    assert_eq!(*by, Hold::Limit { limit: 1, taken: 1 });
    assert_eq!(*blocked, Count::Exactly(2));
    assert!(about(Some(*blocked_age), Duration::from_secs(360)));
}

/// One whose name comes after those of thousands that have just come, or whose urgent jobs never
/// wait.
#[tokio::test]
async fn the_key_that_waits_the_longest_is_met_among_thousands() {
    let desk = Desk::new().await;
    desk.running("z").await;
    let job = desk.blocked("z").await;
    desk.lab
        .run(
            "with job as (
                insert into jobkit.jobs (kind, queue, priority, max_attempts, concurrency_group,
                    concurrency_key, created_at, run_at, args)
                select 'pay', 'default', -1, 3, 'pay', key, now(), now(), 'null'
                from (select 'z' as key union all select 'a' || i from generate_series(1, 3500) i) k
                returning id, concurrency_key as key
            )
            insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
                job_id, queue, kind)
            select 'pay', key, -1, id, 'default', 'pay' from job",
        )
        .await;
    desk.lab
        .run(&format!(
            "update jobkit.blocked_executions set since = now() - interval '20 min'
            where job_id = {job}"
        ))
        .await;
    let attention = desk.attention().await;
    let [Attention::HeldKey { key, blocked_age, .. }] = &attention[..] else {
        panic!("{attention:?}");
    };
    assert_eq!(&**key, "z");
    assert!(about(Some(*blocked_age), Duration::from_secs(20 * 60)));
}

#[tokio::test]
async fn a_worker_needs_attention_when_little_of_its_lease_is_left() {
    let desk = Desk::new().await;
    desk.lab.run("update jobkit.workers set lease_until = now() + lease / 3").await;
    assert_eq!(desk.attention().await, []);
    desk.lab.run("update jobkit.workers set lease_until = now() + lease / 5").await;
    let attention = desk.attention().await;
    let [Attention::LateWorker(worker)] = &attention[..] else { panic!("{attention:?}") };
    assert_eq!((worker.id, worker.late, worker.lapsed), (WORKER, true, false));
    desk.lab.run("update jobkit.workers set lease_until = now() - interval '1 s'").await;
    let attention = desk.attention().await;
    let [Attention::LateWorker(worker)] = &attention[..] else { panic!("{attention:?}") };
    assert!(worker.lapsed);
}

#[tokio::test]
async fn ready_jobs_that_nobody_serves_need_attention() {
    let mut desk = Desk::new().await;
    desk.admin = desk.admin.late_after(24 * HOUR);
    desk.backlog("default", "noop", 1).await;
    assert_eq!(desk.attention().await, []);
    desk.backlog("default", "gone", 60).await;
    desk.backlog("nowhere", "noop", 2).await;
    let unserved = |queue: &str, kind: &str, announced, jobs| {
        (queue.to_owned(), kind.to_owned(), announced, jobs)
    };
    let told = async || {
        let told = |item| match item {
            Attention::Unserved { queue, kind, version: None, announced, jobs, .. } => {
                Some((queue, kind, announced, jobs))
            }
            _ => None,
        };
        desk.attention().await.into_iter().filter_map(told).collect::<Vec<_>>()
    };
    let gone = unserved("default", "gone", false, Count::AtLeast(49));
    let nowhere = unserved("nowhere", "noop", true, Count::Exactly(2));
    assert_eq!(told().await, [gone, nowhere.clone()]);
    // A queue is paused on purpose.
    desk.admin.queue("default").pause("").await.unwrap();
    assert!(!desk.attention().await.iter().any(|a| matches!(
        a, Attention::Unserved { queue, .. } if queue == "default"
    )));
    desk.lab.run("update jobkit.workers set queues = '{nowhere}', slots = '{1}'").await;
    assert!(!told().await.contains(&nowhere));
    desk.lab.run("update jobkit.workers set stopping = true").await;
    let attention = desk.attention().await;
    let Some(Attention::NoWorker { jobs, .. }) = attention.first() else {
        panic!("{attention:?}");
    };
    assert_eq!(*jobs, Count::Exactly(63));
    // It says it all, but for the kind that is missing from the binaries.
    desk.admin.queue("default").resume().await.unwrap();
    let attention = desk.attention().await;
    assert!(
        matches!(
            &attention[..],
            [Attention::NoWorker { .. }, Attention::Unserved { kind, .. }] if kind == "gone"
        ),
        "{attention:?}"
    );
}

#[tokio::test]
async fn a_queue_is_late_when_a_job_that_could_run_waits_for_long() {
    let desk = Desk::new().await;
    desk.running("a").await;
    desk.backlog("default", "noop", 3).await;
    desk.backlog("slow", "gone", 1).await;
    let late = |attention: Vec<Attention>| {
        let late = |item| match item {
            Attention::LateQueue { queue, oldest, slots, busy, .. } => {
                Some((queue, oldest, slots, busy))
            }
            _ => None,
        };
        attention.into_iter().filter_map(late).collect::<Vec<_>>()
    };
    let found = late(desk.attention().await);
    let [(queue, oldest, slots, busy)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&**queue, *slots, *busy), ("default", 10, Count::Exactly(1)));
    assert!(about(Some(*oldest), HOUR));
    let patient = desk.admin.clone().late_after(2 * HOUR);
    assert_eq!(late(patient.overview().await.unwrap().attention), []);
    // One that waited long for its permit is not late as soon as it has it.
    desk.clear().await;
    desk.holder("b").await;
    desk.lab.run("update jobkit.jobs set run_at = now() - interval '9 h'").await;
    desk.lab.run("update jobkit.jobs set created_at = run_at").await;
    assert_eq!(late(desk.attention().await), []);
    desk.lab.run("update jobkit.permits set since = now() - interval '6 min'").await;
    assert_eq!(late(desk.attention().await).len(), 1);
    desk.admin.queue("default").pause("").await.unwrap();
    assert_eq!(late(desk.attention().await), []);
    assert_eq!(desk.admin.overview().await.unwrap().ready_age, None);
}

#[tokio::test]
async fn an_operation_is_stuck_when_neither_it_nor_one_before_it_gets_further() {
    let desk = Desk::new().await;
    let stuck = async || {
        let attention = desk.attention().await;
        attention.into_iter().any(|item| matches!(item, Attention::StuckOperation { .. }))
    };
    desk.lab
        .run(
            "insert into jobkit.operations (verb, filter, idempotency_key, total, up_to, until,
                created_at)
            select 'cancel', '{\"listing\": \"live\", \"paths\": []}', i, 7, 0, now(),
                now() - interval '1 h' from generate_series(1, 2) i",
        )
        .await;
    assert!(stuck().await);
    assert_eq!(desk.lab.value::<String>("select jobkit.operate(1, 500)").await, "done");
    assert!(!stuck().await, "the second one has had no time yet");
    desk.lab.run("update jobkit.operations set ended_at = now() - interval '6 min'").await;
    assert!(stuck().await);
    desk.lab.run("update jobkit.operations set stepped_at = now() where id = 2").await;
    assert!(!stuck().await);
}

#[tokio::test]
async fn a_lost_worker_is_remembered_for_a_day_and_needs_attention_for_an_hour() {
    let desk = Desk::new().await;
    desk.running("a").await;
    desk.lab
        .run("insert into jobkit.lost_workers values (1, 'old', now() - '25 h'::interval, 0)")
        .await;
    let lapsed = "update jobkit.workers set lease = '1 ms', lease_until = now()";
    desk.lab.run(lapsed).await;
    desk.lab.until("(select count(*) from jobkit.reap_workers()) = 1").await;
    let attention = desk.attention().await;
    let lost = attention.iter().find_map(|item| match item {
        Attention::LostWorker { id, name, times: 1, jobs, .. } => Some((*id, &**name, *jobs)),
        _ => None,
    });
    assert_eq!(lost, Some((WORKER, "w", 1)), "{attention:?}");
    assert_eq!(desk.lab.count("jobkit.lost_workers").await, 1, "the old one is forgotten");
    desk.lab.run("update jobkit.lost_workers set lost_at = now() - interval '61 min'").await;
    let attention = desk.attention().await;
    assert!(!attention.iter().any(|item| matches!(item, Attention::LostWorker { .. })));
}

#[tokio::test]
async fn fresh_dead_letters_need_attention() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let attention = desk.attention().await;
    let [Attention::DeadLetters { lately, .. }] = &attention[..] else { panic!("{attention:?}") };
    assert_eq!(*lately, Count::Exactly(1));
    let old = "update jobkit.dead_letters set failed_at = now() - interval '61 min'";
    desk.lab.run(&format!("{old} where id = {id}")).await;
    assert_eq!(desk.attention().await, []);
}

#[tokio::test]
async fn a_queue_shows_what_is_in_it_by_state_and_kind() {
    let desk = Desk::new().await;
    let (n, retried) = desk.running("r").await;
    desk.settle(n, retried, "retry").await;
    desk.running("a").await;
    desk.blocked("a").await;
    desk.pay_later("c").await;
    desk.backlog("default", "noop", 2).await;
    desk.pay_in("elsewhere", "d").await;
    desk.admin.acting_as("ada").queue("slow").pause("why").await.unwrap();
    let queues = desk.admin.queues().await.unwrap();
    let names: Vec<_> = queues.iter().map(|queue| &*queue.queue).collect();
    assert_eq!(names, ["default", "elsewhere", "slow"]);
    let [default, elsewhere, slow] = &queues[..] else { panic!("{queues:?}") };
    assert_eq!((default.capacity, default.workers), (10, 1));
    assert_eq!((default.ready, default.blocked), (Count::Exactly(2), Count::Exactly(1)));
    assert_eq!((default.scheduled, default.retrying), (Count::Exactly(2), Count::Exactly(1)));
    assert_eq!(default.running, Count::Exactly(1));
    assert!(about(default.ready_age, HOUR) && about(default.blocked_age, Duration::ZERO));
    assert!(default.next_run_at.is_some() && default.paused.is_none());
    let kinds: Vec<_> = default
        .kinds
        .iter()
        .map(|kind| (&*kind.kind, kind.ready, kind.blocked, kind.scheduled, kind.running))
        .collect();
    assert_eq!(kinds, [("noop", 2, 0, 0, 0), ("pay", 0, 1, 2, 1)]);
    assert_eq!((elsewhere.ready, elsewhere.workers), (Count::Exactly(1), 0));
    assert_eq!((slow.capacity, slow.kinds.len()), (2, 0));
    assert_eq!(slow.paused.as_ref().unwrap().actor.as_deref(), Some("ada"));
}

#[tokio::test]
async fn counts_end_at_ten_thousand_and_say_so() {
    let desk = Desk::new().await;
    desk.backlog("default", "noop", 10_001).await;
    desk.backlog("slow", "noop", 10_000).await;
    desk.lab
        .run(
            "insert into jobkit.scheduled (run_at, job_id, retrying)
            select j.run_at, j.id, true from jobkit.jobs j;
            insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
                job_id, queue, kind)
            select 'pay', 'a', 0, j.id, j.queue, j.kind from jobkit.jobs j",
        )
        .await;
    desk.alike(10_001).await;
    let many = Count::AtLeast(10_000);
    let overview = desk.admin.overview().await.unwrap();
    assert_eq!([overview.ready, overview.blocked, overview.dead], [many; 3]);
    assert_eq!([overview.scheduled, overview.due_soon, overview.retrying], [many; 3]);
    assert_eq!(overview.ready.to_string(), "10000+");
    let queues = desk.admin.queues().await.unwrap();
    let [default, slow] = &queues[..] else { panic!("{queues:?}") };
    assert_eq!((default.ready, slow.ready), (many, Count::Exactly(10_000)));
    assert_eq!((default.kinds[0].ready, slow.kinds[0].ready), (10_000, 10_000));
    // Of all queues together: the one that was not met may have some, too.
    for count in [default.blocked, slow.blocked, slow.scheduled, slow.retrying] {
        assert!(matches!(count, Count::AtLeast(_)), "{queues:?}");
    }
}

#[tokio::test]
async fn a_worker_shows_what_it_serves_and_what_it_runs() {
    let desk = Desk::new().await;
    let (_, job) = desk.running("a").await;
    let noop = Noop.options().queue("slow").enqueue(desk.lab.pool()).await.unwrap();
    assert_eq!(desk.claim_of("slow").await.1, [noop]);
    let workers = desk.admin.workers().await.unwrap();
    let [summary] = &workers[..] else { panic!("{workers:?}") };
    assert_eq!((summary.id, &*summary.name, summary.running), (WORKER, "w", 2));
    assert_eq!(summary.lease, 24 * HOUR);
    assert!(summary.heartbeat_age < Duration::from_secs(60) && !summary.late && !summary.stopping);
    assert_eq!(summary.kinds, ["pay", "noop"]);
    let slots: Vec<_> = summary.queues.iter().map(|q| (&*q.queue, q.slots)).collect();
    assert_eq!(slots, [("default", Some(10)), ("slow", Some(2))]);
    let worker = desk.admin.worker(WORKER).get().await.unwrap().unwrap();
    let jobs: Vec<(JobId, &str, &str, u32)> =
        worker.jobs.iter().map(|j| (j.job, &*j.kind, &*j.queue, j.attempt)).collect();
    assert_eq!(jobs, [(job, "pay", "default", 1), (noop, "noop", "slow", 1)]);
    assert_eq!(desk.admin.worker(1).get().await.unwrap(), None);
}

#[tokio::test]
async fn a_kind_shows_its_policy_and_who_knows_it() {
    let desk = Desk::new().await;
    desk.lab
        .run(
            "select jobkit.announce('{late}', '{slow}', '{-2}', '{7}', '{null}', '{null}',
                '{null}', '{90 s}', '{3}')",
        )
        .await;
    let kinds = desk.admin.kinds().await.unwrap();
    let [late, noop, pay] = &kinds[..] else { panic!("{kinds:?}") };
    assert_eq!((&*late.kind, &*late.queue, late.priority), ("late", "slow", -2));
    assert_eq!((late.max_attempts, late.retention, late.workers), (7, None, 0));
    assert_eq!(late.auto_replay, Some((Duration::from_secs(90), 3)));
    assert_eq!((&*noop.kind, noop.retention, noop.workers), ("noop", Some(HOUR), 1));
    assert_eq!((noop.auto_replay, &noop.concurrency), (None, &None));
    assert_eq!(pay.concurrency, Some(("pay".to_owned(), 1)));
}

/// With statistics from when there was nothing.
#[tokio::test]
async fn no_look_at_the_whole_reads_a_whole_table_of_jobs() {
    let desk = Desk::new().await;
    desk.lab.run("analyze").await;
    desk.backlog("default", "noop", 20_000).await;
    desk.lab
        .run(
            "insert into jobkit.scheduled (run_at, job_id)
            select now() + interval '1 h', j.id from jobkit.jobs j;
            insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
                job_id, queue, kind)
            select 'pay', j.id % 100, 0, j.id, j.queue, j.kind from jobkit.jobs j",
        )
        .await;
    desk.alike(20_000).await;
    let tables = "relname in ('jobs', 'ready', 'scheduled', 'blocked_executions', 'dead_letters')
        or relname like 'finished%'";
    let scans = format!("select sum(seq_scan)::bigint from pg_stat_user_tables where {tables}");
    let looked_up = "select idx_scan from pg_stat_user_tables where relname = 'jobs'
        and schemaname = 'jobkit'";
    let desk = desk.afresh().await;
    let before: i64 = desk.lab.value(&scans).await;
    let lookups: i64 = desk.lab.value(looked_up).await;
    desk.admin.overview().await.unwrap();
    desk.admin.queues().await.unwrap();
    desk.admin.worker(WORKER).get().await.unwrap();
    desk.admin.workers().await.unwrap();
    desk.admin.kinds().await.unwrap();
    desk.hang_up().await;
    // The queues have looked up 10,000 jobs, and the overview the first 1,000 scheduled ones.
    let lookups = desk.lab.value::<i64>(looked_up).await - lookups;
    assert!((10_000..12_000).contains(&lookups), "{lookups} jobs were looked up");
    assert_eq!(desk.lab.value::<i64>(&scans).await, before);
}
