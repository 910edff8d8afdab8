//! Topics, and the kinds that subscribe to them.

use crate::admin::Admin;
use crate::admin::AdminError;

mod reference;
pub(super) mod statements;
mod topic;

pub use self::reference::TopicRef;
pub use self::topic::{Subscriber, TopicSummary};

impl Admin {
    /// The topics with subscribers, by name, and the kinds that subscribe to them; 1,000 kinds at
    /// most.
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
}
