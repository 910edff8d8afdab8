//! Lists of jobs: what they find, in which order, page by page, and what they read for it.

use std::collections::HashSet;
use std::time::Instant;

use chrono::{TimeDelta, Utc};
use jobkit::admin::jobs::{Ended, JobCursor, JobPage, JobQuery, Listing, State};
use jobkit::admin::{AdminError, Count};
use jobkit::error::InvalidValue;
use jobkit::{Enqueue, JobId};
use jobkit_tests::Lab;

use super::kit::{Desk, WORKER};
use crate::jobs;

fn query(words: &str) -> JobQuery {
    words.parse().unwrap_or_else(|error| panic!("{words}: {error}"))
}

impl Desk {
    async fn listed(&self, words: &str) -> Vec<JobId> {
        let page = self.admin.jobs(&query(words), None, JobPage::ROWS).await.unwrap();
        assert_eq!((page.next, page.gave_up_after), (None, None), "{words}");
        let ids: Vec<JobId> = page.jobs.iter().map(|job| job.id).collect();
        let count = self.admin.count_jobs(&query(words)).await.unwrap();
        assert_eq!(count, Count::Exactly(ids.len().try_into().unwrap()), "{words}");
        ids
    }

    /// All pages of so many rows.
    async fn turned(&self, words: &str, rows: u32) -> Vec<JobId> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = self.admin.jobs(&query(words), after, rows).await.unwrap();
            assert!(page.jobs.len() <= rows.try_into().unwrap());
            ids.extend(page.jobs.iter().map(|job| job.id));
            let Some(next) = page.next else { return ids };
            // The text of a cursor is as good as the cursor.
            after = Some(next.to_string().parse::<JobCursor>().unwrap());
        }
    }
}

/// One of everything: scheduled, retrying, ready in two queues, running, blocked, and ended in
/// three ways.
struct Scene {
    desk: Desk,
    scheduled: JobId,
    retrying: JobId,
    ready: JobId,
    slow: JobId,
    running: JobId,
    blocked: JobId,
    succeeded: JobId,
    discarded: JobId,
    cancelled: JobId,
}

impl Scene {
    async fn new() -> Self {
        let desk = Desk::new().await;
        let (n, succeeded) = desk.running("a").await;
        desk.settle(n, succeeded, "finish").await;
        let (n, retrying) = desk.running("b").await;
        desk.lab
            .run(&format!(
                "select from jobkit.settle({WORKER}, jobkit.outcomes('{{{n}}}',
                    '{{{retrying}}}', '{{retry}}', p_error => '{{No Route to host}}',
                    p_delay => '{{1 h}}', p_keep => '{{1 h}}'))"
            ))
            .await;
        let discarded = desk.pay("c").await;
        desk.admin.job(discarded).discard("Pointless, really").await.unwrap();
        let cancelled = desk.pay("c").await;
        desk.admin.job(cancelled).cancel().await.unwrap();
        let scheduled = desk.pay_later("d").await;
        let (_, running) = desk.running("e").await;
        let blocked = desk.blocked("e").await;
        let ready = jobs::Noop {}.options().tags(["x", "very urgent"]).priority(-1);
        let ready = ready.enqueue(desk.lab.pool()).await.unwrap();
        let slow = desk.pay_in("slow", "f").await;
        Self {
            desk,
            scheduled,
            retrying,
            ready,
            slow,
            running,
            blocked,
            succeeded,
            discarded,
            cancelled,
        }
    }
}

#[tokio::test]
async fn every_listing_has_its_jobs_in_its_order() {
    let s = Scene::new().await;
    for (words, expected) in [
        ("", vec![s.slow, s.ready, s.blocked, s.running, s.scheduled, s.retrying]),
        ("state:ready", vec![s.ready, s.slow]),
        ("state:scheduled", vec![s.retrying, s.scheduled]),
        ("state:retrying", vec![s.retrying]),
        ("state:running", vec![s.running]),
        ("state:blocked", vec![s.blocked]),
        ("state:finished", vec![s.cancelled, s.discarded, s.succeeded]),
        ("state:discarded", vec![s.discarded]),
        ("state:cancelled", vec![s.cancelled]),
    ] {
        assert_eq!(s.desk.listed(words).await, expected, "{words}");
        assert_eq!(s.desk.turned(words, 1).await, expected, "{words}, one by one");
    }
    let counts = s.desk.admin.count_listings(&JobQuery::default()).await.unwrap();
    let numbers: Vec<u32> = counts.iter().map(|(_, count)| count.number()).collect();
    assert_eq!(numbers, [6, 2, 2, 1, 1, 1, 3, 1, 1]);
    s.desk.lab.check_invariants().await;
}

#[tokio::test]
async fn every_word_narrows_the_list() {
    let s = Scene::new().await;
    let id = |id: JobId| format!("id:{id}");
    for (words, expected) in [
        ("kind:noop".to_owned(), vec![s.ready]),
        ("queue:slow".to_owned(), vec![s.slow]),
        ("state:ready queue:slow".to_owned(), vec![s.slow]),
        (r#"tag:"very urgent""#.to_owned(), vec![s.ready]),
        ("group:pay key:e".to_owned(), vec![s.blocked, s.running]),
        ("state:blocked group:pay key:e".to_owned(), vec![s.blocked]),
        ("state:blocked key:e".to_owned(), vec![s.blocked]),
        ("state:blocked key:d".to_owned(), vec![]),
        (r#"error:"no route""#.to_owned(), vec![s.retrying]),
        ("state:finished error:pointless".to_owned(), vec![s.discarded]),
        (format!("worker:{WORKER:x}"), vec![s.running]),
        (format!("state:finished worker:{WORKER:x}"), vec![s.succeeded]),
        ("worker:7".to_owned(), vec![]),
        (format!("state:ready worker:{WORKER:x}"), vec![]),
        (id(s.running), vec![s.running]),
        (id(s.cancelled), vec![s.cancelled]),
        (format!("state:cancelled {}", s.cancelled), vec![s.cancelled]),
        (format!("state:discarded {}", s.cancelled), vec![]),
        (format!("state:ready {}", s.running), vec![]),
        (format!("kind:noop {}", s.running), vec![]),
        (format!("worker:7 {}", s.running), vec![]),
        (format!("worker:{WORKER:x} {}", s.running), vec![s.running]),
        ("args.account:f".to_owned(), vec![s.slow]),
        ("state:finished args.account:a".to_owned(), vec![s.succeeded]),
        ("args.account:f args.other:f".to_owned(), vec![]),
        ("args.account.deeper:f".to_owned(), vec![]),
    ] {
        assert_eq!(s.desk.listed(&words).await, expected, "{words}");
    }
    let odd = JobQuery { kind: Some("a\0b".to_owned()), ..JobQuery::default() };
    assert!(matches!(
        s.desk.admin.jobs(&odd, None, 1).await,
        Err(AdminError::Invalid(InvalidValue::Nul { what: "kind" }))
    ));
}

#[tokio::test]
async fn a_row_says_what_is_known_of_its_job() {
    let s = Scene::new().await;
    let of = async |id: JobId| s.desk.admin.jobs(&query(&id.to_string()), None, 1).await.unwrap();
    let retrying = of(s.retrying).await.jobs.remove(0);
    assert_eq!(
        (retrying.state, retrying.attempt, retrying.max_attempts),
        (State::Scheduled, 1, 20)
    );
    assert_eq!(retrying.error.as_deref(), Some("No Route to host"));
    assert_eq!(retrying.concurrency, Some(("pay".to_owned(), "b".to_owned())));
    assert!(retrying.run_at > Utc::now() + TimeDelta::minutes(50));
    let running = of(s.running).await.jobs.remove(0);
    assert_eq!((running.state, running.worker), (State::Running, Some(WORKER)));
    assert!(running.since.unwrap() > Utc::now() - TimeDelta::minutes(5));
    let page = s.desk.admin.jobs(&query("state:running"), None, 1).await.unwrap();
    assert_eq!(page.jobs, [running]);
    let blocked = of(s.blocked).await.jobs.remove(0);
    assert_eq!((blocked.state, blocked.worker), (State::Blocked, None));
    let page = s.desk.admin.jobs(&query("state:blocked"), None, 1).await.unwrap();
    assert_eq!(page.jobs, [blocked]);
    let discarded = of(s.discarded).await.jobs.remove(0);
    assert_eq!((discarded.state, discarded.ended), (State::Finished, Some(Ended::Discarded)));
    assert_eq!(discarded.error.as_deref(), Some("Pointless, really"));
    let ready = of(s.ready).await.jobs.remove(0);
    assert_eq!((ready.priority, ready.tags.len(), ready.since), (-1, 2, None));
}

#[tokio::test]
async fn a_search_that_no_index_bounds_gives_up_and_says_so() {
    let desk = Desk::new().await;
    desk.pay("needle").await;
    let hay = (0..10_500).map(|n| format!("hay-{n}"));
    desk.pay_all(hay).await;
    let words = query("key:needle");
    let page = desk.admin.jobs(&words, None, 50).await.unwrap();
    assert_eq!((page.jobs.len(), page.gave_up_after), (0, Some(10_000)));
    assert_eq!(desk.admin.count_jobs(&words).await.unwrap(), Count::AtLeast(0));
    let page = desk.admin.jobs(&words, page.next, 50).await.unwrap();
    assert_eq!((page.jobs.len(), page.gave_up_after, page.next), (1, None, None));
    let large = desk.admin.jobs(&query("args.account:needle"), None, 50).await.unwrap();
    assert_eq!(large.gave_up_after, Some(2_000));
    assert_eq!(desk.turned("args.account:needle", 50).await.len(), 1);
    let all = desk.admin.count_jobs(&JobQuery::default()).await.unwrap();
    assert_eq!(all, Count::AtLeast(10_000));
}

#[tokio::test]
async fn pages_of_many_jobs_have_each_once() {
    let desk = Desk::new().await;
    let mut ids: Vec<JobId> = desk.pay_all((0..1_000).map(|n| format!("a{n}"))).await;
    let turned = desk.turned("", 77).await;
    ids.reverse();
    assert_eq!(turned, ids);
    let ready: HashSet<JobId> = desk.turned("state:ready", 500).await.into_iter().collect();
    assert_eq!(ready.len(), 1_000);
    let page = desk.admin.jobs(&JobQuery::default(), None, 100_000).await.unwrap();
    assert_eq!(page.jobs.len(), 500, "a limit is clamped");
    // A cursor of another listing is the beginning.
    let scheduled = JobQuery { listing: Listing::Scheduled, ..JobQuery::default() };
    let page = desk.admin.jobs(&scheduled, page.next, 50).await.unwrap();
    assert!(page.jobs.is_empty());
}

/// Rows of every table that is listed.
async fn fill(lab: &Lab) {
    lab.run(
        "insert into jobkit.jobs (id, kind, queue, priority, attempt, max_attempts, run_at,
            created_at, concurrency_group, concurrency_key, args)
        select i, 'act', 'q' || i % 3, 0, case when i % 4 = 0 then 1 else 0 end, 20,
            now() + i * interval '1 s', now(), 'g', 'k' || i % 1000, '{}'
        from generate_series(1, 60000) i;
        insert into jobkit.ready (queue, priority, job_id, kind)
        select queue, 0, id, kind from jobkit.jobs where id % 3 = 0;
        insert into jobkit.scheduled (run_at, job_id, retrying)
        select run_at, id, attempt > 0 from jobkit.jobs where id % 3 = 1;
        insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority, job_id,
            queue, kind)
        select concurrency_group, concurrency_key, 0, id, queue, kind from jobkit.jobs
        where id % 3 = 2;
        insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
            snoozes, created_at, run_at, finished_at, args, expires_at)
        select i, 'act', 'q', 0, case i % 10000 when 0 then 'discard' when 1 then 'cancel'
                else 'finish' end, 1, 20, 0, now(), now(), now(), '{}',
            now() + (i % 3) * interval '1 day'
        from generate_series(200001, 260000) i",
    )
    .await;
}

/// Sequential scans and rows fetched of the tables that may be large, by sessions that have ended.
async fn reads(desk: &Desk) -> (i64, i64) {
    let sum = |what: &str| {
        format!(
            "select coalesce(sum({what}), 0)::bigint from pg_stat_user_tables
            where schemaname = 'jobkit' and (relname like 'finished\\_2%' or relname in
                ('jobs', 'ready', 'scheduled', 'blocked_executions'))"
        )
    };
    desk.hang_up().await;
    (desk.lab.value(&sum("seq_scan")).await, desk.lab.value(&sum("idx_tup_fetch")).await)
}

#[tokio::test]
async fn no_list_reads_more_than_it_says_whatever_the_statistics() {
    let desk = Desk::new().await;
    desk.lab.run("alter table jobkit.jobs set (autovacuum_enabled = off)").await;
    fill(&desk.lab).await;
    let desk = desk.afresh().await;
    for analyzed in [false, true] {
        if analyzed {
            desk.lab
                .run(
                    "analyze jobkit.jobs, jobkit.ready, jobkit.scheduled, jobkit.finished,
                jobkit.blocked_executions",
                )
                .await;
        }
        for listing in Listing::ALL {
            for (words, most) in [
                ("", 1_000),
                ("queue:q0", 40_000),
                ("group:g key:k5", 40_000),
                ("kind:none", 60_000),
                ("args.a:1", 10_000),
                ("id:17", 20),
            ] {
                let query = JobQuery { listing, ..query(words) };
                let mut after = None;
                for _ in 0..2 {
                    let (scans, fetched) = reads(&desk).await;
                    let began = Instant::now();
                    let page = desk.admin.jobs(&query, after, 50).await.unwrap();
                    assert!(began.elapsed().as_secs() < 10, "it took {:?}", began.elapsed());
                    let (scans_then, fetched_then) = reads(&desk).await;
                    let what = format!("{listing:?} {words}, analyzed: {analyzed}");
                    assert_eq!(scans_then - scans, 0, "sequential scans: {what}");
                    let read = fetched_then - fetched;
                    assert!(read <= most, "{read} rows were read: {what}");
                    after = page.next;
                }
            }
        }
        let (scans, _) = reads(&desk).await;
        desk.admin.count_listings(&JobQuery::default()).await.unwrap();
        assert_eq!(reads(&desk).await.0, scans, "sequential scans of a count");
    }
}
