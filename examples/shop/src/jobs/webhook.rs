//! Telling customers what happened, at the pace of their servers.

use std::time::Duration;

use jobkit::{Job, JobContext, JobError, enqueue_all, job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::Shop;

/// Delivers one event to one endpoint.
///
/// Two deliveries of an endpoint run at a time, over all workers: a slow server holds up its own
/// events and nobody else's. The key is the endpoint's number, since a URL may be longer than the
/// 512 bytes of a key, and then the order could not be placed.
///
/// It has **no dead-letter key**, though one letter for each endpoint would be a shorter list: with
/// a key the newest payload replaces the older ones, and here each event counts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[job(
    queue = "webhooks", max_attempts = 12, timeout = "30s",
    backoff = exponential("5s", max = "1h"),
    concurrency_key = self.endpoint, concurrency_limit = 2
)]
pub struct DeliverWebhook {
    pub endpoint: i64,
    /// What happened, with the number of the order: the customer drops what arrives twice.
    pub event: String,
}

/// Enqueues an event for every endpoint, in the transaction of what happened.
pub async fn announce(what: &str, order: i64, tx: &mut PgConnection) -> anyhow::Result<()> {
    let find = sqlx::query_scalar("select id from endpoints where gone_at is null");
    let endpoints: Vec<i64> = find.fetch_all(&mut *tx).await?;
    let event = format!("{what}:{order}");
    let each = endpoints.into_iter();
    let jobs = each.map(|endpoint| DeliverWebhook { endpoint, event: event.clone() });
    enqueue_all(jobs, tx).await?;
    Ok(())
}

impl Job<Shop> for DeliverWebhook {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let Shop { pool, partners } = cx.state();
        let find =
            sqlx::query_scalar("select url from endpoints where id = $1 and gone_at is null");
        let Some(url): Option<String> = find.bind(self.endpoint).fetch_optional(pool).await? else {
            return Err(JobError::discard("the endpoint is no longer there"));
        };
        // `?` is right for what may pass: no connection, a name that does not resolve.
        let (status, retry_after) = partners.post(&url, &self.event).await?;
        if status == 410 {
            let gone = sqlx::query("update endpoints set gone_at = now() where id = $1");
            gone.bind(self.endpoint).execute(pool).await?;
        }
        verdict(status, retry_after)
    }
}

/// What an answer means for the job. Apart from the handler, so that a test sees the whole table.
pub fn verdict(status: u16, retry_after: Option<u64>) -> jobkit::Result {
    match (status, retry_after) {
        (200..=299, _) => Ok(()),
        (410, _) => Err(JobError::discard("410: the endpoint is gone")),
        // Too many is no failure, and charges no attempt. It has a budget of its own, so an
        // endpoint that says 429 for ever ends as dead letters; with `snooze` it would never end.
        (429, seconds) => Err(JobError::wait(rest(seconds.unwrap_or(60)), "429: too many")),
        // Something is broken there, and they know better than our backoff when to come back.
        (503, Some(seconds)) => Err(JobError::retry_in(rest(seconds), "503: unavailable")),
        // These are worth another attempt without being asked: a timeout, too early.
        (408 | 425 | 500..=599, _) => Err(format!("status {status}").into()),
        // Any other answer is about the request, and the next one would be the same.
        _ => Err(JobError::dead(format!("the endpoint refuses the event: {status}"))),
    }
}

/// How long to leave an endpoint alone: an hour at most.
fn rest(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(3600))
}
