//! The input and the result of every command.

use jobkit::Admin;

use super::answer::{Answer, Failure};
use crate::access::Redaction;

pub(super) type Answered = Result<Answer, Failure>;

/// What every command is given.
pub(super) struct Desk {
    pub(super) admin: Admin,
    pub(super) actor: String,
    pub(super) redaction: Redaction,
    pub(super) json: bool,
}
