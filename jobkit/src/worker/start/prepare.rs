//! What is checked and created before the first claim.

use crate::error::DatabaseError;
use crate::policy::{Policy, Subscription};
use crate::store::{Link, SaidLimit, days_there, durability, prepare_days, unserved_queues};
use crate::worker::schedules::DeclaredSchedules;
use crate::worker::shared::slots::{Named, Served};
use crate::worker::some::some;
use crate::worker::{announce, ticker};

/// Warns of settings that may lose jobs, and of jobs in queues that no worker serves.
pub(super) async fn warn(link: &mut Link, served: &[Served]) -> Result<(), DatabaseError> {
    warn_of_durability(link).await?;
    warn_of_unserved(link, served).await
}

async fn warn_of_durability(link: &mut Link) -> Result<(), DatabaseError> {
    let commit = link.call(&durability()).await?;
    if commit == "off" {
        tracing::warn!(
            synchronous_commit = commit,
            "jobkit: an acknowledged job may be lost when the database host crashes; turn \
             synchronous_commit on for the roles that enqueue"
        );
    }
    Ok(())
}

async fn warn_of_unserved(link: &mut Link, served: &[Served]) -> Result<(), DatabaseError> {
    let waiting = link.call(&unserved_queues()).await?;
    let serves = |queue: &str, named: &Named| match named.prefix() {
        Some(prefix) => queue.starts_with(prefix),
        None => *named.name == *queue,
    };
    let names = served.iter().flat_map(|pool| &pool.names);
    let unserved = waiting.into_iter().filter(|(queue, served_elsewhere)| {
        !served_elsewhere && !names.clone().any(|named| serves(queue, named))
    });
    let (first, more) = some(unserved.map(|(queue, _)| queue));
    for queue in first {
        tracing::warn!(queue, "jobkit: jobs wait in a queue that no worker serves");
    }
    if more > 0 {
        tracing::warn!(queues = more, "jobkit: jobs wait in more queues that no worker serves");
    }
    Ok(())
}

/// Creates what must exist before the first claim: kinds for `jobkit.enqueue`, schedules,
/// partitions for the history.
pub(super) async fn prepare(
    link: &mut Link,
    policies: &[Policy],
    limits: &[SaidLimit],
    subscriptions: &[Subscription],
    declared: &mut DeclaredSchedules,
    days: i32,
) -> Result<(), DatabaseError> {
    announce::tell(link, policies, limits).await?;
    announce::subscriptions(link, subscriptions).await?;
    declared.tell(link).await?;
    match ticker::insist(link, &prepare_days(days)).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_answer() => with_what_is_there(link, error).await,
        Err(error) => Err(error),
    }
}

/// More days cannot be created, which the upkeep keeps trying and logging. Jobs can end without
/// them, but are kept no longer than until the last day.
async fn with_what_is_there(link: &mut Link, error: DatabaseError) -> Result<(), DatabaseError> {
    let there = link.call(&days_there()).await?;
    if there == 0 {
        return Err(error);
    }
    tracing::warn!(
        %error, days = there,
        "jobkit: cannot create more days of history; ended jobs are kept until the last existing \
         day"
    );
    Ok(())
}
