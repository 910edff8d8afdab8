use super::call::{Statement, column, sparse};
use super::read::Answer;
use super::time::interval;
use crate::limiter::Declaration;
use crate::policy::{Policy, Subscription};

/// Tells the database what this binary says of its kinds.
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

/// Tells the database what this binary says of the limits and rates of its concurrency groups.
/// Answers the groups of which something changed: the limit that was, if there was one, and is now.
pub(crate) fn announce_limits(policies: &[Policy]) -> Statement<Vec<(String, Option<i32>, i32)>> {
    let statement = Statement::new(
        "select concurrency_group, old_limit, new_limit
        from jobkit.announce_limits($1, $2, $3, $4)",
    );
    bind_limits(statement, policies)
}

/// Binds the limits and rates of their concurrency groups.
pub(super) fn bind_limits<A: Answer>(statement: Statement<A>, policies: &[Policy]) -> Statement<A> {
    let groups = policies.iter().filter_map(|policy| Some((policy.concurrency?, policy.rate)));
    let rates = groups.clone().map(|(_, rate)| rate);
    statement
        .bind(groups.clone().map(|(c, _)| c.group).collect::<Vec<_>>())
        .bind(groups.map(|(c, _)| limit(c.limit)).collect::<Vec<_>>())
        .bind(rates.clone().map(|rate| rate.map(|rate| interval(rate.every))).collect::<Vec<_>>())
        .bind(rates.map(|rate| rate.map(|rate| limit(rate.burst))).collect::<Vec<_>>())
}

/// The same of its limiters. Answers those of which the rate was another one.
pub(crate) fn announce_limiters(limiters: &[Declaration]) -> Statement<Vec<String>> {
    Statement::new("select * from jobkit.announce_limiters($1, $2, $3)")
        .bind(column(limiters, |l| l.name.as_str()))
        .bind(column(limiters, |l| interval(l.rate.every)))
        .bind(column(limiters, |l| limit(l.rate.burst)))
}

/// The same of the topics of its kinds.
pub(crate) fn announce_subscriptions(subscriptions: &[Subscription]) -> Statement<()> {
    Statement::new("select jobkit.announce_subscriptions($1, $2, $3)")
        .bind(column(subscriptions, |(topic, ..)| *topic))
        .bind(column(subscriptions, |(_, kind, _)| *kind))
        .bind(column(subscriptions, |(.., alias)| *alias))
}

fn limit(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
