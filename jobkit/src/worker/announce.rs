use sqlx::PgPool;

use super::settings::Settings;
use super::ticker;
use crate::error::StartProblems;
use crate::registry::Registry;
use crate::store::{self, Link, SchemaCheck};
use crate::{Error, Policy};

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
/// [`Error::Announce`] with all that is wrong with the jobs; [`Error::SchemaMissing`],
/// [`Error::SchemaOlder`] and [`Error::SchemaNewer`] when the schema does not fit;
/// [`Error::ReadOnly`]; [`Error::Unreachable`]; [`Error::Database`].
pub async fn announce(pool: &PgPool) -> Result<(), Error> {
    let registry = Registry::linked();
    let problems = registry.declared_problems();
    if !problems.is_empty() {
        return Err(Error::Announce(StartProblems(problems)));
    }
    let deadlines = Settings::default().deadlines();
    let mut link = Link::new("announce", pool.clone(), deadlines).of_operator();
    link.call(&SchemaCheck).await??;
    tell(&mut link, &registry.announcements()).await?;
    link.close().await;
    Ok(())
}

/// Tells the database of these kinds, with their limits.
pub(super) async fn tell(link: &mut Link, policies: &[Policy]) -> Result<(), Error> {
    for (group, old, new) in ticker::insist(link, &store::announce_limits(policies)).await? {
        if let Some(old) = old {
            tracing::warn!(group, old, new, "jobkit: this binary changed a concurrency limit");
        }
    }
    ticker::insist(link, &store::announce(policies)).await
}
