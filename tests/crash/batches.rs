//! Callbacks run once, when the last member has ended, and steps keep what they returned, whenever
//! processes are killed. `JOBKIT_KILLS` makes it longer.

use jobkit::{Admin, Batch, JobId};
use jobkit_tests::Lab;

use crate::gathered::{Call, Fate, GATHERED, Order, Part};
use crate::siege::Siege;
use crate::stage::{self, PATIENCE, heavy_turn};

async fn lab() -> Lab {
    let lab = stage::lab().await;
    lab.run(GATHERED).await;
    lab
}

fn call(role: &str) -> Call {
    Call { role: role.to_owned() }
}

/// A batch of so many of each fate; every second one has only members that finish.
async fn enqueue(lab: &Lab, number: u64) -> Vec<JobId> {
    let fates = if number.is_multiple_of(2) { &Fate::ALL[..4] } else { &Fate::ALL[..] };
    let parts = fates.iter().flat_map(|fate| (0..6).map(|_| Part { fate: *fate }));
    let mut tx = lab.pool().begin().await.unwrap();
    let batch = Batch::of(parts)
        .then(call("then"))
        .then_if_all(call("if all"))
        .or_else(call("else"))
        .enqueue(&mut tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    batch.jobs().iter().map(|job| job.id()).collect()
}

/// Callbacks as they were to run, and as they ran: in pairs that do not match.
const ASTRAY: &str = "(
        select b.id, 'then' as role from jobkit.batches b
        union all
        select b.id, 'if all' from jobkit.batches b where not exists (
            select from jobkit.count_batch(b.id) c where c.outcome not in ('add', 'finish'))
        union all
        select b.id, 'else' from jobkit.batches b where exists (
            select from jobkit.count_batch(b.id) c where c.outcome = 'bury')
    ) w
    full join called c on c.batch_id = w.id and c.role = w.role
    where w.id is null or c.batch_id is null
        or c.role <> 'else' and (c.open <> 0 or c.members <> (
            select jobs from jobkit.count_batch(c.batch_id) where outcome = 'add'))";

#[tokio::test]
async fn callbacks_run_once_after_the_last_end_whatever_is_killed() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    let mut siege = Siege::new(&lab).await;
    let admin = Admin::new(lab.pool());
    let mut enqueued = 0;
    for number in 0..Siege::kills() {
        let members = enqueue(&lab, number).await;
        enqueued += members.len();
        if number % 4 == 3 {
            admin.job(members[0]).cancel().await.unwrap();
            let batch = "select max(id) from jobkit.batches";
            let batch: i64 = lab.value(batch).await;
            lab.run(&format!("select jobkit.cancel_batch({batch})")).await;
        }
        siege.strike().await;
    }
    siege.end(PATIENCE).await;
    let added = lab.count("added").await;
    let members: i64 = lab
        .value(
            "select sum(c.jobs)::bigint from jobkit.batches b
            cross join lateral jobkit.count_batch(b.id) c where c.outcome = 'add'",
        )
        .await;
    assert_eq!(members, i64::try_from(enqueued).unwrap() + added);
    let twice = "(select batch_id, role from called group by 1, 2 having count(*) > 1) t";
    assert_eq!(lab.count(twice).await, 0, "a callback ran twice");
    assert_eq!(lab.count(ASTRAY).await, 0, "a callback did not run, or ran early");
    assert_eq!(lab.count("jobkit.batches where ended_at is null").await, 0);
    println!("{members} members, {added} of them added by others");
    assert!(added > 0, "it has to be met");
    lab.check_invariants().await;
}

#[tokio::test]
async fn each_step_has_its_effect_once_and_one_value_whatever_is_killed() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    let mut siege = Siege::new(&lab).await;
    let mut orders = 0;
    for _ in 0..Siege::kills() {
        orders += jobkit::enqueue_all((0..20).map(|_| Order), lab.pool()).await.unwrap().len();
        siege.strike().await;
    }
    siege.end(PATIENCE).await;
    let once = "select count(*) || ' of ' || count(distinct (job_id, step)) from ordered";
    let effects = orders * 2;
    assert_eq!(lab.value::<String>(once).await, format!("{effects} of {effects}"));
    let values = "(select from got group by job_id, step having count(distinct value) > 1) v";
    assert_eq!(lab.count(values).await, 0, "an attempt got another value");
    let other = "ordered o join got g using (job_id, step) where g.value <> o.value";
    assert_eq!(lab.count(other).await, 0, "a value is not that of the effect");
    let again = "(select from got group by job_id, step having count(*) > 1) a";
    assert!(lab.count(again).await > 0, "steps have to be met again");
    lab.check_invariants().await;
}
