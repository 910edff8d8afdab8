//! Topics, and the kinds that subscribe to them.

use serde_json::Value;
use sqlx::types::Json;

use crate::JobId;
use crate::admin::Admin;
use crate::admin::AdminError;
use crate::admin::jobs::ByNameError;
use crate::limits::{self, NAME_BYTES};
use crate::terms::Terms;

pub(super) mod statements;
mod topic;

pub use self::topic::{Subscriber, TopicSummary};

impl Admin {
    /// The topics with subscribers, by name, with the kinds that subscribe: the first 1,000 of
    /// these.
    pub async fn topics(&self) -> Result<Vec<TopicSummary>, AdminError> {
        let mut topics: Vec<TopicSummary> = Vec::new();
        for found in self.ask(&statements::subscribers()).await? {
            let (topic, subscriber) = (found.topic, found.subscriber);
            match topics.last_mut().filter(|last| last.topic == topic) {
                Some(last) => last.subscribers.push(subscriber),
                None => topics.push(TopicSummary { topic, subscribers: vec![subscriber] }),
            }
        }
        Ok(topics)
    }

    /// Unsubscribes a kind from this topic. Use it for a kind that no binary has any more, which
    /// would collect jobs for ever. Its jobs and dead letters stay, and it subscribes again as soon
    /// as a binary announces it. Returns whether it was subscribed.
    pub async fn unsubscribe(&self, topic: &str, kind: &str) -> Result<bool, AdminError> {
        limits::name("name of a topic", topic, NAME_BYTES)?;
        limits::name("kind", kind, NAME_BYTES)?;
        self.ask(&statements::unsubscribe(topic, kind, self.actor())).await
    }

    /// Publishes to a topic by its name, for programs and people that do not have its type. It uses
    /// `jobkit.publish`, and is noted in the audit. Returns the jobs; none without subscribers.
    ///
    /// An application publishes with [`Topic`](crate::enqueue::Topic), in its own transaction.
    ///
    /// # Errors
    /// [`ByNameError`] says which.
    pub async fn publish(
        &self,
        topic: &str,
        args: &Value,
        version: Option<u16>,
    ) -> Result<Vec<JobId>, ByNameError> {
        limits::name("name of a topic", topic, NAME_BYTES)?;
        let text = args.to_string();
        limits::payload(&text, 0)?;
        let mut terms = Terms::default();
        Terms::carry([&mut terms]);
        let (actor, version) = (self.actor(), version.map(i32::from));
        let publish =
            statements::publish_noted(actor, topic, args, version, terms.some().map(Json));
        let mut link = self.link();
        let published = link.call(&publish).await;
        let published = published.map_err(|error| ByNameError::of(error, topic))?;
        link.close().await;
        Ok(published.ids.into_iter().map(JobId).collect())
    }
}
