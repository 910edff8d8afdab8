use serde_json::Value;
use sqlx::types::Json;
use tracing::debug_span;

use super::topic::Subscriber;
use crate::store::{One, from_row, statements};
use crate::terms::Terms;

statements! {
    /// The kinds that subscribe to topics.
    fn subscribers() -> Vec<Subscription> = include_str!("sql/topics_list.sql");

    /// A job for each of them.
    fn publish_noted(actor: Option<&str>, topic: &str, args: &Value, version: Option<i32>,
            terms: Option<Json<&Terms>>) -> One<Published>
        = include_str!("sql/topics_publish_noted.sql"),
        debug_span!("jobkit.publish", topic);

    /// Removes a subscription; whether there was one.
    fn unsubscribe(topic: &str, kind: &str, actor: Option<&str>) -> One<bool>
        = "select jobkit.unsubscribe($1, $2, $3)",
        debug_span!("jobkit.unsubscribe", topic, kind);
}

/// A kind that subscribes to a topic.
pub(crate) struct Subscription {
    pub(crate) topic: String,
    pub(crate) subscriber: Subscriber,
}

/// The jobs that a publication enqueues.
pub(crate) struct Published {
    pub(crate) ids: Vec<i64>,
}

from_row! {
    Subscriber { kind, subscribed_at, announced_at, workers }
}

from_row! {
    Published { ids }
}

from_row! {
    Subscription { topic; subscriber: Subscriber::from_row }
}
