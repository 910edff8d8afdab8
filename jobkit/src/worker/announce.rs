use std::collections::HashSet;

use sqlx::PgPool;

use super::declared::Declared;
use super::settings::Settings;
use super::some::some;
use super::ticker;
use crate::error::{AnnounceError, DatabaseError, StartProblems};
use crate::limiter;
use crate::policy::{Policy, Subscription};
use crate::registry::Registry;
use crate::schedule::Declaration;
use crate::store::{self, Link};

/// Tells the database of all kinds of jobs that are linked into this binary, as the start of a
/// worker does, without starting one: their queues, attempts, limits and keys.
///
/// `jobkit.enqueue` in SQL knows a kind from then on. Call it after [`migrate`](crate::migrate())
/// where a service is deployed before the first worker of a new kind. It may be called as often as
/// you like: what is as it was is not written. Where binaries differ the last one to announce wins,
/// so do not call it again and again in a process: during a rolling deploy that would set limits
/// to and fro.
///
/// It works through a transaction pooler.
///
/// # Errors
/// [`AnnounceError::Problems`] lists all problems of the jobs; otherwise
/// [`AnnounceError::Database`], such as [`DatabaseError::Schema`] if the schema does not fit.
pub async fn announce(pool: &PgPool) -> Result<(), AnnounceError> {
    let registry = Registry::linked();
    let problems = registry.declared_problems();
    if !problems.is_empty() {
        return Err(AnnounceError::Problems(StartProblems(problems)));
    }
    let deadlines = Settings::default().deadlines();
    let mut link = Link::new("announce", pool.clone(), deadlines).of_operator();
    link.check_schema().await?;
    tell(&mut link, &registry.announcements()).await?;
    subscriptions(&mut link, &registry.subscriptions()).await?;
    link.close().await;
    Ok(())
}

/// Tells the database of these kinds, with their limits.
pub(super) async fn tell(link: &mut Link, policies: &[Policy]) -> Result<(), DatabaseError> {
    let changed = ticker::insist(link, &store::announce_limits(policies)).await?;
    let changed = changed.into_iter().filter_map(|(group, old, new)| Some((group, old?, new)));
    let (first, more) = some(changed);
    for (group, old, new) in first {
        if old == new {
            tracing::warn!(group, "jobkit: this binary changed the rate of a concurrency group");
        } else {
            tracing::warn!(group, old, new, "jobkit: this binary changed a concurrency limit");
        }
    }
    if more > 0 {
        tracing::warn!(groups = more, "jobkit: this binary changed more concurrency groups");
    }
    ticker::insist(link, &store::announce(policies)).await
}

/// Tells the database of the topics of these kinds, which it knows by now.
pub(super) async fn subscriptions(
    link: &mut Link,
    said: &[Subscription],
) -> Result<(), DatabaseError> {
    if said.is_empty() {
        return Ok(());
    }
    ticker::insist(link, &store::announce_subscriptions(said)).await
}

/// What is to be stored of the schedules that jobs have of their own, and of those given.
pub(super) fn checked(
    registry: &Registry,
    given: Vec<Declaration>,
    problems: &mut Vec<String>,
) -> Declared {
    let (mut checked, mut names) = (Vec::new(), HashSet::new());
    for schedule in registry.schedules().into_iter().chain(given) {
        if !names.insert(schedule.name.clone()) {
            let name = &schedule.name;
            problems.push(format!("the schedule `{name}` was given twice: rename one of them"));
        }
        match schedule.check() {
            Ok(schedule) => checked.push(schedule),
            Err(problem) => problems.push(problem),
        }
    }
    Declared::new(checked)
}

/// What is wrong with limiters beside each other, and beside the groups of jobs.
pub(super) fn limiter_problems(
    policies: &[Policy],
    limiters: &[limiter::Declaration],
) -> Vec<String> {
    let groups = policies.iter().filter_map(|policy| Some(policy.concurrency?.group));
    let mut names: HashSet<&str> = groups.collect();
    let taken = limiters.iter().filter(|limiter| !names.insert(&limiter.name));
    let taken = taken.map(|limiter| {
        let name = &limiter.name;
        format!(
            "the limiter `{name}` was given twice, or has the same name as a concurrency group: \
             rename one of them"
        )
    });
    taken.collect()
}

/// Tells the database of the limiters in code.
pub(super) async fn limiters(
    link: &mut Link,
    limiters: &[limiter::Declaration],
) -> Result<(), DatabaseError> {
    if limiters.is_empty() {
        return Ok(());
    }
    let (first, more) = some(ticker::insist(link, &store::announce_limiters(limiters)).await?);
    for limiter in first {
        tracing::warn!(limiter, "jobkit: this binary changed the rate of a limiter");
    }
    if more > 0 {
        tracing::warn!(limiters = more, "jobkit: this binary changed the rates of more limiters");
    }
    Ok(())
}

/// Tells the database which queues have a bound, and which kinds get what is published.
pub(super) async fn queues_and_topics(
    link: &mut Link,
    bounds: &[(String, u32)],
    said: &[Subscription],
) -> Result<(), DatabaseError> {
    announce_bounds(link, bounds).await?;
    subscriptions(link, said).await
}

/// Tells the database how many jobs may wait in queues, as code says.
async fn announce_bounds(link: &mut Link, bounds: &[(String, u32)]) -> Result<(), DatabaseError> {
    if bounds.is_empty() {
        return Ok(());
    }
    let most = |most: &u32| i32::try_from(*most).unwrap_or(i32::MAX);
    let of = |(queue, jobs): &(String, u32)| (queue.clone(), most(jobs));
    let (queues, most): (Vec<String>, Vec<i32>) = bounds.iter().map(of).unzip();
    let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
    ticker::insist(link, &store::announce_bounds(&queues, &most)).await
}
