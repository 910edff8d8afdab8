//! What a handler has written is where its job is, whenever its process is killed: a checkpoint is
//! there for the next attempt, and effect and completion of one transaction agree.
//!
//! `JOBKIT_KILLS` makes it longer.

use jobkit::{Enqueue, JobId};
use jobkit_tests::{Lab, wait};

use crate::permits::{Watch, check, none_left};
use crate::process::Process;
use crate::program::Program;
use crate::siege::Siege;
use crate::stage::{self, PATIENCE, all_done, heavy_turn, light_turn};
use crate::written::{Halt, Pay, Stairs, WRITTEN};

/// Payments without an effect of the attempt that finished, or with another one: in what everybody
/// sees at a moment.
const DISAGREE: &str = "(select job_id, attempt from paid) p
    full join (
        select f.job_id, f.attempt from jobkit.finished f
        where f.outcome = 'finish' and f.kind = 'pay'
    ) f on f.job_id = p.job_id and f.attempt = p.attempt
    where f.job_id is null or p.job_id is null";

/// Attempts that did not go on from what was kept before, or from further than was climbed.
const ASTRAY: &str = "stairs s
    cross join lateral (
        select coalesce(max(e.step) filter (where e.what = 'kept'), 0) as kept,
            coalesce(max(e.step) filter (where e.what = 'climbed'), 0) as climbed
        from stairs e where e.job_id = s.job_id and e.id < s.id
    ) e
    where s.what = 'from' and coalesce(s.step, 0) not between e.kept and e.climbed";

async fn lab() -> Lab {
    let lab = stage::lab().await;
    lab.run(WRITTEN).await;
    lab
}

#[tokio::test]
async fn the_next_attempt_goes_on_from_what_was_kept_before_the_kill() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let program = Program::quick(lab.url());
    let mut killed = Process::start(&program).await;
    let stairs = Stairs { steps: 5, rest_at: Some(3) };
    // In a claim with one that has nothing to do with it.
    jobkit::enqueue_all([Stairs { steps: 2, rest_at: Some(1) }, stairs], lab.pool()).await.unwrap();
    lab.until("count(*) = 4 from stairs where what = 'kept'").await;
    killed.kill();
    let other = Process::start(&program).await;
    all_done(&lab).await;
    let went = "select string_agg(w.went, ' ' order by w.job_id, w.attempt) from (
            select job_id, attempt, attempt || ':' || string_agg(
                case what when 'from' then coalesce(step::text, '') || '+' else step::text end,
                '' order by id) as went
            from stairs where what <> 'kept' group by job_id, attempt
        ) w";
    assert_eq!(lab.value::<String>(went).await, "1:+1 2:1+2 1:+123 2:3+45");
    let crashed = "jobkit.finished where attempt = 2 and errors->0->>'outcome' = 'crash'";
    assert_eq!(lab.count(crashed).await, 2);
    other.stop().await;
    lab.check_invariants().await;
}

/// Kills a process that has stopped there in a payment without a key and in one with. Another of
/// that key waits.
async fn die(lab: &Lab, halt: Halt) -> Vec<JobId> {
    let program = Program::quick(lab.url());
    let mut killed = Process::start(&program).await;
    let pay = |key, halt| Pay { key, halt };
    let jobs = [pay(None, Some(halt)), pay(Some(1), Some(halt))];
    let mut jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let both = async || killed.events("halted").len() == 2;
    wait(PATIENCE, "both have stopped", both).await;
    jobs.push(pay(Some(1), None).enqueue(lab.pool()).await.unwrap());
    lab.until("count(*) = 1 from jobkit.blocked_executions").await;
    let committed = i64::from(halt == Halt::AfterCommit) * 2;
    assert_eq!(lab.count("paid").await, committed);
    assert_eq!(lab.count("jobkit.finished").await, committed);
    killed.kill();
    let other = Process::start(&program).await;
    all_done(lab).await;
    lab.until("count(*) = 1 from jobkit.workers").await;
    lab.until("not exists (select from jobkit.claims)").await;
    other.stop().await;
    assert_eq!(lab.count(DISAGREE).await, 0);
    none_left(lab).await;
    jobs
}

/// Of each job: how it ended in which attempt, how often it was charged, how often it was paid and
/// in which attempts it began.
async fn ends(lab: &Lab, jobs: &[JobId]) -> Vec<String> {
    let mut ends = Vec::new();
    for JobId(job) in jobs {
        let sql = format!(
            "select format('%s %s, charged %s, paid %s, began %s', f.outcome, f.attempt,
                coalesce(jsonb_array_length(f.errors), 0),
                (select count(*) from paid p where p.job_id = f.job_id),
                (select string_agg(p.attempt::text, ' ' order by p.attempt) from passed p
                    where p.job_id = f.job_id and p.what = 'begin'))
            from jobkit.finished f where f.job_id = {job}"
        );
        ends.push(lab.value(&sql).await);
    }
    ends
}

#[tokio::test]
async fn a_job_killed_before_its_commit_has_no_effect_and_runs_again() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let jobs = die(&lab, Halt::BeforeCommit).await;
    let (again, waited) =
        ("finish 2, charged 1, paid 1, began 1 2", "finish 1, charged 0, paid 1, began 1");
    assert_eq!(ends(&lab, &jobs).await, [again, again, waited]);
}

#[tokio::test]
async fn a_job_killed_after_its_commit_has_its_effect_and_does_not_run_again() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let jobs = die(&lab, Halt::AfterCommit).await;
    assert_eq!(ends(&lab, &jobs).await, ["finish 1, charged 0, paid 1, began 1"; 3]);
}

#[tokio::test]
async fn what_was_written_agrees_with_the_jobs_whenever_processes_are_killed() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    let mut siege = Siege::new(&lab).await;
    let watch = Watch::new(&lab);
    let (mut payments, mut climbs) = (0, 0);
    for _ in 0..Siege::kills() {
        let pays = (0..24).map(|n| Pay { key: (n % 2 == 0).then_some(n / 4), halt: None });
        payments += jobkit::enqueue_all(pays, lab.pool()).await.unwrap().len();
        let stairs = (0..4).map(|_| Stairs { steps: 8, rest_at: None });
        climbs += jobkit::enqueue_all(stairs, lab.pool()).await.unwrap().len();
        siege.strike().await;
        assert_eq!(lab.count(DISAGREE).await, 0);
        check(&lab).await;
    }
    siege.end(PATIENCE).await;
    watch.end().await;
    assert_eq!(lab.count(DISAGREE).await, 0);
    assert_eq!(lab.count(ASTRAY).await, 0);
    let once = "select count(distinct job_id) || ' of ' || count(*) from paid";
    assert_eq!(lab.value::<String>(once).await, format!("{payments} of {payments}"));
    // A process may be killed when it has kept the last one, and not yet said so.
    let arrived = "(select distinct job_id from stairs where what <> 'climbed' and step = 8) s";
    assert_eq!(lab.count(arrived).await, i64::try_from(climbs).unwrap());
    let before = lab.count("paid where attempt > 1").await;
    let ended = "exists (select from passed e where e.job_id = p.job_id and e.what = 'end')";
    let after = lab.count(&format!("paid p where not {ended}")).await;
    let went_on = lab.count("stairs where what = 'from' and step > 0").await;
    println!(
        "{payments} payments, {before} of them killed before their commit, {after} after it; \
        {climbs} climbs, which went on {went_on} times"
    );
    assert!(before > 0 && after > 0 && went_on > 0, "each has to be met");
    none_left(&lab).await;
}
