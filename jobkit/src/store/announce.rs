use serde::Serialize;

use super::call::{Statement, column, sparse};
use super::read::from_row;
use super::time::{interval, interval_text};
use crate::limiter::Declaration;
use crate::policy::{Policy, QueueLimit, Rate, Subscription};

/// Announces the kinds of this binary to the database.
pub(crate) fn announce(policies: &[Policy]) -> Statement<()> {
    let attempts = |n: u16| i16::try_from(n).unwrap_or(i16::MAX);
    Statement::new(include_str!("sql/kinds_announce.sql"))
        .bind(column(policies, |p| p.kind))
        .bind(column(policies, |p| p.queue))
        .bind(column(policies, |p| p.priority))
        .bind(column(policies, |p| attempts(p.max_attempts)))
        .bind(column(policies, |p| p.retention.map(interval)))
        .bind(column(policies, |p| p.concurrency.map(|c| c.group)))
        .bind(column(policies, |p| p.concurrency.map(|c| limit(c.limit))))
        .bind(sparse(policies.iter().map(|p| p.auto_replay.map(|r| interval(r.after)))))
        .bind(sparse(policies.iter().map(|p| p.auto_replay.map(|r| i32::from(r.max_cycles)))))
        .bind(column(policies, |p| p.redact.join(",")))
        .bind(column(policies, |p| p.optional_key))
        .bind(column(policies, |p| p.expires.map(interval)))
        .bind(column(policies, |p| p.retry_for.map(interval)))
        .bind(column(policies, |p| p.retention_discarded.map(interval)))
        .bind(column(policies, |p| p.encrypt.join(",")))
        .bind(column(policies, |p| p.takes_text))
}

/// A limit in code, as `jobkit.announce_limits` reads it.
#[derive(Debug, Serialize)]
pub(crate) struct SaidLimit {
    scope: &'static str,
    name: String,
    running: Option<i32>,
    every: Option<String>,
    burst: Option<i32>,
    waiting: Option<i32>,
}

impl SaidLimit {
    fn new(scope: &'static str, name: &str, rate: Option<Rate>) -> Self {
        Self {
            scope,
            name: name.to_owned(),
            running: None,
            every: rate.map(|rate| interval_text(rate.every)),
            burst: rate.map(|rate| limit(rate.burst)),
            waiting: None,
        }
    }

    /// The limits of the concurrency groups of these kinds.
    pub(crate) fn groups(policies: &[Policy]) -> Vec<Self> {
        let groups = policies.iter().filter_map(|policy| Some((policy.concurrency?, policy.rate)));
        let said = groups.map(|(group, rate)| Self {
            running: Some(limit(group.limit)),
            ..Self::new("group", group.group, rate)
        });
        said.collect()
    }

    /// The limit of a limiter.
    pub(crate) fn limiter(limiter: &Declaration) -> Self {
        Self::new("limiter", &limiter.name, Some(limiter.rate))
    }

    /// Of a queue.
    pub(crate) fn queue(queue: &str, said: &QueueLimit) -> Self {
        Self {
            running: said.running.map(limit),
            waiting: said.waiting.map(limit),
            ..Self::new("queue", queue, said.rate)
        }
    }
}

/// A limit that has changed in code.
#[derive(Debug)]
pub(crate) struct ChangedLimit {
    pub(crate) scope: String,
    pub(crate) name: String,
    /// The limit in code before, if there was one.
    pub(crate) before: Option<String>,
    pub(crate) after: String,
}

from_row! { ChangedLimit { scope, name, before, after } }

/// Announces the limits in this binary to the database. Returns what changed.
pub(crate) fn announce_limits(said: &[SaidLimit]) -> Statement<Vec<ChangedLimit>> {
    Statement::new(
        "select scope, name, nullif(before::text, '{}') as before, after::text
        from jobkit.announce_limits($1::jsonb)",
    )
    .bind(json(said))
}

/// The limits in the form in which SQL reads them.
pub(super) fn json(said: &[SaidLimit]) -> String {
    serde_json::to_string(said).expect("texts and numbers have a form in JSON")
}

/// Announces to the database which topics its kinds subscribe to.
pub(crate) fn announce_subscriptions(subscriptions: &[Subscription]) -> Statement<()> {
    Statement::new("select jobkit.announce_subscriptions($1, $2, $3)")
        .bind(column(subscriptions, |(topic, ..)| *topic))
        .bind(column(subscriptions, |(_, kind, _)| *kind))
        .bind(column(subscriptions, |(.., alias)| *alias))
}

fn limit(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
