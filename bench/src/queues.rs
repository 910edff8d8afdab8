//! What a claim costs that looks at fifty queues, five of which are paused, beside one of a single
//! queue: the calls alone, each rolled back.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

const QUEUES: i32 = 50;
const PAUSED: i32 = 5;
/// Jobs of a claim.
const JOBS: i32 = 500;
/// Claims of each kind in a round, in turn.
const CLAIMS: usize = 200;

/// Ten times what a claim takes, in one queue and spread over the others.
const JOBS_OF_QUEUES: &str = "
    insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('noop', 'one', 0, 3);
    select jobkit.register(1, 'bench', '{one}', '{noop}', '1 day');
    insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at, args)
    select 'noop', queue, 0, 3, now(), now(), '{}'
    from generate_series(1, 100) again,
        (select 'one' from generate_series(1, 50) union all
         select 'q' || n from generate_series(1, 50) n) queues (queue);
    insert into jobkit.ready (queue, priority, job_id, kind)
    select queue, priority, id, kind from jobkit.jobs";

/// The call, of these queues with so many slots each.
fn claim(queues: &str, slots: i32) -> String {
    format!(
        "select count(job_id) from jobkit.claim(1, 1, '{{noop}}', array({queues}),
            array(select {slots} from ({queues}) q))"
    )
}

/// How long a call takes, with how many jobs come.
async fn time(connection: &mut PgConnection, claim: &str) -> Result<(Duration, i64)> {
    sqlx::raw_sql("begin").execute(&mut *connection).await?;
    let began = Instant::now();
    let jobs = sqlx::query_scalar(AssertSqlSafe(claim)).fetch_one(&mut *connection).await?;
    let took = began.elapsed();
    sqlx::raw_sql("rollback").execute(connection).await?;
    Ok((took, jobs))
}

/// Prints medians of the calls in each round, and that of the ratios.
pub(crate) async fn compare(pool: &PgPool, rounds: usize) -> Result<()> {
    sqlx::raw_sql(JOBS_OF_QUEUES).execute(pool).await?;
    sqlx::raw_sql("analyze jobkit.jobs, jobkit.ready").execute(pool).await?;
    let pause =
        format!("select jobkit.pause_limit('queue', 'q' || n) from generate_series(1, {PAUSED}) n");
    sqlx::raw_sql(AssertSqlSafe(pause)).execute(pool).await?;
    let one = claim("select 'one'", JOBS);
    let free = JOBS / (QUEUES - PAUSED) + 1;
    let fifty = claim(&format!("select 'q' || n from generate_series(1, {QUEUES}) n"), free);
    let (mut connection, mut ratios) = (pool.acquire().await?, Vec::new());
    for round in 1..=rounds {
        let (mut times, mut jobs) = ([const { Vec::new() }; 2], [0; 2]);
        for _ in 0..CLAIMS {
            for (at, claim) in [&one, &fifty].into_iter().enumerate() {
                let (took, came) = time(&mut connection, claim).await?;
                times[at].push(took);
                jobs[at] = came;
            }
        }
        ensure!(jobs.iter().all(|jobs| *jobs >= i64::from(JOBS)), "{jobs:?} jobs came");
        times.iter_mut().for_each(|times| times.sort());
        let [alone, many] = times.map(|times| times[CLAIMS / 2]);
        println!("round {round}: one queue {alone:?}, fifty of which five are paused {many:?}");
        // Of as many jobs.
        let share = jobs[0] as f64 / jobs[1] as f64;
        ratios.push(many.as_secs_f64() * share / alone.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio  : {:.2} for as many jobs (median)", ratios[ratios.len() / 2]);
    Ok(())
}
