use std::time::Duration;

use jobkit::{Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Answer, Reaction, Webhooks};

/// Delivers one event to one endpoint. [`Event::to`](crate::Event::to) returns it. If you enqueue
/// it in SQL, the payload is `{"endpoint": "7", "id": "…", "body": {…}}`, with the endpoint as the
/// concurrency key.
///
/// Four deliveries to an endpoint run at a time, across all workers, so a slow server delays only
/// its own events. An operator can change that for one endpoint or for all, as with any
/// [key](jobkit::Admin::key).
///
/// An event is tried ten times in three and a quarter days. An event that is not delivered by then,
/// or that the endpoint refuses, becomes a dead letter. Its key is `endpoint/id`, so each event has
/// its own dead letter, and one that was enqueued twice counts once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[job(
    queue = "webhooks", max_attempts = 10, backoff = Self::wait, timeout = "2m",
    concurrency_key = self.endpoint, concurrency_limit = 4,
    dead_letter_key = self.event_of_endpoint()
)]
pub struct DeliverWebhook {
    /// The id of the endpoint, as [`Endpoints`](crate::Endpoints) knows it.
    pub endpoint: String,
    /// The id of the event, by which the receiver recognises it: the same in every attempt, and in
    /// the replay of a dead letter. Without one, that of the [job](JobContext::idempotency_key) is
    /// used, which changes with a replay.
    #[serde(default)]
    pub id: Option<String>,
    /// The body, sent byte for byte.
    pub body: Box<RawValue>,
}

/// From about a second after the first failed attempt up to a day: the schedule that Standard
/// Webhooks gives as an example.
const WAITS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The status of an endpoint that gets too many requests: it is not a failure, and no attempt is
/// charged.
const TOO_MANY: u16 = 429;

impl DeliverWebhook {
    /// The key of the dead letter. The endpoint alone would keep its newest event and lose the
    /// others; an event without an id has no key.
    fn event_of_endpoint(&self) -> Option<String> {
        self.id.as_ref().map(|id| [&self.endpoint, "/", id].concat())
    }

    /// How long to wait after this attempt.
    fn wait(attempt: u32) -> Duration {
        let last = WAITS.len() - 1;
        let index = usize::try_from(attempt.saturating_sub(1)).unwrap_or(last).min(last);
        Duration::from_secs(WAITS[index])
    }

    /// Switches the endpoint off, and discards the events that wait for it.
    async fn switch_off(&self, cx: &JobContext<Webhooks>, why: &str) -> jobkit::Result {
        let webhooks = cx.state();
        webhooks.endpoints.switch_off(&self.endpoint, why).await?;
        let key = ["gone-", &cx.idempotency_key()].concat();
        if let Err(error) = webhooks.discard_waiting(&self.endpoint, why, &key).await {
            // Each of them will find the endpoint switched off when it runs.
            tracing::warn!(endpoint = self.endpoint, %error, "jobkit-webhooks: could not discard \
                                                              waiting events");
        }
        Ok(())
    }

    /// The reaction on this answer.
    async fn conclude(&self, cx: &JobContext<Webhooks>, answer: &Answer) -> jobkit::Result {
        match answer.reaction() {
            Reaction::Delivered => Ok(()),
            Reaction::Gone => {
                let why = answer.to_string();
                self.switch_off(cx, &why).await?;
                Err(JobError::discard(why))
            }
            Reaction::Rest(rest) => {
                if let Err(error) = cx.pause_key(rest).await {
                    let endpoint = &self.endpoint;
                    tracing::warn!(endpoint, %error, "jobkit-webhooks: could not pause an \
                                                      endpoint");
                }
                // At least as long as it requests, so that ten rests of a second do not use up an
                // event.
                let again = |number| rest.max(Self::wait(number));
                Err(if answer.status == TOO_MANY {
                    JobError::wait(again(cx.attempt() + cx.snoozes()), answer.to_string())
                } else {
                    JobError::retry_in(again(cx.attempt()), answer.to_string())
                })
            }
            Reaction::Again => Err(answer.to_string().into()),
            Reaction::Refused => Err(JobError::dead(answer.to_string())),
        }
    }
}

impl Job<Webhooks> for DeliverWebhook {
    async fn run(self, cx: JobContext<Webhooks>) -> jobkit::Result {
        let webhooks = cx.state();
        let Some(endpoint) = webhooks.endpoints.find(&self.endpoint).await? else {
            return Err(JobError::discard("the endpoint is switched off, or no longer exists"));
        };
        let id = self.id.clone().unwrap_or_else(|| cx.idempotency_key());
        match webhooks.post(&endpoint, &id, self.body.get()).await {
            Ok(answer) => self.conclude(&cx, &answer).await,
            Err(failure) if failure.is_final() => Err(JobError::dead(failure)),
            Err(failure) => Err(failure.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use jobkit::JobType;

    use super::*;

    #[test]
    fn an_event_is_tried_ten_times_in_three_days_and_a_quarter() {
        let policy = DeliverWebhook::POLICY;
        assert_eq!(usize::from(policy.max_attempts), WAITS.len() + 1);
        let all: Duration =
            (1..u32::from(policy.max_attempts)).map(|n| policy.backoff.delay(n)).sum();
        assert_eq!(all.as_secs(), (75 * 60 + 35) * 60 + 5);
        assert_eq!(policy.backoff.delay(u32::MAX), Duration::from_secs(86_400));
    }

    #[test]
    fn the_dead_letter_is_of_an_event_and_an_endpoint() {
        let event = crate::Event::new("order.paid", &7).unwrap().id("msg_1");
        let keys = [7, 8].map(|endpoint| event.to(endpoint).dead_letter_key());
        assert_eq!(keys.map(Option::unwrap), ["7/msg_1", "8/msg_1"]);
    }

    #[test]
    fn a_payload_without_an_id_reads_and_keeps_its_body() {
        let payload = r#"{"endpoint": "7", "body": {"a":  1.0}}"#;
        jobkit::Registration::of::<DeliverWebhook, _>().reads(1, payload).unwrap();
        let job: DeliverWebhook = serde_json::from_str(payload).unwrap();
        assert_eq!((job.id.as_deref(), job.body.get()), (None, r#"{"a":  1.0}"#));
        assert_eq!((job.concurrency_key().as_deref(), job.dead_letter_key()), (Some("7"), None));
    }
}
