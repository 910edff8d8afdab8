use chrono::{DateTime, Utc};

/// A topic with subscribers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicSummary {
    /// Its name.
    pub topic: String,
    /// The kinds that subscribe, by name.
    pub subscribers: Vec<Subscriber>,
}

/// A kind that subscribes to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscriber {
    /// The kind.
    pub kind: String,
    /// When it first subscribed.
    pub subscribed_at: DateTime<Utc>,
    /// When a binary last announced it: a worker when it started, or
    /// [`announce`](crate::announce()).
    pub announced_at: DateTime<Utc>,
    /// Live workers that know the kind and are not stopping. Without any, its jobs pile up.
    pub workers: u32,
}
