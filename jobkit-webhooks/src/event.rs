use std::fmt::Display;

use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::DeliverWebhook;
use crate::signature::random;

/// Something that happened, to be sent to endpoints.
///
/// ```
/// use jobkit_webhooks::Event;
///
/// let event = Event::new("order.paid", &[("order", 7)])?;
/// let jobs = [1, 2].map(|endpoint| event.to(endpoint));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Event {
    id: String,
    body: Box<RawValue>,
}

impl Event {
    /// An event of this type that happened now, as Standard Webhooks recommends:
    /// `{"type": "order.paid", "timestamp": "…", "data": …}`.
    ///
    /// # Errors
    /// `data` does not become JSON.
    pub fn new<T: Serialize + ?Sized>(kind: &str, data: &T) -> serde_json::Result<Self> {
        #[derive(Serialize)]
        struct Body<'a, T: ?Sized> {
            #[serde(rename = "type")]
            kind: &'a str,
            timestamp: String,
            data: &'a T,
        }
        let timestamp = Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true);
        Ok(Self::with_body(to_raw_value(&Body { kind, timestamp, data })?))
    }

    /// An event with this body of any form, which is sent as it is.
    #[must_use]
    pub fn with_body(body: Box<RawValue>) -> Self {
        let id = format!("msg_{:032x}", u128::from_le_bytes(random()));
        Self { id, body }
    }

    /// Sets the id by which receivers recognise the event: visible ASCII characters without a full
    /// stop, at most 500 bytes together with the id of the endpoint. Otherwise the id is random.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// The job that delivers it to the endpoint with this id: pass it to
    /// [`Enqueue::enqueue`](jobkit::Enqueue::enqueue), or many to
    /// [`enqueue_all`](jobkit::enqueue_all).
    pub fn to(&self, endpoint: impl Display) -> DeliverWebhook {
        DeliverWebhook {
            endpoint: endpoint.to_string(),
            id: Some(self.id.clone()),
            body: self.body.clone(),
        }
    }

    /// Id and body, as they are sent.
    pub(crate) fn parts(&self) -> (&str, &str) {
        (&self.id, self.body.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_type_time_and_payload_and_an_id_of_its_own() {
        let event = Event::new("order.paid", &7).unwrap();
        let body: serde_json::Value = serde_json::from_str(event.body.get()).unwrap();
        assert_eq!((&body["type"], &body["data"]), (&"order.paid".into(), &7.into()));
        chrono::DateTime::parse_from_rfc3339(body["timestamp"].as_str().unwrap()).unwrap();
        assert_eq!(event.id.len(), 36);
        assert_ne!(event.id, Event::new("order.paid", &7).unwrap().id);
        assert_eq!(event.id("mine").to(8).id.as_deref(), Some("mine"));
    }
}
