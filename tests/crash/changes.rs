//! Jobs with unique and coalesce keys while producers enqueue more of them and processes are
//! killed: nobody runs beside another of his key, and what was committed is done.
//!
//! `JOBKIT_KILLS` makes it longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use jobkit::unique::{Enqueued, OnDuplicate};
use jobkit::{Enqueue, JobId};
use jobkit_tests::Lab;
use sqlx::{PgConnection, PgPool};
use tokio::task::JoinSet;

use crate::permits::{check, none_left};
use crate::siege::Siege;
use crate::stage::{PATIENCE, heavy_turn, lab};
use crate::written::{Change, Newest, WRITTEN};

const PRODUCERS: u32 = 10;
/// Keys that are unique, and that coalesce.
const KEYS: [u32; 2] = [4, 2];
/// Of so many transactions one is rolled back.
const ROLLED_BACK: u32 = 8;

/// When jobs were claimed: the beginning of the transaction, so not later than its first look; and
/// when producers knew that a job was committed, so not earlier than its commit.
const TIMES: &str = "
    create index on wanted (kind, key) where done_by is null;
    create table committed (job_id bigint not null, at timestamptz not null);
    create table claimed (job_id bigint not null, at timestamptz not null);
    create index on committed (job_id);
    create index on claimed (job_id);
    create index on runs (job_id);
    create function note_claim() returns trigger language plpgsql as '
        begin
            insert into public.claimed select l.id, now() from unnest(new.job_ids) as l (id);
            return null;
        end';
    create trigger note_claim after insert on jobkit.claims
        for each row execute function note_claim()";

/// Keys of which there is something left to do and nobody who will.
const FORGOTTEN: &str = "wanted w
    where w.promised and w.done_by is null and not exists (
        select from jobkit.jobs j where j.kind = w.kind and j.unique_key = w.key::text
    )";

/// Unique keys with two jobs, one that follows aside, or with two that run.
const DOUBLE: &str = "(
        select j.unique_key, array_agg(j.id order by j.id) as jobs,
            array_agg(j.id order by j.id) filter (where c.n is not null) as run,
            min(k.job_id) as holder, min(k.follower_id) as follower
        from jobkit.jobs j
        left join jobkit.unique_keys k on k.scope = j.unique_scope and k.key = j.unique_key
        left join jobkit.claims c on j.id = any (c.job_ids)
        where j.kind = 'change'
        group by j.unique_key
    ) double
    where cardinality(array_remove(jobs, follower)) > 1 or cardinality(run) > 1";

/// Runs of a unique key whose payload is older than that of a run before, in the order in which the
/// payloads were given; or than the last that was given.
const STALE: &str = "(
        select w.key, w.id, w.what, r.id as run, r.job_id, r.at,
            lag(w.id) over run as before, lead(w.id) over run as behind,
            (select max(n.id) from wanted n
                where n.kind = 'change' and n.key = w.key and n.promised) as newest
        from runs r join wanted w on w.kind = r.kind and w.mark = r.mark
        where r.kind = 'change'
        window run as (partition by w.key order by r.id)
    ) r
    where r.id < r.before or r.behind is null and r.id <> r.newest";

/// Claims of an older job of a coalesce key, committed by then, while a newer one that was
/// committed as well still waited; or after the newer one ran, whose claim came after the commit of
/// the older. One that ended for another began with that.
const OUTRUN: &str = "(
        select w.key, w.job_id, c.at as committed_at,
            (select min(l.at) from claimed l where l.job_id in (w.job_id, f.by)) as claimed_at,
            (select min(r.at) from runs r where r.job_id in (w.job_id, f.by)) as ran_at
        from wanted w left join committed c using (job_id)
        left join lateral (
            select substring(f.reason from 'coalesced into job ([0-9]+)')::bigint as by
            from jobkit.finished f where f.job_id = w.job_id and f.outcome = 'coalesce'
        ) f on true
        where w.kind = 'newest' offset 0
    ) newer
    join wanted w on w.kind = 'newest' and w.key = newer.key and w.job_id < newer.job_id
    join committed older on older.job_id = w.job_id
    join claimed l on l.job_id = w.job_id
    where newer.committed_at < l.at and older.at < l.at and newer.claimed_at > l.at
        or older.at < newer.claimed_at and newer.ran_at < l.at";

/// What a producer wants, and what it was told of its job.
struct Wanted {
    kind: &'static str,
    key: u32,
    mark: i64,
    what: String,
    job: JobId,
    /// A run that begins after the commit does it.
    promised: bool,
}

async fn change(tx: &mut PgConnection, key: u32, mark: i64) -> Wanted {
    let what = [OnDuplicate::Skip, OnDuplicate::Replace, OnDuplicate::RunAgain];
    let what = what[fastrand::usize(..what.len())];
    let change = Change { key, mark }.options().on_duplicate(what);
    let answer = change.enqueue_unique(tx).await.unwrap();
    let promised = !matches!(answer, Enqueued::Existing(_));
    assert!(promised || what != OnDuplicate::RunAgain, "it did not run again");
    let (job, what) = (answer.id(), format!("{what:?} {answer:?}"));
    Wanted { kind: "change", key, mark, what, job, promised }
}

async fn newest(tx: &mut PgConnection, key: u32, mark: i64) -> Wanted {
    let job = Newest { key, mark }.enqueue(tx).await.unwrap();
    Wanted { kind: "newest", key, mark, what: String::new(), job, promised: true }
}

/// Enqueues one sort until there is enough: what is wanted is committed with its job, or neither.
async fn produce(pool: PgPool, unique: bool, marks: Arc<AtomicI64>, enough: Arc<AtomicBool>) {
    while !enough.load(Ordering::Relaxed) {
        let (key, mark) =
            (fastrand::u32(..KEYS[usize::from(!unique)]), marks.fetch_add(1, Ordering::Relaxed));
        let mut tx = pool.begin().await.unwrap();
        let wanted = if unique {
            change(&mut tx, key, mark).await
        } else {
            newest(&mut tx, key, mark).await
        };
        sqlx::query(
            "insert into wanted (kind, key, mark, what, job_id, promised)
            values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(wanted.kind)
        .bind(i32::try_from(wanted.key).unwrap())
        .bind(wanted.mark)
        .bind(wanted.what)
        .bind(wanted.job.0)
        .bind(wanted.promised)
        .execute(&mut *tx)
        .await
        .unwrap();
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..5000))).await;
        if fastrand::u32(..ROLLED_BACK) == 0 {
            tx.rollback().await.unwrap();
        } else {
            tx.commit().await.unwrap();
            let committed = "insert into committed (job_id, at) values ($1, clock_timestamp())";
            sqlx::query(committed).bind(wanted.job.0).execute(&pool).await.unwrap();
        }
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..10_000))).await;
    }
}

/// What may never be, whoever looks.
async fn look(lab: &Lab) {
    none(lab, FORGOTTEN, "a change is forgotten").await;
    none(lab, DOUBLE, "two jobs of a unique key").await;
    check(lab).await;
}

/// Sees that there is nothing wrong.
async fn none(lab: &Lab, wrong: &str, what: &str) {
    let sql = format!("select array(select w::text from (select * from {wrong} limit 9) w)");
    let found: Vec<String> = lab.value(&sql).await;
    assert!(found.is_empty(), "{what}: {found:#?}");
}

#[tokio::test]
async fn what_was_committed_with_its_key_is_done_whoever_is_killed() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    lab.run(WRITTEN).await;
    lab.run(TIMES).await;
    let mut siege = Siege::new(&lab).await;
    let (marks, enough) = (Arc::default(), Arc::new(AtomicBool::new(false)));
    let mut producers = JoinSet::new();
    for n in 0..PRODUCERS {
        let (pool, unique) = (lab.pool().clone(), n % 2 == 0);
        producers.spawn(produce(pool, unique, Arc::clone(&marks), Arc::clone(&enough)));
    }
    for _ in 0..Siege::kills() {
        siege.strike().await;
        look(&lab).await;
    }
    enough.store(true, Ordering::Relaxed);
    producers.join_all().await;
    siege.end(PATIENCE).await;
    // With what is known of the tables when they were small, a check may take minutes.
    lab.run("analyze").await;
    look(&lab).await;
    for (wrong, what) in [
        ("wanted where promised and done_by is null", "a change is not done"),
        ("jobkit.unique_keys", "a key is held"),
        (STALE, "a run had an older payload"),
        (OUTRUN, "an older one began beside or after a newer one"),
    ] {
        none(&lab, wrong, what).await;
    }
    none_left(&lab).await;
    told(&lab).await;
}

/// Sees that everything was met that matters, and says how often.
async fn told(lab: &Lab) {
    let of = |answer: &str| format!("wanted where what like '{answer}%' and kind = 'change'");
    for answer in ["Skip New", "Skip Existing", "Replace Replaced", "RunAgain New", "RunAgain Repl"]
    {
        let count = lab.count(&of(answer)).await;
        println!("{answer}: {count}");
        assert!(count > 0, "{answer} was not met");
    }
    for kind in ["change", "newest"] {
        let wanted = lab.count(&format!("wanted where kind = '{kind}'")).await;
        let runs = lab.count(&format!("runs where kind = '{kind}'")).await;
        let crashed =
            format!("jobkit.finished where kind = '{kind}' and errors->0->>'outcome' = 'crash'");
        let crashed = lab.count(&crashed).await;
        println!("{kind}: {wanted} wanted, {runs} runs, {crashed} jobs whose process was killed");
        assert!(crashed > 0 && runs < wanted, "{kind}");
    }
}
