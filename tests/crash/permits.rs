//! What tests of concurrency keys look at: how many of a key ran at once, by the traces of their
//! handlers; how many permits were taken, by the tables; and whether anything is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jobkit::JobId;
use jobkit_tests::Lab;
use tokio::task::JoinHandle;

use crate::jobs::{Act, OneAtOnce, TenAtOnce, ThreeAtOnce, TwoAtOnce};

/// Enqueues one deed for each of these keys, in the group with this limit.
pub(crate) async fn enqueue_keyed(
    lab: &Lab,
    limit: u32,
    keys: impl IntoIterator<Item = u32>,
    act: Act,
) -> Vec<JobId> {
    let (keys, pool) = (keys.into_iter(), lab.pool());
    let jobs = match limit {
        1 => jobkit::enqueue_all(keys.map(|key| OneAtOnce { key, act }), pool).await,
        2 => jobkit::enqueue_all(keys.map(|key| TwoAtOnce { key, act }), pool).await,
        3 => jobkit::enqueue_all(keys.map(|key| ThreeAtOnce { key, act }), pool).await,
        _ => jobkit::enqueue_all(keys.map(|key| TenAtOnce { key, act }), pool).await,
    };
    jobs.unwrap()
}

/// How the keys of a group were used.
#[derive(Debug)]
pub(crate) struct Use {
    pub(crate) limit: i32,
    /// The fewest that a key had running at its busiest moment, and the most.
    pub(crate) least: i64,
    pub(crate) most: i64,
    /// How long handlers ran, in seconds.
    pub(crate) ran: f64,
}

/// A handler runs from its trace at the beginning to the one at its end, or until the failure of
/// its attempt was written: that of a killed worker's is written by whoever takes the permit back.
/// A handler that was dropped, and its job given back uncharged, leaves no end, and is left out.
const USES: &str = "
    with job as materialized (
        select job_id, concurrency_group as grp, concurrency_key as key, errors
        from jobkit.finished where concurrency_key is not null
        union all
        select job_id, concurrency_group, concurrency_key, errors
        from jobkit.dead_letters where concurrency_key is not null
    ), begun as (
        select e.*, lead(e.at) over (partition by e.job_id order by e.at, e.id) as next
        from effects e where e.what = 'begin'
    ), done as (
        select e.job_id, e.attempt, e.worker_id, e.at from effects e where e.what = 'end'
        union all
        select j.job_id, (f->>'attempt')::integer, (f->>'worker_id')::bigint,
            (f->>'ended_at')::timestamptz
        from job j cross join jsonb_array_elements(j.errors) f
    ), run as materialized (
        select j.grp, j.key, b.at as began, min(d.at) as ended
        from begun b
        join job j on j.job_id = b.job_id
        join done d on d.job_id = b.job_id and d.attempt = b.attempt
            and d.worker_id = b.worker_id and d.at > b.at and (b.next is null or d.at <= b.next)
        group by b.id, b.at, j.grp, j.key
    ), level as (
        select c.grp, c.key, sum(c.n) over (partition by c.grp, c.key order by c.at, c.n) as n
        from (
            select grp, key, began as at, 1 as n from run
            union all select grp, key, ended, -1 from run
        ) c
    ), peak as (
        select l.grp, l.key, max(l.n) as n from level l group by l.grp, l.key
    )
    select g.code_running, count(*), min(p.n)::bigint,
        max(p.n)::bigint, (
            select extract(epoch from sum(r.ended - r.began))::float8 from run r
            where r.grp = g.name
        )
    from peak p join jobkit.limits g on g.scope = 'group' and g.name = p.grp
    group by g.name, g.code_running
    order by g.code_running";

/// Checks that never more ran of a key than its limit, and says how many did, by group.
pub(crate) async fn uses(lab: &Lab) -> Vec<Use> {
    type Row = (i32, i64, i64, i64, f64);
    let rows: Vec<Row> = sqlx::query_as(USES).fetch_all(lab.pool()).await.unwrap();
    let mut uses = Vec::new();
    for (limit, keys, least, most, ran) in rows {
        println!("{keys} keys with a limit of {limit}: {least} to {most} at once, {ran:.0} s");
        assert!(most <= i64::from(limit), "more ran at once than a limit of {limit} allows");
        uses.push(Use { limit, least, most, ran });
    }
    assert!(!uses.is_empty(), "no job had a key");
    uses
}

/// Checks that nothing is left of permits, and no sweep found what nothing explains.
pub(crate) async fn none_left(lab: &Lab) {
    for table in ["permits", "semaphores", "blocked_executions", "claims", "ready", "jobs"] {
        assert_eq!(lab.count(&format!("jobkit.{table}")).await, 0, "{table} is not empty");
    }
    assert_eq!(lab.value::<i64>("select found from jobkit.sweeps").await, 0, "a sweep found jobs");
    lab.check_invariants().await;
}

/// What is wrong in the tables, but for free permits and blocked jobs soon after the start of a
/// worker: its first sweep is still to come.
const WRONG: &str = "
    select format('%s: %s', v.what, v.who) from jobkit.violations v
    where v.what <> 'a free permit and a blocked job to run' or not exists (
        select from jobkit.workers w where w.started_at > clock_timestamp() - interval '10 s'
    )
    union all
    select format('%s of %s permits are taken: %s %s', l.taken, l.effective_limit,
        l.concurrency_group, l.concurrency_key)
    from jobkit.key_limits l where l.taken > l.effective_limit";

/// Checks the invariants while workers start and stop, and that no limit is exceeded.
pub(crate) async fn check(lab: &Lab) {
    let wrong: Vec<String> = sqlx::query_scalar(WRONG).fetch_all(lab.pool()).await.unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Looks at the tables again and again.
pub(crate) struct Watch {
    enough: Arc<AtomicBool>,
    watching: JoinHandle<Seen>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    looks: u32,
    checks: u32,
    /// Permits taken and the sum of the limits, of keys with a backlog, summed over all looks.
    taken: i64,
    allowed: i64,
    /// Permits taken of any key, in seconds.
    pub(crate) held: f64,
    wrong: Vec<String>,
}

impl Watch {
    /// Begins to watch; a server that is down is not looked at.
    pub(crate) fn new(lab: &Lab) -> Self {
        let (enough, pool) = (Arc::new(AtomicBool::new(false)), lab.pool().clone());
        let watching = tokio::spawn(watch(pool, Arc::clone(&enough)));
        Self { enough, watching }
    }

    /// Stops watching, and checks that nothing was wrong. Returns what was seen, and which share
    /// of their permits was taken of keys with a backlog.
    pub(crate) async fn end(self) -> (Seen, f64) {
        self.enough.store(true, Ordering::Relaxed);
        let seen = self.watching.await.unwrap();
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let share = seen.taken as f64 / seen.allowed.max(1) as f64;
        let (looks, checks) = (seen.looks, seen.checks);
        println!(
            "{looks} looks and {checks} checks: {:.1} % of the permits of keys with a backlog \
             were taken",
            100.0 * share
        );
        assert!(seen.wrong.is_empty(), "{:?}", seen.wrong);
        (seen, share)
    }
}

async fn watch(pool: sqlx::PgPool, enough: Arc<AtomicBool>) -> Seen {
    let look = "
        with backlog as (
            select distinct b.concurrency_group as grp, b.concurrency_key as key
            from jobkit.blocked_executions b
        )
        select coalesce(sum(l.taken) filter (where b.key is not null), 0),
            coalesce(sum(l.effective_limit) filter (where b.key is not null), 0),
            coalesce(sum(l.taken), 0), count(*) filter (where l.taken > l.effective_limit)
        from jobkit.key_limits l
        left join backlog b on b.grp = l.concurrency_group and b.key = l.concurrency_key";
    let (mut seen, mut last, mut checked) = (Seen::default(), Instant::now(), Instant::now());
    while !enough.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let row = sqlx::query_as::<_, (i64, i64, i64, i64)>(look).fetch_one(&pool).await;
        let Ok((taken, allowed, all, over)) = row else { continue };
        seen.looks += 1;
        seen.taken += taken;
        seen.allowed += allowed;
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let all = all as f64;
        seen.held += all * last.elapsed().as_secs_f64();
        last = Instant::now();
        if over > 0 || checked.elapsed() > Duration::from_secs(1) {
            if let Ok(wrong) = sqlx::query_scalar(WRONG).fetch_all(&pool).await {
                seen.checks += 1;
                seen.wrong.extend::<Vec<String>>(wrong);
            }
            checked = Instant::now();
            if over > 0 {
                seen.wrong.push(format!("{over} keys with more permits than their limit"));
            }
        }
    }
    seen
}
