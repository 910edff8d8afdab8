//! Payload fields that are stored encrypted: `#[job(encrypt(token, card.number))]`.
//!
//! They are sealed when a job is enqueued and opened when a worker is about to run it. In between,
//! backups, replicas and operators only have ciphertext, which is also
//! [redacted](crate::policy::Policy::redact): no page, log, error or search shows it.
//!
//! ```
//! use jobkit::policy::encryption::{self, Keyring};
//! use jobkit::job;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! #[job(encrypt(token))]
//! struct Connect {
//!     account: i64,
//!     token: String,
//! }
//! # impl jobkit::Job for Connect {
//! #     async fn run(self, _: jobkit::JobContext) -> jobkit::Result { Ok(()) }
//! # }
//!
//! # fn main() -> Result<(), encryption::KeyringError> {
//! // Once, before the first enqueue and the first worker. The first key seals, all of them open:
//! // JOBKIT_KEYS="2026b:<32 bytes in base64>,2026a:<…>"
//! # // No test sets the environment of a process with threads.
//! # let text = "2026b:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
//! # let from_env = || text.parse::<Keyring>();
//! # if false {
//! encryption::keys(Keyring::from_env()?);
//! # }
//! # encryption::keys(from_env()?);
//! # Ok(()) }
//! ```
//!
//! A worker that lacks the key of a job puts the job back, uncharged, for one that has it. A
//! payload that was tampered with does not decode. Change keys step by step, with
//! [`Admin::reseal`](crate::Admin::reseal) in between.
//!
//! Only values of the payload are sealed: not metadata, tags, keys, results, checkpoints, notes, or
//! what a handler logs. The length of a value, and whether it is null, remain visible.

pub use crate::encryption::{Cipher, Keyring, KeyringError, OpenError, keys};
