//! Pauses beside claims of four processes: nothing of what is paused is claimed from the moment on
//! at which the pause has committed.
//!
//! `JOBKIT_PAUSES` makes it longer, `JOBKIT_PAUSES_SEED` repeats what was chosen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use jobkit::admin::limits::Scope;
use jobkit::{Admin, Enqueue};
use jobkit_tests::Lab;

use crate::jobs::{Act, Deed, OneAtOnce, ThreeAtOnce};
use crate::permits::none_left;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{all_done, clock, heavy_turn, lab};

/// Pauses of a run, unless the environment says more.
const PAUSES: u64 = 40;

const QUEUES: [&str; 2] = ["default", "other"];

/// Each job that was claimed, of what and when, and when that transaction began: by whatever way,
/// be it ahead or handed over.
pub(crate) const CLAIMED: &str = "
    create table claimed (
        job_id bigint not null, kind text not null, queue text not null,
        at timestamptz not null, began timestamptz not null default now());
    create function note_claim() returns trigger language plpgsql as '
        begin
            insert into public.claimed
            select j.id, j.kind, j.queue, clock_timestamp()
            from jobkit.jobs j where j.id = any (new.job_ids);
            return null;
        end';
    create trigger note_claim after insert on jobkit.claims
        for each row execute function note_claim()";

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test]
async fn nothing_is_claimed_once_its_pause_has_committed() {
    let _turn = heavy_turn().await;
    let seed = number("JOBKIT_PAUSES_SEED").unwrap_or_else(|| fastrand::u64(..));
    let pauses = number("JOBKIT_PAUSES").unwrap_or(PAUSES);
    println!("JOBKIT_PAUSES_SEED={seed} JOBKIT_PAUSES={pauses}");
    let lab = lab().await;
    lab.run(CLAIMED).await;
    let queues = QUEUES.map(str::to_owned).to_vec();
    let program = Program { queues, ..Program::quick(lab.url()) };
    let mut processes = Vec::new();
    for _ in 0..4 {
        processes.push(Process::start(&program).await);
    }
    let enough = Arc::new(AtomicBool::new(false));
    let producer = tokio::spawn(produce(lab.pool().clone(), Arc::clone(&enough)));

    let mut rng = Rng::with_seed(seed);
    let mut idle = 0;
    for _ in 0..pauses {
        let before = lab.count("claimed").await;
        lab.until(&format!("(select count(*) from claimed) > {before}")).await;
        let scope = scope(&mut rng);
        idle += u64::from(pause(&lab, &scope, rng.u64(20..120)).await == 0);
    }
    enough.store(true, Ordering::Relaxed);
    producer.await.unwrap();
    all_done(&lab).await;
    for process in processes {
        process.stop().await;
    }
    let claimed = lab.count("claimed").await;
    println!("{pauses} pauses among {claimed} claimed jobs, {idle} without claims of others");
    // Where only a part was paused, the rest went on.
    assert!(idle < pauses * 3 / 4, "{idle} of {pauses} pauses stopped everything");
    none_left(&lab).await;
}

/// Something that may be paused.
fn scope(rng: &mut Rng) -> Scope {
    match rng.u32(..5) {
        0 => Scope::All,
        1 => Scope::Kind("deed".to_owned()),
        2 => Scope::Kind("one_at_once".to_owned()),
        3 => Scope::Queue(QUEUES[0].to_owned()),
        _ => Scope::Queue(QUEUES[1].to_owned()),
    }
}

/// Pauses it for so many milliseconds, and sees that nothing of it is claimed meanwhile. Answers
/// how much else was.
async fn pause(lab: &Lab, scope: &Scope, millis: u64) -> i64 {
    let admin = Admin::new(lab.pool());
    // Claims may hold it up; they come one after the other, and a pause is tried again.
    while admin.limit(scope.clone()).pause("test").await.is_err() {}
    let from = clock(lab).await;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let until = clock(lab).await;
    // Not on `at` alone: a claim that is not committed yet is seen once the resume has waited.
    while admin.limit(scope.clone()).resume().await.is_err() {}
    let of = match scope {
        Scope::Kind(kind) => format!("kind = '{kind}'"),
        Scope::Queue(queue) => format!("queue = '{queue}'"),
        _ => "true".to_owned(),
    };
    let meanwhile = format!("claimed where extract(epoch from at) between {from} and {until}");
    let wrong = lab.count(&format!("{meanwhile} and {of}")).await;
    assert_eq!(wrong, 0, "claimed while {scope:?} was paused, {millis} ms");
    lab.count(&meanwhile).await
}

/// Keeps a few hundred jobs waiting, of both queues and of three kinds.
async fn produce(pool: sqlx::PgPool, enough: Arc<AtomicBool>) {
    let act = Act::Sleep(Duration::from_millis(5));
    while !enough.load(Ordering::Relaxed) {
        let waiting = "select count(*) from jobkit.jobs";
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&pool).await.unwrap();
        if waiting > 300 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        for queue in QUEUES {
            let plain = (0..60).map(|_| Deed { act }.options().queue(queue));
            jobkit::enqueue_all(plain, &pool).await.unwrap();
            let keyed = (0..20).map(|key| OneAtOnce { key: key % 5, act }.options().queue(queue));
            jobkit::enqueue_all(keyed, &pool).await.unwrap();
            let keyed = (0..20).map(|key| ThreeAtOnce { key: key % 3, act }.options().queue(queue));
            jobkit::enqueue_all(keyed, &pool).await.unwrap();
        }
    }
}
