use chrono::{DateTime, Utc};

/// A topic to which some kind subscribes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicSummary {
    /// Its name.
    pub topic: String,
    /// The kinds that get a job of whatever is published, by name.
    pub subscribers: Vec<Subscriber>,
}

/// A kind that subscribes to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscriber {
    /// The kind.
    pub kind: String,
    /// Since when.
    pub subscribed_at: DateTime<Utc>,
    /// When a binary last said so: a worker when it started, or
    /// [`announce`](crate::announce()).
    pub announced_at: DateTime<Utc>,
    /// Live workers that know the kind and are not stopping. Where there are none its jobs pile
    /// up.
    pub workers: u32,
}
