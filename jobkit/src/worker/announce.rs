use std::collections::HashSet;

use sqlx::PgPool;

use super::schedules::DeclaredSchedules;
use super::settings::Settings;
use super::some::some;
use super::ticker;
use crate::error::{AnnounceError, DatabaseError, StartProblems};
use crate::limiter;
use crate::policy::{Policy, QueueLimit, Subscription};
use crate::registry::Registry;
use crate::schedule::Declaration;
use crate::store::{self, ChangedLimit, Link, SaidLimit};

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
    let policies = registry.announcements();
    tell(&mut link, &policies, &SaidLimit::groups(&policies)).await?;
    subscriptions(&mut link, &registry.subscriptions()).await?;
    link.close().await;
    Ok(())
}

/// Tells the database of these kinds, and of the limits in code.
pub(super) async fn tell(
    link: &mut Link,
    policies: &[Policy],
    limits: &[SaidLimit],
) -> Result<(), DatabaseError> {
    let changed = ticker::insist(link, &store::announce_limits(limits)).await?;
    let (first, more) = some(changed.into_iter().filter(|limit| limit.before.is_some()));
    for ChangedLimit { scope, name, before, after } in first {
        tracing::warn!(
            scope,
            name,
            old = before,
            new = after,
            "jobkit: this binary changed a limit"
        );
    }
    if more > 0 {
        tracing::warn!(limits = more, "jobkit: this binary changed more limits");
    }
    ticker::insist(link, &store::announce(policies)).await
}

/// What a worker's code says of limits: of its kinds' groups, of limiters, and of queues.
pub(super) fn limits(
    policies: &[Policy],
    limiters: &[limiter::Declaration],
    queues: &[(String, QueueLimit)],
) -> Vec<SaidLimit> {
    let mut said = SaidLimit::groups(policies);
    said.extend(limiters.iter().map(SaidLimit::limiter));
    said.extend(queues.iter().map(|(queue, limit)| SaidLimit::queue(queue, limit)));
    said
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
) -> DeclaredSchedules {
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
    DeclaredSchedules::new(checked)
}

/// What is wrong with limiters beside each other, and beside the groups of jobs.
pub(super) fn limiter_problems(
    policies: &[Policy],
    limiters: &[limiter::Declaration],
) -> Vec<String> {
    let groups = policies.iter().filter_map(|policy| Some(policy.concurrency?.group));
    let mut names: HashSet<&str> = groups.collect();
    let mut problems = Vec::new();
    for limiter in limiters {
        let name = &limiter.name;
        if !names.insert(name) {
            problems.push(format!(
                "the limiter `{name}` was given twice, or has the same name as a concurrency \
                 group: rename one of them"
            ));
        }
        problems
            .extend(limiter.check().err().map(|error| format!("the limiter `{name}`: {error}")));
    }
    problems
}
