//! The job types. Queues are by what jobs wait for, so that slow endpoints hold up no card.
//!
//! | job | what it shows |
//! |---|---|
//! | [`ChargeCard`] | an idempotency key that survives retries and replays; follow-ups in one transaction |
//! | [`SendReceipt`] | retries with backoff; an effect that cannot be made idempotent |
//! | [`DeliverWebhook`] | a limit for each endpoint; what to do about each status |
//! | [`ImportStock`] | a long job that stops when it is told to, and goes on at its checkpoint |
//! | [`NightlyReport`] | a job that enqueues its next run |
//! | [`IndexProduct`] | work that blocks; a dead-letter key |
//! | [`RefundOrder`] | one job that makes many, in one transaction |
//! | [`CleanUp`] | low priority; small steps |

mod charge;
mod cleanup;
mod import;
mod index;
mod receipt;
mod refund;
mod report;
pub mod webhook;

pub use charge::ChargeCard;
pub use cleanup::CleanUp;
pub use import::ImportStock;
pub use index::IndexProduct;
pub use receipt::{Paper, SendReceipt};
pub use refund::RefundOrder;
pub use report::{NightlyReport, plan_report};
pub use webhook::DeliverWebhook;
