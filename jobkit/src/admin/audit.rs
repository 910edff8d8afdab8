//! Who did what.

use super::Admin;
use crate::Error;
use crate::dead_letter::AuditEntry;
use crate::limits;
use crate::store::Audit;

impl Admin {
    /// The same view, of which it is known who uses it: what is done through it bears this name in
    /// the [`audit`](Self::audit). Free text, of which 16 KiB are kept.
    ///
    /// ```no_run
    /// # use jobkit::{Admin, DeadLetterId};
    /// # async fn f(admin: Admin, id: DeadLetterId) -> Result<(), Box<dyn std::error::Error>> {
    /// admin.acting_as("alice").replay(id).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn acting_as(&self, actor: &str) -> Self {
        Self { actor: Some(limits::clean(actor).into()), ..self.clone() }
    }

    pub(super) fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }

    /// A page of 1 to 500 entries (a `limit` outside of that is taken for the nearest end) of what
    /// operators did to dead letters, the newest first. The next page begins `after` the id of the
    /// last entry of this one.
    ///
    /// An entry is written in the transaction that did what it says. What jobkit does by itself is
    /// not in here.
    ///
    /// # Errors
    /// As all of [`Admin`].
    pub async fn audit(&self, after: Option<i64>, limit: u32) -> Result<Vec<AuditEntry>, Error> {
        let limit = limit.clamp(1, 500).into();
        self.ask(&Audit { before: after, limit }).await
    }
}
