//! One topic: publishing to it, and ending subscriptions.

use serde_json::Value;
use sqlx::types::Json;

use super::statements;
use crate::JobId;
use crate::admin::Admin;
use crate::admin::AdminError;
use crate::admin::jobs::ByNameError;
use crate::limits::{self, NAME_BYTES};
use crate::terms::Terms;

/// A topic, referred to by its name. It need not have subscribers. [`Admin::topic`] returns it.
///
/// An application publishes with [`Topic`](crate::enqueue::Topic), in its own transaction.
///
/// ```no_run
/// # async fn f(admin: jobkit::Admin) -> Result<(), jobkit::admin::jobs::ByNameError> {
/// let paid = admin.topic("order_paid");
/// let jobs = paid.publish(&serde_json::json!({"order": 7}), None).await?;
/// println!("{} kinds subscribe", jobs.len());
/// # Ok(()) }
/// ```
///
/// # Errors
/// Every method fails with [`InvalidValue`](crate::error::InvalidValue) for a name that is empty or
/// longer than 128 bytes. For the errors of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is done until one of its methods is awaited"]
pub struct TopicRef<'a> {
    admin: &'a Admin,
    name: &'a str,
}

impl Admin {
    /// A topic by its name, to publish to it or to end a subscription.
    pub fn topic<'a>(&'a self, name: &'a str) -> TopicRef<'a> {
        TopicRef { admin: self, name }
    }
}

impl TopicRef<'_> {
    /// Unsubscribes a kind from the topic. Use it for a kind that no binary has any more, and that
    /// would otherwise collect jobs for ever. Its jobs and dead letters stay, and it subscribes
    /// again as soon as a binary announces it. Returns whether it was subscribed.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the kind.
    pub async fn unsubscribe(self, kind: &str) -> Result<bool, AdminError> {
        let Self { admin, name } = self;
        limits::name("name of a topic", name, NAME_BYTES)?;
        limits::name("kind", kind, NAME_BYTES)?;
        admin.ask(&statements::unsubscribe(name, kind, admin.actor())).await
    }

    /// Publishes to the topic, for programs and people that do not have its type. It calls
    /// `jobkit.publish`, and is recorded in the audit. Returns the jobs; none without subscribers.
    ///
    /// # Errors
    /// See [`ByNameError`].
    pub async fn publish(
        self,
        args: &Value,
        version: Option<u16>,
    ) -> Result<Vec<JobId>, ByNameError> {
        let Self { admin, name } = self;
        limits::name("name of a topic", name, NAME_BYTES)?;
        let text = args.to_string();
        limits::payload(&text, 0)?;
        let mut terms = Terms::default();
        Terms::carry([&mut terms]);
        let (actor, version) = (admin.actor(), version.map(i32::from));
        let publish = statements::publish_noted(actor, name, args, version, terms.some().map(Json));
        let mut link = admin.link();
        let published = link.call(&publish).await;
        let published = published.map_err(|error| ByNameError::of(error, name))?;
        link.close().await;
        Ok(published.ids.into_iter().map(JobId).collect())
    }
}
