//! Topics as JSON.

use jobkit::admin::topics::{Subscriber, TopicSummary};
use serde_json::{Value, json};

use super::show::iso;

pub(crate) fn topic(topic: &TopicSummary) -> Value {
    let subscriber = |subscriber: &Subscriber| {
        json!({
            "kind": subscriber.kind,
            "subscribed_at": iso(&subscriber.subscribed_at),
            "announced_at": iso(&subscriber.announced_at),
            "workers": subscriber.workers,
        })
    };
    json!({
        "topic": topic.topic,
        "subscribers": topic.subscribers.iter().map(subscriber).collect::<Vec<_>>(),
    })
}
