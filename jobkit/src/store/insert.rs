use serde_json::value::RawValue;

use super::job::{NewJob, written};
use crate::terms::Terms;

/// An enqueue as one statement that any driver can send: every parameter is text or null, and the
/// first column of its rows is the id of a job.
#[derive(Debug, Clone)]
pub(crate) struct Insert {
    pub(crate) sql: &'static str,
    pub(crate) parameters: Vec<Option<String>>,
}

impl Insert {
    /// Of any number of jobs; the ids come in their order.
    pub(crate) fn jobs(jobs: &[NewJob]) -> Self {
        let (sql, parameters) = written(jobs);
        Self { sql, parameters }
    }

    /// Of a job for each kind that subscribes to a topic, with this payload.
    pub(crate) fn publish(topic: &str, version: u16, args: Box<RawValue>, terms: &Terms) -> Self {
        let version = Some(version).filter(|version| *version != 1);
        let parameters = vec![
            Some(topic.to_owned()),
            Some(Box::<str>::from(args).into_string()),
            version.map(|version| version.to_string()),
            terms.some().and_then(|terms| serde_json::to_string(terms).ok()),
        ];
        Self { sql: include_str!("sql/topics_publish.sql"), parameters }
    }
}
