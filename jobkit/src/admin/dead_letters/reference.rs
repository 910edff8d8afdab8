//! One dead letter: looking it up and removing it.

use super::dead_letter::{DeadLetter, DeadLetterId};
use super::statements;
use crate::admin::Admin;
use crate::admin::AdminError;

/// What [`DeadLetterRef::discard`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadLetterDiscarded {
    /// It was removed for good.
    Now,
    /// Nothing, since a job is replaying it. Cancel that job first, which opens the dead letter
    /// again.
    Replaying,
    /// There is no such dead letter.
    NotFound,
}

/// A dead letter, referred to by its id. It need not exist. [`Admin::dead_letter`] returns it.
///
/// ```no_run
/// # use jobkit::Admin;
/// # use jobkit::admin::dead_letters::DeadLetterId;
/// # async fn f(admin: Admin, id: DeadLetterId) -> Result<(), Box<dyn std::error::Error>> {
/// let letter = admin.dead_letter(id);
/// match letter.get().await? {
///     Some(found) if found.error.contains("timed out") => _ = letter.replay().await?,
///     _ => _ = letter.discard().await?,
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// Only [`replay`](Self::replay) fails if there is no such dead letter. For the errors of every
/// method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is asked or done until one of its methods is awaited"]
pub struct DeadLetterRef<'a> {
    pub(super) admin: &'a Admin,
    pub(super) id: DeadLetterId,
}

impl Admin {
    /// A dead letter by its id, to look it up, replay it or remove it.
    pub fn dead_letter(&self, id: DeadLetterId) -> DeadLetterRef<'_> {
        DeadLetterRef { admin: self, id }
    }
}

impl DeadLetterRef<'_> {
    /// The dead letter with everything stored about it; `None` if there is none with this id.
    pub async fn get(self) -> Result<Option<DeadLetter>, AdminError> {
        Ok(self.admin.ask(&statements::whole_dead_letters(&[self.id.0])).await?.pop())
    }

    /// Removes the dead letter for good, unless a job is replaying it. The [`audit`](Admin::audit)
    /// keeps its kind, key, cycles, error and payload.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if another open transaction has locked it for a second.
    pub async fn discard(self) -> Result<DeadLetterDiscarded, AdminError> {
        let discard = statements::discard_dead_letter(self.id.0, self.admin.actor());
        let outcome = self.admin.ask(&discard).await.map_err(AdminError::or_busy)?;
        Ok(match &*outcome {
            "discard" => DeadLetterDiscarded::Now,
            "replaying" => DeadLetterDiscarded::Replaying,
            _ => DeadLetterDiscarded::NotFound,
        })
    }
}
