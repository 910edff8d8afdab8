//! The audit.

use crate::admin::Admin;
use crate::admin::AdminError;
use crate::limits::{self, KEY_BYTES, NAME_BYTES};

mod entry;
pub(super) mod statements;

pub use self::entry::{AuditEntry, AuditFilter, AuditPage};

impl Admin {
    /// The same view, acting in this name: the [`audit`](Self::audit) records it with each action.
    /// It is free text, of which 512 bytes are kept.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::dead_letters::DeadLetterId;
    /// # async fn f(admin: Admin, id: DeadLetterId) -> Result<(), Box<dyn std::error::Error>> {
    /// admin.acting_as("alice").dead_letter(id).replay().await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn acting_as(&self, actor: &str) -> Self {
        Self { actor: Some(limits::actor(actor).into()), ..self.clone() }
    }

    pub(super) fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }

    /// A page of 1 to 500 matching entries (a `limit` outside this range is clamped), the newest
    /// first. For the next page, pass [`next`](AuditPage::next) of this one as `after`. A page
    /// looks at 10,000 entries at most, so it may be short or empty although more follow.
    ///
    /// An entry is written in the transaction of the action itself, whether called by this library
    /// or in SQL. Automatic actions of jobkit are not recorded. Entries are kept for 90 days, or as
    /// [`Worker::keep_audit`](crate::Worker::keep_audit) says.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the texts of the filter.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<AuditPage, AdminError> {
        let AuditFilter { action, subject, name, .. } = filter;
        for (what, text) in [("action", action), ("subject", subject)] {
            text.as_ref().map_or(Ok(()), |text| limits::name(what, text, NAME_BYTES))?;
        }
        limits::text("name", name.as_deref().unwrap_or(""), KEY_BYTES)?;
        let limit = limit.clamp(1, 500).into();
        self.ask(&statements::audit(filter, after, limit)).await
    }
}
