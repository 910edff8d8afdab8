//! Many dead letters: what an operator waits for.

use std::time::{Duration, Instant};

use anyhow::Result;
use jobkit::Admin;
use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::operations::BulkAction;
use sqlx::PgPool;

use crate::drain::settle_down;

const ROUNDS: usize = 9;
const REPLAYED: i64 = 100_000;

/// Replays 100,000, three times; then reads among so many.
pub(crate) async fn measure(pool: &PgPool, entries: usize) -> Result<()> {
    let admin = Admin::new(pool);
    let mut rates = Vec::new();
    for round in 1..=3 {
        fill(pool, REPLAYED).await?;
        let began = Instant::now();
        let all = BulkAction::Replay(DeadLetterFilter::all());
        let begun = admin.begin_operation(&all, "", &format!("{began:?}")).await?;
        let done = admin.operation(begun.id).run().await?.map_or(0, |ended| ended.done);
        let rate = done as f64 / began.elapsed().as_secs_f64();
        println!("round {round}: {done} replayed, {rate:.0}/s");
        rates.push(rate);
    }
    rates.sort_by(f64::total_cmp);
    println!("replay                {:>9.0}/s (median)", rates[1]);
    fill(pool, i64::try_from(entries)?).await?;
    read(&admin).await
}

/// How long reading takes; a connection of its own each time is part of it.
async fn read(admin: &Admin) -> Result<()> {
    let all = DeadLetterFilter::all();
    let queue = all.clone().queue("queue 1");
    let nothing = all.clone().queue("none");
    let cause = admin.dead_letter_groups(1).await?[0].fingerprint.clone();
    let cause = all.clone().fingerprint(cause);
    let first = admin.dead_letters(&all, None, 50).await?;
    let (id, next) = (first.entries[0].id, first.next);
    median("a dead letter", async || admin.dead_letter(id).get().await.map(|_| ())).await?;
    let page =
        async |filter, after, limit| admin.dead_letters(filter, after, limit).await.map(|_| ());
    let count = async |filter| admin.count_dead_letters(filter).await.map(|_| ());
    for (what, filter) in [("all", &all), ("cause", &cause), ("queue", &queue)] {
        median(&format!("page of 50, {what}"), || page(filter, next, 50)).await?;
        median(&format!("count, {what}"), || count(filter)).await?;
    }
    median("page of 500", || page(&all, None, 500)).await?;
    median("page of none", || page(&nothing, None, 50)).await?;
    median("100 groups", async || admin.dead_letter_groups(100).await.map(|_| ())).await
}

async fn median(what: &str, call: impl AsyncFn() -> Result<(), AdminError>) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        call().await?;
        times.push(began.elapsed());
    }
    times.sort();
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let (least, median) = (millis(times[0]), millis(times[ROUNDS / 2]));
    println!("{what:<20} {median:>9.1} ms (least {least:.1} ms)");
    Ok(())
}

/// So many open dead letters of 300 causes, one every 50 ms until now, every second with a key.
async fn fill(pool: &PgPool, entries: i64) -> Result<()> {
    let tables = "dead_letters, jobkit.jobs, jobkit.ready, jobkit.audit";
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("truncate jobkit.{tables}"))).execute(pool).await?;
    let insert =
        "insert into jobkit.dead_letters (kind, key, job_id, queue, priority, max_attempts,
            reason, error, fingerprint, errors, attempt, attempts, snoozes, created_at,
            first_failed_at, failed_at, args)
        select 'charge_card', case when i % 2 = 0 then 'account-' || i end, -i,
            'queue ' || i % 4, 0,
            20, 'exhausted', 'the bank said no to payment ' || i,
            left(md5((i % 300)::text), 16),
            jsonb_build_array(jsonb_build_object('job_id', -i, 'attempt', 20, 'outcome', 'bury',
                'error', 'the bank said no to payment ' || i, 'ended_at', f.at, 'took', '12 ms')),
            20, 20, 0, f.at, f.at, f.at,
            jsonb_build_object('order_id', i, 'account', 'account-' || i)
        from generate_series(1, $1) i
        cross join lateral (select now() - ($1 - i) * interval '50 ms' as at) f";
    sqlx::query(insert).bind(entries).execute(pool).await?;
    sqlx::raw_sql("vacuum analyze jobkit.dead_letters").execute(pool).await?;
    settle_down(pool).await
}
