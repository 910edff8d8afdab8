//! The job types. Queues are by what jobs wait for, so that slow endpoints hold up no card.
//!
//! | job | what it shows |
//! |---|---|
//! | [`ChargeCard`] | an idempotency key that survives retries and replays |
//! | [`SendReceipt`] | retries with backoff; an effect that cannot be made idempotent |
//! | [`DeliverWebhook`] | a limit for each endpoint; what to do about each status |
//! | [`ImportStock`] | a long job that stops when it is told to, and goes on at its checkpoint |
//! | [`NightlyReport`] | a job that enqueues its next run |
//! | [`IndexProduct`] | work that blocks; a dead-letter key |
//! | [`RefundOrder`] | one job that makes many, in one transaction |
//! | [`CleanUp`] | low priority; small steps |

mod nightly;
mod payments;
mod products;
mod receipt;
pub mod webhook;

pub use nightly::{CleanUp, NightlyReport, plan_report};
pub use payments::{ChargeCard, RefundOrder};
pub use products::{ImportStock, IndexProduct};
pub use receipt::SendReceipt;
pub use webhook::DeliverWebhook;
