//! Measures: what workers count, when it is written, and what is made of it.

use std::time::Duration;

use jobkit::admin::measures::{MeasureFilter, MeasureSeries, Measures};
use jobkit::{Enqueue, WorkerHandle};

use super::kit::{Desk, HOUR};
use crate::jobs::{self, Act, Noop, Then};

const MINUTE: Duration = Duration::from_secs(60);

impl Desk {
    /// A real worker of `default` whose heart beats often.
    async fn quick(&self) -> WorkerHandle {
        let worker = self.lab.worker().state(self.lab.direct().clone()).jobs(jobs::all());
        let worker = worker.queue("default", 10).stop_grace(Duration::from_millis(100));
        worker.heartbeat(Duration::from_millis(50)).start().await.unwrap()
    }

    async fn act(&self, then: Then) {
        Act::then(then).enqueue(self.lab.pool()).await.unwrap();
    }

    async fn drained(&self) {
        self.lab.until("not exists (select from jobkit.jobs)").await;
    }

    async fn series(&self, filter: &MeasureFilter, since: Duration) -> MeasureSeries {
        self.admin.measures(filter, since, MINUTE).await.unwrap()
    }

    /// All of the last hour together.
    async fn hour(&self, filter: &MeasureFilter) -> Measures {
        let mut series = self.admin.measures(filter, HOUR, 3 * HOUR).await.unwrap();
        // The end of a stretch may have come between.
        if series.points.len() > 1 && series.points[1].measures.attempts() == 0 {
            series.points.truncate(1);
        }
        series.points.pop().unwrap().measures
    }

    /// Writes of measures and of heartbeats from now on.
    async fn count_writes(&self) {
        self.lab
            .run(
                "create table writes (what text not null);
                create function wrote() returns trigger language plpgsql as $$ begin
                    insert into public.writes values (tg_argv[0]); return null;
                end $$;
                create trigger a after insert on jobkit.measures
                    for each statement execute function wrote('statement');
                create trigger b after insert or update on jobkit.measures
                    for each row execute function wrote('row');
                create trigger c after update on jobkit.workers
                    for each statement execute function wrote('beat')",
            )
            .await;
    }

    async fn writes(&self, what: &str) -> i64 {
        self.lab.count(&format!("writes where what = '{what}'")).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_outcome_is_measured_as_what_it_became() {
    let desk = Desk::without_worker().await;
    for then in [
        Then::Succeed,
        Then::Succeed,
        Then::FailTimes(1),
        Then::Fail("no".to_owned()),
        Then::Dead,
        Then::Discard,
        Then::SnoozeTimes(2),
    ] {
        desk.act(then).await;
    }
    let worker = desk.quick().await;
    desk.drained().await;
    desk.act(Then::WaitForCancel).await;
    desk.lab.until("exists (select from jobkit.claims)").await;
    desk.all(&jobkit::admin::operations::BulkAction::Cancel(
        jobkit::admin::jobs::JobQuery::default(),
    ))
    .await;
    desk.drained().await;
    // What is given back because the worker stops is none of the job's doing.
    desk.act(Then::WaitForCancel).await;
    desk.lab.until("exists (select from jobkit.claims)").await;
    worker.stop().await;
    let measures = desk.hour(&MeasureFilter::all()).await;
    let Measures { finished, retried, snoozed, buried, discarded, cancelled, .. } = measures;
    assert_eq!((finished, retried, snoozed), (4, 3, 2));
    assert_eq!((buried, discarded, cancelled), (2, 1, 1));
    assert_eq!((measures.attempts(), measures.run.count(), measures.wait.count()), (13, 13, 13));
    let rate = measures.failure_rate().unwrap();
    assert!((rate - 5.0 / 9.0).abs() < 1e-9, "{rate}");
    assert_eq!(desk.hour(&MeasureFilter::all().kind("act")).await, measures);
    assert_eq!(desk.hour(&MeasureFilter::all().kind("noop")).await, Measures::default());
    assert_eq!(desk.hour(&MeasureFilter::all().queue("slow")).await, Measures::default());
    let kinds = desk.admin.kinds().await.unwrap();
    let act = kinds.iter().find(|kind| kind.kind == "act").unwrap();
    assert_eq!(act.lately, measures);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_from_when_it_was_due_and_runs_as_long_as_its_handler_does() {
    let desk = Desk::without_worker().await;
    desk.backlog("default", "noop", 3).await;
    // Of a time that is none, the time of the enqueue counts: two hours ago.
    desk.lab.run("update jobkit.jobs set run_at = '-infinity' where id = 3").await;
    desk.act(Then::Sleep(Duration::from_millis(300))).await;
    let worker = desk.quick().await;
    desk.drained().await;
    worker.stop().await;
    let noop = desk.hour(&MeasureFilter::all().kind("noop")).await;
    assert_eq!(noop.wait.count(), 3);
    let about = |share: f64, hours: f64| {
        let found = noop.wait.percentile(share).unwrap().as_secs_f64() / 3600.0;
        assert!(found > hours / 1.42 && found < hours * 1.42, "{share}: {found} h");
    };
    about(0.5, 1.0);
    about(1.0, 2.0);
    assert!(noop.run.percentile(1.0).unwrap() < Duration::from_secs(20));
    let act = desk.hour(&MeasureFilter::all().kind("act")).await;
    let run = act.run.percentile(1.0).unwrap();
    assert!(run >= Duration::from_millis(300), "{run:?}");
    assert!(act.wait.percentile(1.0).unwrap() < MINUTE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_writes_one_row_for_each_kind_in_one_statement_and_nothing_when_idle() {
    let desk = Desk::without_worker().await;
    desk.count_writes().await;
    let jobs = (0..2_000).map(|_| Noop);
    jobkit::enqueue_all(jobs, desk.lab.pool()).await.unwrap();
    let worker = desk.quick().await;
    desk.drained().await;
    let sum = "(select coalesce(sum(count), 0) from jobkit.measures where span = 1)";
    desk.lab.until(&format!("{sum} = 2000")).await;
    let (statements, rows) = (desk.writes("statement").await, desk.writes("row").await);
    let beats = desk.writes("beat").await;
    println!("2,000 jobs: {beats} heartbeats, {statements} statements, {rows} rows");
    assert!(statements <= beats, "{statements} statements in {beats} heartbeats");
    // One kind, one queue, one outcome: its minute and its quarter of an hour.
    assert_eq!(rows, 2 * statements);
    assert!((1..100).contains(&statements));
    desk.lab.until(&format!("count(*) >= {beats} + 5 from writes where what = 'beat'")).await;
    assert_eq!(desk.writes("statement").await, statements);
    worker.stop().await;
    assert_eq!(desk.writes("statement").await, statements);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_written_is_written_with_a_later_heartbeat() {
    let desk = Desk::without_worker().await;
    let worker = desk.quick().await;
    let mut holder = desk.lab.session("holder").await;
    holder.run("begin; lock table jobkit.measures in share mode").await.unwrap();
    let id = worker.id();
    desk.act(Then::Succeed).await;
    desk.drained().await;
    // Several beats are refused, and none of them costs the lease.
    let beat = format!("(select heartbeat_at from jobkit.workers where id = {id})");
    let waits = "exists (select from pg_locks where not granted
        and database = (select oid from pg_database where datname = current_database()))";
    for _ in 0..3 {
        desk.lab.until(waits).await;
        let before: chrono::DateTime<chrono::Utc> = desk.lab.value(&format!("select {beat}")).await;
        desk.lab.until(&format!("{beat} > '{before}'")).await;
    }
    desk.act(Then::Succeed).await;
    desk.drained().await;
    holder.run("commit").await.unwrap();
    desk.lab.until("(select sum(count) from jobkit.measures where span = 1) = 2").await;
    assert_eq!(worker.id(), id);
    worker.stop().await;
    let measures = desk.hour(&MeasureFilter::all()).await;
    assert_eq!((measures.finished, measures.run.count(), measures.wait.count()), (2, 2, 2));
}

#[tokio::test]
async fn a_flush_does_not_wait_for_the_disk_and_changes_no_other_commit() {
    let desk = Desk::without_worker().await;
    let mut session = desk.lab.session("flush").await;
    let setting = "select current_setting('synchronous_commit')";
    let before: String = session.value(setting).await.unwrap();
    assert_ne!(before, "off");
    session.run("begin").await.unwrap();
    session.run("select jobkit.measure('[]')").await.unwrap();
    assert_eq!(session.value::<String>(setting).await.unwrap(), "off");
    session.run("commit").await.unwrap();
    assert_eq!(session.value::<String>(setting).await.unwrap(), before);
}

#[tokio::test]
async fn two_workers_add_to_the_same_row() {
    let desk = Desk::without_worker().await;
    let row = |count, run, wait| {
        format!(
            r#"select jobkit.measure('[{{"queue": "q", "kind": "k", "outcome": "finish",
                "count": {count}, "run": {run}, "wait": {wait}}}]')"#
        )
    };
    desk.lab.run(&row(3, "[1, 2]", "[0, 0, 3]")).await;
    desk.lab.run(&row(2, "[0, 0, 0, 2]", "[2]")).await;
    desk.lab.run(&row(0, "[]", "[]")).await;
    let measures = desk.hour(&MeasureFilter::all()).await;
    let numbers: Vec<u64> = measures.run.buckets().map(|(_, number)| number).collect();
    assert_eq!((measures.finished, numbers), (5, vec![1, 2, 0, 2]));
    let numbers: Vec<u64> = measures.wait.buckets().map(|(_, number)| number).collect();
    assert_eq!(numbers, [2, 0, 3]);
}

/// A row for each of so many minutes before this one, of two queues and two kinds.
async fn fill(desk: &Desk, minutes: u32) {
    desk.lab
        .run(&format!(
            "insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
            select 1, date_trunc('minute', now()) - m * interval '1 min', q, k, o, 1, '{{0,1}}',
                '{{1}}'
            from generate_series(0, {minutes} - 1) m, unnest('{{a,b}}'::text[]) q,
                unnest('{{x,y}}'::text[]) k, unnest('{{finish,retry}}'::text[]) o"
        ))
        .await;
}

#[tokio::test]
async fn a_series_has_no_gaps_and_counts_each_minute_once() {
    let desk = Desk::without_worker().await;
    let empty = desk.series(&MeasureFilter::all(), 10 * MINUTE).await;
    assert_eq!((empty.points.len(), empty.bucket), (11, MINUTE));
    assert!(empty.points.iter().all(|point| point.measures == Measures::default()));
    fill(&desk, 300).await;
    let all = desk.series(&MeasureFilter::all(), 10 * MINUTE).await;
    let minute = &all.points[5].measures;
    assert_eq!((minute.finished, minute.retried, minute.run.count()), (4, 4, 8));
    let step = chrono::TimeDelta::minutes(1);
    assert!(all.points.windows(2).all(|pair| pair[1].at - pair[0].at == step));
    let one = MeasureFilter::all().queue("a").kind("x");
    let series = desk.admin.measures(&one, HOUR, 10 * MINUTE).await.unwrap();
    assert_eq!((series.bucket, series.points.len()), (10 * MINUTE, 7));
    assert_eq!(series.points[3].measures.finished, 10);
    assert_eq!(series.points[3].measures.run.percentile(1.0), Some(Duration::from_nanos(141_421)));
    desk.admin.measures(&MeasureFilter::all().kind(""), HOUR, MINUTE).await.unwrap_err();
    desk.admin.measures(&MeasureFilter::all().queue("\0"), HOUR, MINUTE).await.unwrap_err();
    let long = desk.admin.measures(&one, Duration::MAX, Duration::ZERO).await.unwrap();
    assert!(long.points.len() <= 1441, "{}", long.points.len());
}

/// With statistics from when there was nothing.
#[tokio::test]
async fn a_series_reads_the_minutes_it_is_about() {
    let desk = Desk::without_worker().await;
    desk.lab.run("analyze jobkit.measures").await;
    fill(&desk, 2_000).await;
    let read = "(select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
        from pg_stat_user_tables where schemaname = 'jobkit' and relname = 'measures')";
    let found = "(select idx_scan from pg_stat_user_tables where schemaname = 'jobkit'
        and relname = 'measures')";
    let desk = desk.afresh().await;
    let before: i64 = desk.lab.value(&format!("select {read}")).await;
    let scans: i64 = desk.lab.value(&format!("select {found}")).await;
    desk.series(&MeasureFilter::all().queue("a"), 10 * MINUTE).await;
    desk.admin.kinds().await.unwrap();
    desk.hang_up().await;
    let scans = desk.lab.value::<i64>(&format!("select {found}")).await - scans;
    assert!(scans >= 2, "{scans} looks were counted");
    let rows = desk.lab.value::<i64>(&format!("select {read}")).await - before;
    assert!((1..=(11 + 61) * 8).contains(&rows), "{rows} rows were read");
}

#[tokio::test(flavor = "multi_thread")]
async fn measures_are_kept_as_long_as_workers_say_and_single_minutes_for_a_day() {
    let desk = Desk::without_worker().await;
    let age = async |days: i32, span: i32| {
        fill(&desk, 300).await;
        let days = format!("minute - interval '{days} days', span = {span}");
        let new = "where minute > now() - interval '12 h'";
        desk.lab.run(&format!("update jobkit.measures set minute = {days} {new}")).await;
    };
    age(8, 15).await;
    age(6, 15).await;
    age(2, 1).await;
    fill(&desk, 1).await;
    let worker = desk.quick().await;
    desk.lab.until("count(*) = 2408 from jobkit.measures").await;
    worker.stop().await;
    let worker = desk.lab.worker().state(desk.lab.direct().clone()).jobs(jobs::all());
    let worker = worker.queue("default", 1).keep_measures(Duration::ZERO).start().await.unwrap();
    desk.lab.until("count(*) = 0 from jobkit.measures").await;
    worker.stop().await;
}

#[tokio::test]
async fn a_long_series_reads_quarters_of_an_hour() {
    let desk = Desk::without_worker().await;
    let flush = r#"select jobkit.measure('[{"queue": "q", "kind": "k", "outcome": "bury",
        "count": 3, "run": [3], "wait": [1, 2]}]')"#;
    desk.lab.run(flush).await;
    for since in [HOUR, 24 * HOUR] {
        let series = desk.series(&MeasureFilter::all(), since).await;
        let buried: u64 = series.points.iter().map(|point| point.measures.buried).sum();
        assert_eq!(buried, 3, "{since:?}");
    }
    desk.lab.run("delete from jobkit.measures where span = 1").await;
    let day = desk.series(&MeasureFilter::all(), 24 * HOUR).await;
    assert_eq!((day.bucket, day.points.len()), (15 * MINUTE, 97));
    assert_eq!(day.points.iter().map(|point| point.measures.buried).sum::<u64>(), 3);
}
