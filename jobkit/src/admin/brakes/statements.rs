use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::brake::{Brake, Pause, Scope};
use crate::policy::Rate;
use crate::store::{FromRow, One, ReadColumn, statements};

statements! {
    /// All brakes.
    fn brakes() -> Vec<Brake> = include_str!("sql/brakes_list.sql");

    /// Pauses a queue, a kind or everything. Whether it was not paused before.
    fn pause_scope(scope: &str, name: &str, actor: Option<&str>, reason: &str) -> One<bool>
        = "select jobkit.pause_limit($1, $2, null, null, $3, $4)",
        debug_span!("jobkit.pause", scope, name);

    /// Resumes it. Whether it was paused.
    fn resume_scope(scope: &str, name: &str, actor: Option<&str>) -> One<bool>
        = "select jobkit.resume_limit($1, $2, null, $3)",
        debug_span!("jobkit.resume", scope, name);

    /// Sets or removes a limit. The one before, or 0.
    fn limit_running(
        scope: &str, name: &str, limit: Option<i32>, actor: Option<&str>,
    ) -> One<i32> = "with before as materialized (
            select l.running from jobkit.limits l where l.scope = $1 and l.name = $2
        ) select coalesce((select b.running from before b), 0) from jobkit.set_limit(
            $1, $2, null, jsonb_build_object('running', $3::integer), $4)",
        debug_span!("jobkit.limit", scope, name, limit);

    /// Sets or removes a rate.
    fn limit_rate(
        scope: &str, name: &str, count: Option<i32>, within: Option<PgInterval>,
        burst: Option<i32>, actor: Option<&str>,
    ) -> One<bool> = "select jobkit.set_limit($1, $2, null, jsonb_build_object('rate',
            case when $3::integer is not null then jsonb_build_object(
                'every', $4::interval, 'burst', $5::integer) end), $6) is not null",
        debug_span!("jobkit.rate", scope, name, count);

    /// How many of its jobs workers have claimed.
    fn running_of(scope: &str, name: &str) -> One<u32> = "select jobkit.running_of($1, $2)";
}

impl FromRow for Brake {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (word, name): (String, String) = (row.read("scope")?, row.read("name")?);
        let (actor, reason) = (row.read("actor")?, row.read("reason")?);
        let count: Option<u32> = row.read("rate_count")?;
        let within: Option<Duration> = row.read("rate_interval")?;
        let burst = row.read::<Option<_>>("rate_burst")?.unwrap_or(1);
        Ok(Self {
            scope: Scope::of(&word, &name).unwrap_or(Scope::All),
            paused: row.read::<Option<_>>("since")?.map(|since| Pause { since, actor, reason }),
            limit: row.read("running_limit")?,
            running: row.read::<Option<_>>("running")?.unwrap_or(0),
            rate: count.zip(within).map(|(count, within)| Rate { every: within / count, burst }),
        })
    }
}
