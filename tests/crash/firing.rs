//! Processes and sessions that die while schedules are fired: of each instant there is one job.
//!
//! `JOBKIT_KILLS` makes it longer.

use jobkit_tests::Lab;

use crate::process::Process;
use crate::program::Program;
use crate::siege::Siege;
use crate::stage::{heavy_turn, lab, light_turn};

/// Schedules that are due together, of four instants each: the beginnings of quarters.
const TOGETHER: u64 = 5;

/// The first instant.
const FROM: &str = "(date_trunc('quarter', now() at time zone 'UTC') - interval '9 months')
    at time zone 'UTC'";

/// Instants that passed without exactly one job, and jobs that no history knows, or whose schedule
/// has not moved on.
const WRONG: &str = "(
        select name, instant, job_id, jobs
        from (
            select s.name, i.instant at time zone 'UTC' as instant
            from jobkit.schedules s
            cross join lateral (select s.next_at at time zone 'UTC' as next) n
            cross join generate_series(n.next - interval '12 months',
                n.next - interval '3 months', interval '3 months') as i (instant)
            where s.next_at > now()
        ) due
        full join (
            select r.schedule as name, r.instant, r.job_id as run from jobkit.schedule_runs r
        ) run using (name, instant)
        full join (
            select j.metadata->>'schedule' as name,
                (j.metadata->>'instant')::timestamptz as instant, max(j.id) as job_id,
                count(*) as jobs
            from jobkit.jobs j group by 1, 2
        ) job using (name, instant)
        where run is distinct from job_id or jobs is distinct from 1
            or name not in (select s.name from jobkit.schedules s where s.next_at > instant)
    ) wrong";

/// Schedules that are due when they are told to be. Their jobs stay where they are.
async fn schedules(lab: &Lab, count: u64) {
    lab.run(&format!(
        "select jobkit.create_schedule(jsonb_build_object('name', 's' || n, 'kind', 'deed',
            'times', '0 0 1 */3 *', 'queue', 'parked', 'catch_up', 'all', 'catch_up_max', 10,
            'catch_up_window', '600 days', 'overlap', 'allow', 'jitter', '0'),
            '{{\"act\": \"Tally\"}}', 'test')
        from generate_series(1, {count}) n"
    ))
    .await;
}

/// These are due from now on.
async fn due(lab: &Lab, from: u64, to: u64) {
    lab.run(&format!(
        "update jobkit.schedules set next_at = {FROM}
        where substr(name, 2)::integer between {from} and {to};
        select jobkit.wake_due(now())"
    ))
    .await;
}

/// Ends the sessions that fire at this moment, and says how many those were.
async fn end_firing(lab: &Lab) -> i64 {
    lab.value(
        "select count(*) filter (where pg_terminate_backend(a.pid)) from pg_stat_activity a
        where a.datname = current_database() and a.state = 'active'
            and a.query like '%from jobkit.fire(%' and a.pid <> pg_backend_pid()",
    )
    .await
}

#[tokio::test]
async fn each_instant_has_one_job_whoever_is_killed_while_it_is_fired() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    // Without that a transaction which fires is over before anybody could be killed in it.
    lab.run(
        "create function dawdle() returns trigger language plpgsql as
            'begin perform pg_sleep(random() * 0.005); return new; end';
        create trigger dawdle before insert on jobkit.schedule_runs
            for each row execute function dawdle()",
    )
    .await;
    let mut siege = Siege::new(&lab).await;
    let kills = Siege::kills();
    schedules(&lab, kills * TOGETHER).await;
    let mut ended = 0;
    for n in 0..kills {
        due(&lab, n * TOGETHER + 1, (n + 1) * TOGETHER).await;
        if n % 2 == 0 {
            // On a busy machine it may be over when we look.
            let firing = "exists (select from pg_stat_activity where state = 'active'
                    and query like '%from jobkit.fire(%' and pid <> pg_backend_pid())
                or not exists (select from jobkit.schedules where next_at <= now())";
            lab.until(firing).await;
            ended += end_firing(&lab).await;
        }
        siege.strike().await;
        assert_eq!(lab.count(WRONG).await, 0);
    }
    lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
    assert_eq!(lab.count(WRONG).await, 0);
    let instants = lab.count("jobkit.schedule_runs").await;
    println!("{instants} instants, {kills} kills, {ended} sessions ended while they fired");
    assert!(instants >= i64::try_from(kills * TOGETHER * 4).unwrap());
    assert!(ended > 0, "none was met");
    lab.check_invariants().await;
    siege.leave().await;
}

/// Who dies in the middle of a firing.
#[derive(Debug, Clone, Copy)]
enum Dies {
    Session,
    Process,
}

#[tokio::test]
async fn a_firing_that_is_killed_between_jobs_and_advance_leaves_nothing() {
    let _turn = light_turn().await;
    for dies in [Dies::Session, Dies::Process] {
        let lab = lab().await;
        let program = Program::quick(lab.url());
        let mut first = Process::start(&program).await;
        schedules(&lab, 3).await;
        // The jobs are there by then, for that session, and no schedule has moved on.
        let mut hold = lab.session("hold").await;
        hold.run("begin; lock table jobkit.schedule_runs in share mode").await.unwrap();
        due(&lab, 1, 3).await;
        let held = format!(
            "(select pid from pg_stat_activity where datname = current_database()
                and {} = any (pg_blocking_pids(pid)) and query like '%from jobkit.fire(%')",
            hold.pid
        );
        lab.until(&format!("{held} is not null")).await;
        let firing: i32 = lab.value(&format!("select {held}")).await;
        match dies {
            Dies::Session => {
                lab.run(&format!("select pg_terminate_backend({firing})")).await;
            }
            Dies::Process => first.kill(),
        }
        lab.until(&format!("not exists (select from pg_stat_activity where pid = {firing})")).await;
        assert_eq!(lab.count("jobkit.jobs").await, 0, "{dies:?}");
        let past = format!("jobkit.schedules where next_at <> {FROM}");
        assert_eq!(lab.count(&past).await, 0, "{dies:?}");
        let other = Process::start(&program).await;
        lab.until(&format!("{held} is not null")).await;
        hold.run("commit").await.unwrap();
        lab.until("not exists (select from jobkit.schedules where next_at <= now())").await;
        assert_eq!(lab.count(WRONG).await, 0, "{dies:?}");
        assert!(lab.count("jobkit.jobs").await >= 3 * 4, "{dies:?}");
        other.stop().await;
        lab.check_invariants().await;
    }
}
