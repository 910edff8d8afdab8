//! What a unique key and a coalesce key cost the producer: enqueues with them beside plain ones, in
//! turn within each round.

use std::time::{Duration, Instant};

use anyhow::Result;
use jobkit::Enqueue;
use jobkit::enqueue::Pending;
use sqlx::PgPool;

use crate::drain::{Noop, Payload};

/// How long each kind of enqueue goes on in a round.
const SLICE: Duration = Duration::from_secs(1);
/// A call's jobs, of a bulk enqueue.
const BATCH: usize = 500;

#[derive(Debug, Clone, Copy)]
enum Key {
    None,
    /// One that nobody has.
    Unique,
    /// One for each ten jobs.
    Coalesce,
}

const KEYS: [Key; 3] = [Key::None, Key::Unique, Key::Coalesce];

impl Key {
    fn job(self, number: usize) -> Pending<Noop> {
        let job = Noop(Payload::new(number)).options();
        match self {
            Self::None => job,
            Self::Unique => job.unique_key(format!("customer:{number}")),
            Self::Coalesce => job.coalesce_key(format!("customer:{}", number / 10)),
        }
    }
}

/// Jobs a second.
async fn rate(pool: &PgPool, key: Key, batch: usize, numbers: &mut usize) -> Result<f64> {
    let mut connection = pool.acquire().await?;
    let (began, first) = (Instant::now(), *numbers);
    while began.elapsed() < SLICE {
        if batch == 1 {
            key.job(*numbers).enqueue(&mut *connection).await?;
        } else {
            let jobs = (*numbers..*numbers + batch).map(|number| key.job(number));
            jobkit::enqueue_all(jobs, &mut *connection).await?;
        }
        *numbers += batch;
    }
    Ok((*numbers - first) as f64 / began.elapsed().as_secs_f64())
}

/// Prints jobs a second of each, one in a call and 500 in a call, and medians of the ratios.
pub(crate) async fn compare(pool: &PgPool, rounds: usize) -> Result<()> {
    for batch in [1, BATCH] {
        let mut ratios = [const { Vec::new() }; 2];
        let mut numbers = 0;
        for round in 1..=rounds {
            sqlx::raw_sql("truncate jobkit.jobs, jobkit.ready, jobkit.unique_keys")
                .execute(pool)
                .await?;
            let mut rates = [0.0; 3];
            // Plain ones on both sides, since the tables grow.
            for key in KEYS.into_iter().chain(KEYS.into_iter().rev()) {
                rates[key as usize] += rate(pool, key, batch, &mut numbers).await? / 2.0;
            }
            let [plain, unique, coalesce] = rates;
            println!(
                "round {round}: {batch} in a call: {plain:.0} plain jobs/s, {unique:.0} unique, \
                 {coalesce:.0} that coalesce"
            );
            ratios[0].push(unique / plain);
            ratios[1].push(coalesce / plain);
        }
        ratios.iter_mut().for_each(|ratios| ratios.sort_by(f64::total_cmp));
        let [unique, coalesce] = ratios.map(|ratios| ratios[ratios.len() / 2]);
        println!(
            "ratio  : {batch} in a call: unique {unique:.2}, coalesce {coalesce:.2} (medians)"
        );
    }
    Ok(())
}
