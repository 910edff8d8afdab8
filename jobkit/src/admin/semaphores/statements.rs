use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::{BlockedJob, ConcurrencyGroup, PermitHolder, Semaphore};
use crate::policy::Rate;
use crate::store::{FromRow, One, ReadColumn, from_row, statements};

statements! {
    /// A page of the semaphores after a group and key that match; `None` is any.
    fn semaphores(after_group: &str, after_key: &str, limit: i64, group: Option<&str>,
            key: Option<&str>, at_limit: bool, blocked: bool) -> Vec<Semaphore>
        = include_str!("sql/semaphores_list.sql");

    /// The permit holders of a key, in the order in which they got their permits.
    fn permits_held(group: &str, key: &str) -> Vec<PermitHolder>
        = include_str!("sql/permits_held.sql");

    /// The jobs that get the next permits of a key.
    fn first_blocked(group: &str, key: &str) -> Vec<BlockedJob>
        = include_str!("sql/blocked_first.sql");

    /// The concurrency groups that some worker has announced, by name.
    fn groups() -> Vec<ConcurrencyGroup>
        = "select g.name, coalesce(g.code_running, 2147483647) as default_limit,
            g.running as override_limit, g.code_every as default_rate,
            g.code_burst as default_burst, g.every as override_rate,
            g.burst as override_burst, g.scope = 'limiter' as limiter from jobkit.limits g
            where g.scope in ('group', 'limiter') order by g.name";

    /// Sets or clears an operator's rate for a group. Whether some worker has announced it.
    fn rate_group(group: &str, every: Option<PgInterval>, burst: Option<i32>, actor: Option<&str>)
        -> One<bool>
        = "select jobkit.set_limit((select l.scope from jobkit.limits l where l.name = $1
            and l.scope in ('group', 'limiter')), $1, null, jsonb_build_object('rate',
            case when $2::interval = '0' then '\"none\"' when $2 is not null then
            jsonb_build_object('every', $2, 'burst', $3::integer) end), $4) is not null",
        debug_span!("jobkit.limit", group);

    /// Sets or clears an operator's rate for a key. Whether some worker has announced its group.
    fn rate_key(group: &str, key: &str, every: Option<PgInterval>, burst: Option<i32>,
            actor: Option<&str>) -> One<bool>
        = "select jobkit.set_limit('key', $1, $2, jsonb_build_object('rate',
            case when $3::interval = '0' then '\"none\"' when $3 is not null then
            jsonb_build_object('every', $3, 'burst', $4::integer) end), $5) is not null",
        debug_span!("jobkit.limit", group, key);

    /// Pauses a concurrency key for this long. Whether some worker has announced its group.
    fn pause_key(group: &str, key: &str, pause: PgInterval, actor: Option<&str>,
            reason: Option<&str>) -> One<bool>
        = "select jobkit.pause_limit('key', $1, $2, $3, $4, $5) is not null",
        debug_span!("jobkit.pause", group, key);

    /// How many keys are paused, and how many were looked at.
    fn keys_paused() -> One<(i64, i64)> = include_str!("sql/keys_paused.sql");

    /// Ends the pause of a key. Whether it was paused.
    fn resume_key(group: &str, key: &str, actor: Option<&str>) -> One<bool>
        = "select jobkit.resume_limit('key', $1, $2, $3)",
        debug_span!("jobkit.resume", group, key);

    /// Sets or clears an operator's limit for a group. Whether some worker has announced it.
    fn limit_group(group: &str, limit: Option<i32>, actor: Option<&str>) -> One<bool>
        = "select jobkit.set_limit('group', $1, null,
            jsonb_build_object('running', $2::integer), $3) is not null",
        debug_span!("jobkit.limit", group, limit);

    /// Sets or clears an operator's limit for a key. Whether some worker has announced its group.
    fn limit_key(group: &str, key: &str, limit: Option<i32>, actor: Option<&str>) -> One<bool>
        = "select jobkit.set_limit('key', $1, $2,
            jsonb_build_object('running', $3::integer), $4) is not null",
        debug_span!("jobkit.limit", group, key, limit);
}

/// A rate as it is stored, in two columns; without a time between slots there is no rate.
pub(crate) fn rate(row: &PgRow, every: &str, burst: &str) -> sqlx::Result<Option<Rate>> {
    let every = row.read::<Option<Duration>>(every)?.filter(|every| !every.is_zero());
    Ok(every.zip(row.read(burst)?).map(|(every, burst)| Rate { every, burst }))
}

impl FromRow for Semaphore {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            group: row.read("concurrency_group")?,
            key: row.read("concurrency_key")?,
            limit: row.read("effective")?,
            override_limit: row.read("override_limit")?,
            rate: rate(row, "rate", "burst")?,
            has_own_rate: row.read("has_own_rate")?,
            paused_until: row.read("paused_until")?,
            next_at: row.read("next_at")?,
            taken: row.read("taken")?,
            blocked: row.read("blocked")?,
            blocked_since: row.read("oldest")?,
        })
    }
}

impl FromRow for ConcurrencyGroup {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let overridden: Option<Duration> = row.read("override_rate")?;
        Ok(Self {
            name: row.read("name")?,
            default_limit: row.read("default_limit")?,
            override_limit: row.read("override_limit")?,
            default_rate: rate(row, "default_rate", "default_burst")?,
            override_rate: overridden
                .map(|_| rate(row, "override_rate", "override_burst"))
                .transpose()?,
            limiter: row.read("limiter")?,
        })
    }
}

from_row! {
    PermitHolder { job: "job_id", worker: "worker_id", since }
    BlockedJob { job: "job_id", kind, queue, priority, since }
}
