use std::time::Duration;

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::{By, Limit, Pause, Said, Scope};
use crate::policy::{Concurrency, Rate};
use crate::store::{FromRow, One, ReadColumn, statements};

statements! {
    /// The limits of queues, kinds, groups, limiters and everything.
    fn of_scopes(scopes: &[&str], name: Option<&str>, paused: bool) -> Vec<Limit>
        = include_str!("sql/limits_list.sql");

    /// The limits of single keys; or of one key in use, its effective limit.
    fn of_keys(group: Option<&str>, key: Option<&str>, paused: bool) -> Vec<Limit>
        = include_str!("sql/limits_of_keys.sql");

    /// Changes a limit. Returns whether something changed; null if no worker has announced it.
    fn set_limit(scope: &str, name: &str, key: Option<&str>, rule: &Value, actor: Option<&str>)
        -> One<Option<bool>>
        = "select jobkit.set_limit($1, $2, $3, $4, $5)",
        debug_span!("jobkit.limit", scope, name, key);

    /// Pauses something. Returns whether it was not paused before; null if no worker has announced
    /// it.
    fn pause_limit(
        scope: &str, name: &str, key: Option<&str>, time: Option<PgInterval>,
        actor: Option<&str>, reason: &str,
    ) -> One<Option<bool>> = "select jobkit.pause_limit($1, $2, $3, $4, $5, $6)",
        debug_span!("jobkit.pause", scope, name, key);

    /// Ends a pause. Returns whether there was one.
    fn resume_limit(scope: &str, name: &str, key: Option<&str>, actor: Option<&str>) -> One<bool>
        = "select jobkit.resume_limit($1, $2, $3, $4)",
        debug_span!("jobkit.resume", scope, name, key);

    /// How many of its jobs workers have claimed.
    fn running_of(scope: &str, name: &str) -> One<u32> = "select jobkit.running_of($1, $2)";
}

/// Who set a part, from its column; `None` if nobody did.
fn by(row: &PgRow, column: &str) -> sqlx::Result<Option<By>> {
    let word: Option<String> = row.read(column)?;
    Ok(word.map(|word| if word == "operator" { By::Operator } else { By::Code }))
}

/// A rate in two columns; `None` without a time between slots.
pub(crate) fn rate(row: &PgRow, every: &str, burst: &str) -> sqlx::Result<Option<Rate>> {
    let every = row.read::<Option<Duration>>(every)?.filter(|every| !every.is_zero());
    Ok(every.zip(row.read(burst)?).map(|(every, burst)| Rate { every, burst }))
}

fn pause(row: &PgRow) -> sqlx::Result<Option<Pause>> {
    let Some(since) = row.read("since")? else { return Ok(None) };
    let (until, actor, reason) = (row.read("until")?, row.read("actor")?, row.read("reason")?);
    Ok(Some(Pause { since, until, actor, reason }))
}

impl FromRow for Limit {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (word, name): (String, String) = (row.read("scope")?, row.read("name")?);
        let key: Option<String> = row.read("key")?;
        let running = row.read::<Option<u32>>("running")?;
        let running = running.filter(|most| *most < Concurrency::UNLIMITED);
        let (rate, waiting) = (rate(row, "every", "burst")?, row.read("waiting")?);
        Ok(Self {
            scope: Scope::of(&word, &name, key.as_deref()).unwrap_or(Scope::All),
            running: by(row, "running_by")?.map(|by| Said { value: running, by }),
            rate: by(row, "rate_by")?.map(|by| Said { value: rate, by }),
            waiting: by(row, "waiting_by")?.map(|by| Said { value: waiting, by }),
            paused: pause(row)?,
            runs: row.read("runs")?,
            waits: row.read("waits")?,
            full_since: row.read("full_since")?,
        })
    }
}

impl Limit {
    /// The effective limit of a key of this group without a limit of its own.
    pub(super) fn of_key(self, key: &str) -> Self {
        let scope = Scope::Key { group: self.scope.name().to_owned(), key: key.to_owned() };
        let runs = self.running.and_then(|said| said.value).map(|_| 0);
        Self { scope, runs, ..self }
    }
}
