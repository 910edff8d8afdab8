//! Signed webhooks as jobs: events for your customers' endpoints, enqueued in the same transaction
//! as your changes, signed as [Standard Webhooks](https://www.standardwebhooks.com) specifies, and
//! retried for three days.
//!
//! Keep your endpoints in a table, and implement [`Endpoints`] for it. Give the worker a
//! [`Webhooks`] as a state, and let it serve the queue `webhooks`:
//!
//! ```no_run
//! use jobkit::{Admin, Worker, enqueue_all};
//! use jobkit_webhooks::{Endpoint, Endpoints, Event, Webhooks};
//! use sqlx::PgPool;
//!
//! struct Table(PgPool);
//!
//! impl Endpoints for Table {
//!     async fn find(&self, id: &str) -> jobkit::Result<Option<Endpoint>> {
//!         let find = "select url, secrets from endpoints
//!             where id::text = $1 and off_since is null";
//!         let found: Option<(String, Vec<String>)> =
//!             sqlx::query_as(find).bind(id).fetch_optional(&self.0).await?;
//!         Ok(found.map(|(url, secrets)| Endpoint { url, secrets }))
//!     }
//!
//!     async fn switch_off(&self, id: &str, why: &str) -> jobkit::Result {
//!         let off = "update endpoints set off_since = now(), off_for = $2 where id::text = $1";
//!         sqlx::query(off).bind(id).bind(why).execute(&self.0).await?;
//!         Ok(())
//!     }
//! }
//!
//! # async fn pay(pool: &PgPool, order: i64, endpoints: Vec<i64>) -> anyhow::Result<()> {
//! // Where something happens:
//! let mut tx = pool.begin().await?;
//! // … the statements that pay the order …
//! let event = Event::new("order.paid", &order)?;
//! enqueue_all(endpoints.iter().map(|id| event.to(id)), &mut *tx).await?;
//! tx.commit().await?;
//! # Ok(()) }
//!
//! # async fn serve(pool: PgPool) -> anyhow::Result<()> {
//! // In the worker:
//! let webhooks = Webhooks::new(Table(pool.clone()), Admin::new(&pool));
//! let worker = Worker::new(pool).state(webhooks).queue("webhooks", 50).start().await?;
//! # worker.stop().await; Ok(()) }
//! ```
//!
//! [`reaction`] decides what happens after an answer, and [`Failure`] says why there is none. Each
//! delivery is a [`DeliverWebhook`], a job like any other. [`new_secret`] creates a secret for an
//! endpoint. While you rotate it, the endpoint has two, and each request has a signature by each.
//! [`Webhooks::test_delivery`] sends one request at once, for the page on which a customer enters
//! an endpoint.
//!
//! A customer's endpoint cannot reach into your network: names are resolved first, and addresses
//! that are not public are refused unless they are in a network that you [allow](Webhooks::allow).

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod address;
mod connection;
mod delivery;
mod endpoint;
mod event;
mod failure;
mod reaction;
mod signature;
mod webhooks;

pub use ipnet::IpNet;
pub use rustls;

pub use self::connection::Answer;
pub use self::delivery::DeliverWebhook;
pub use self::endpoint::{Endpoint, Endpoints};
pub use self::event::Event;
pub use self::failure::Failure;
pub use self::reaction::{Reaction, reaction};
pub use self::signature::new_secret;
pub use self::webhooks::Webhooks;
