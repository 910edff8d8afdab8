//! Queues that share slots, in strict order or by weight, and queues that follow a pattern.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobkit::admin::limits::Change;
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, Worker, job};
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};

/// Notes of each claim, in their order, how many jobs it has of each queue.
const WATCH: &str = "
    create table taken (claim bigint generated always as identity, queue text, jobs bigint);
    create sequence claims_seen;
    create function watch() returns trigger language plpgsql as $$ begin
        insert into public.taken (claim, queue, jobs) overriding system value
        select s.n, j.queue, count(*)
        from (select nextval('public.claims_seen') as n) s, jobkit.jobs j
        where j.id = any (new.job_ids) group by 1, 2;
        return null;
    end $$;
    create trigger watch after insert on jobkit.claims for each row execute function watch()";

fn worker(lab: &Lab) -> Worker {
    lab.worker().state(lab.pool().clone()).jobs(jobs::all()).listen(true)
}

async fn enqueue(lab: &Lab, queue: &str, jobs: usize) {
    let jobs = (0..jobs).map(|_| Noop.options().queue(queue));
    jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
}

/// How many jobs of a queue had begun when so many of another had.
async fn beside(lab: &Lab, queue: &str, other: &str, jobs: i64) -> i64 {
    let sql = format!(
        "select coalesce(sum(t.jobs), 0)::bigint from taken t where t.queue = '{queue}' and t.claim
        <= (select min(claim) from (
            select claim, sum(jobs) over (order by claim) as sum from taken where queue = '{other}'
        ) o where o.sum >= {jobs})"
    );
    lab.value(&sql).await
}

const EMPTY: &str = "not exists (select from jobkit.jobs)";

/// In counts: with six slots no queue is further ahead of its share than two claims.
#[tokio::test(flavor = "multi_thread")]
async fn queues_with_weights_share_slots_while_both_have_jobs() {
    let lab = Lab::guarded().await;
    lab.run(WATCH).await;
    enqueue(&lab, "critical", 600).await;
    enqueue(&lab, "default", 600).await;
    let worker = worker(&lab).queues_by_weight(6, [("critical", 5), ("default", 1)]);
    let worker = worker.start().await.unwrap();
    lab.until_within(Duration::from_secs(60), EMPTY).await;
    worker.stop().await;
    let default = beside(&lab, "default", "critical", 500).await;
    assert!((88..=112).contains(&default), "{default} beside 500");
    let longest: i64 = lab
        .value(
            "select max(gap) from (select claim - lag(claim, 1, 0::bigint) over (order by claim)
            as gap from taken where queue = 'default') g",
        )
        .await;
    let claims: i64 = lab.value("select count(distinct claim) from taken").await;
    assert!(longest <= 40 || longest * 4 < claims, "{longest} claims without one of {claims}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_strict_order_the_last_queue_has_its_turn_once_the_others_are_empty() {
    let lab = Lab::guarded().await;
    lab.run(WATCH).await;
    for queue in ["low", "middle", "high"] {
        enqueue(&lab, queue, 200).await;
    }
    let worker = worker(&lab).queues_in_order(7, ["high", "middle", "low"]).start().await.unwrap();
    lab.until_within(Duration::from_secs(60), EMPTY).await;
    worker.stop().await;
    // One claim may have the last of one and the first of the next.
    for (before, behind) in [("high", "middle"), ("middle", "low")] {
        let sql = format!(
            "select (select max(claim) from taken where queue = '{before}')
                <= (select min(claim) from taken where queue = '{behind}')"
        );
        assert!(lab.value::<bool>(&sql).await, "{behind} began before the last of {before}");
    }
    let most: i64 = lab
        .value("select max(sum)::bigint from (select sum(jobs) from taken group by claim) t")
        .await;
    assert!(most <= 7, "{most}");
    lab.check_invariants().await;
}

/// The poll is a minute: only a notification tells of a queue that nobody has met before.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_queue_that_matches_is_noticed_at_once() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab).poll(Duration::from_secs(60)).queue("tenant-*", 4);
    let worker = worker.start().await.unwrap();
    for queue in ["tenant-1", "tenant-2", "tenant-"] {
        lab.until("exists (select from jobkit.sleepers where prefixes = '{tenant-}')").await;
        Noop.options().queue(queue).enqueue(lab.pool()).await.unwrap();
        lab.until(EMPTY).await;
    }
    Noop.options().queue("tenants").enqueue(lab.pool()).await.unwrap();
    Noop.options().queue("tenant-3").enqueue(lab.pool()).await.unwrap();
    lab.until("(select array_agg(queue) from jobkit.ready) = '{tenants}'").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// One that always has something to do never rests, and looks for new queues all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_queue_is_noticed_by_a_worker_that_is_busy() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let long = |n: usize| {
        (0..n)
            .map(|_| Act::then(Then::Sleep(Duration::from_millis(20))).options().queue("tenant-1"))
    };
    jobkit::enqueue_all(long(2_000), lab.pool()).await.unwrap();
    let worker = worker(&lab).listen(false).poll(Duration::from_secs(60)).queue("tenant-*", 2);
    let worker = worker.start().await.unwrap();
    lab.until("exists (select from effects)").await;
    Noop.options().queue("tenant-2").enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs where queue = 'tenant-2')").await;
    assert!(lab.count("jobkit.ready where queue = 'tenant-1'").await > 0);
    lab.run(
        "delete from jobkit.ready; delete from jobkit.jobs j where not exists (
        select from jobkit.claims c where j.id = any (c.job_ids))",
    )
    .await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_has_slots_of_its_own_beside_patterns_that_match() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    for queue in ["mail", "mail-a", "mail-b", "other"] {
        let job = || Act::then(Then::WaitForStop).options().queue(queue);
        jobkit::enqueue_all((0..8).map(|_| job()), lab.pool()).await.unwrap();
    }
    let worker = worker(&lab).queue("*", 3).queue("mail", 1).queue("mail*", 2).listen(false);
    let worker = worker.poll(Duration::from_millis(50)).start().await.unwrap();
    let running =
        "select coalesce(string_agg(format('%s %s', q.queue, q.n), ', ' order by queue), '')
        from (select case when j.queue like 'mail-%' then 'mail*' else j.queue end as queue,
            count(*) as n from effects e join jobkit.jobs j on j.id = e.job_id group by 1) q";
    lab.until(&format!("({running}) = 'mail 1, mail* 2, other 3'")).await;
    // It has looked for more since.
    lab.until(
        "exists (select from jobkit.workers where clock_timestamp() > started_at + interval '1 s')",
    )
    .await;
    assert_eq!(lab.value::<String>(running).await, "mail 1, mail* 2, other 3");
    let workers = Admin::new(lab.pool()).workers().await.unwrap();
    assert_eq!(workers[0].slots(), 6);
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pauses_and_limits_of_a_queue_hold_where_it_matches_a_pattern() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let admin = Admin::new(lab.pool());
    admin.queue("tenant-2").pause("").await.unwrap();
    let _ = admin.queue("tenant-3").set(&Change::new().running(1)).await.unwrap();
    for queue in ["tenant-1", "tenant-2", "tenant-3"] {
        let job = || Act::then(Then::WaitForStop).options().queue(queue);
        jobkit::enqueue_all((0..3).map(|_| job()), lab.pool()).await.unwrap();
    }
    let worker = worker(&lab).queue("tenant-*", 10).start().await.unwrap();
    let running = |of: &str| {
        format!(
            "(select count(*) from effects e join jobkit.jobs j on j.id = e.job_id
            where j.queue = '{of}')"
        )
    };
    lab.until(&format!("{} = 3 and {} = 1", running("tenant-1"), running("tenant-3"))).await;
    assert_eq!(lab.count("jobkit.ready where queue = 'tenant-2'").await, 3);
    admin.queue("tenant-2").resume().await.unwrap();
    lab.until(&format!("{} = 3", running("tenant-2"))).await;
    assert_eq!(lab.count("jobkit.ready where queue = 'tenant-3'").await, 2);
    worker.stop().await;
    lab.check_invariants().await;
}

/// Grants pass over jobs that nobody serves, and operators are told of them.
#[tokio::test(flavor = "multi_thread")]
async fn who_serves_a_queue_by_a_pattern_serves_it() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab).queue("tenant-*", 4).queue("mail", 2).start().await.unwrap();
    let serving = |queue: &str| format!("jobkit.serving('{queue}', 'noop')");
    assert_eq!(lab.count(&serving("tenant-9")).await, 1);
    assert_eq!(lab.count(&serving("mail")).await, 1);
    assert_eq!(lab.count(&serving("mail-9")).await, 0);
    let admin = Admin::new(lab.pool());
    admin.queue("tenant-9").pause("").await.unwrap();
    let _ = admin.queue("tenant-8").set(&Change::new().waiting(9)).await.unwrap();
    let at = chrono::Utc::now() + chrono::Duration::hours(1);
    Noop.options().queue("tenant-7").at(at).enqueue(lab.pool()).await.unwrap();
    let queues = admin.queues().await.unwrap();
    let served = queues.iter().map(|queue| (&*queue.queue, queue.workers, queue.capacity));
    let expected = [("mail", 1, 2), ("tenant-7", 1, 4), ("tenant-8", 1, 4), ("tenant-9", 1, 4)];
    assert_eq!(served.collect::<Vec<_>>(), expected);
    worker.stop().await;
    lab.check_invariants().await;
}

/// Why a job waits: since the slots are taken, and not since nobody names its queue.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_why_a_job_waits_hears_of_the_pattern_that_serves_it() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = worker(&lab).queue("tenant-*", 1).start().await.unwrap();
    let first = Act::then(Then::WaitForStop).options().queue("tenant-1");
    first.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from effects)").await;
    let admin = Admin::new(lab.pool());
    let why = async |queue: &str| {
        let job = Noop.options().queue(queue).enqueue(lab.pool()).await.unwrap();
        format!("{:?}", admin.job(job).explain().await.unwrap().unwrap().reasons)
    };
    let served = why("tenant-2").await;
    assert!(!served.contains("Unserved"), "{served}");
    let unserved = why("tenant").await;
    assert!(unserved.contains("Unserved"), "{unserved}");
    worker.stop().await;
    lab.check_invariants().await;
}

/// What a scan from the start misses because it is put off is found above the marks.
#[tokio::test(flavor = "multi_thread")]
async fn queues_that_share_slots_drain_where_scans_are_dear() {
    let lab = Lab::guarded().await;
    lab.mutate("claim", "* 1000000", "* 1000000 + 300000").await;
    for n in 0..5 {
        enqueue(&lab, &format!("tenant-{n}"), 300).await;
    }
    let worker = worker(&lab).queue("tenant-*", 20).queue("default", 5).start().await.unwrap();
    lab.until_within(Duration::from_secs(60), EMPTY).await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// The tenants whose jobs have begun, in their order.
type Begun = Arc<Mutex<Vec<usize>>>;

/// The recipe of "Fair between tenants": ten tenants, three jobs of each at a time, six slots.
#[derive(serde::Serialize, serde::Deserialize)]
#[job(concurrency_key = self.tenant, concurrency_limit = 3)]
struct Ocr {
    tenant: usize,
}

impl Job<Begun> for Ocr {
    async fn run(self, cx: JobContext<Begun>) -> jobkit::Result {
        cx.state().lock().unwrap().push(self.tenant);
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(())
    }
}

/// How many jobs of each tenant are among the first 100 that begin, of 40 each.
async fn of_each_tenant(queue: impl Fn(usize) -> String, serves: &str) -> Vec<usize> {
    let lab = Lab::new().await;
    for tenant in 0..10 {
        let jobs = (0..40).map(|_| Ocr { tenant }.options().queue(queue(tenant)));
        jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    }
    let begun = Begun::default();
    let worker = lab.worker().state(Arc::clone(&begun)).jobs([Registration::of::<Ocr, _>()]);
    let worker = worker.queue(serves, 6).start().await.unwrap();
    jobkit_tests::wait(Duration::from_secs(30), "100 jobs begin", || async {
        begun.lock().unwrap().len() >= 100
    })
    .await;
    worker.stop().await;
    let begun = begun.lock().unwrap();
    let of = |tenant| begun.iter().take(100).filter(|of| **of == tenant).count();
    (0..10).map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_with_a_queue_each_take_turns() {
    let begun = of_each_tenant(|tenant| format!("ocr-{tenant}"), "ocr-*").await;
    assert!(begun.iter().all(|begun| (4..=20).contains(begun)), "{begun:?}");
    // In one queue the oldest backlogs have all of it.
    let begun = of_each_tenant(|_| "ocr".to_owned(), "ocr").await;
    assert_eq!(begun[5..], [0; 5], "{begun:?}");
}
