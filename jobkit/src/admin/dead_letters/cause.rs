//! Notes about causes of dead letters, and mutes.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::statements;
use crate::admin::Admin;
use crate::admin::AdminError;
use crate::limits::{self, LENGTHS, NAME_BYTES, REASON_BYTES};
use crate::store::interval;

/// A note about a cause of dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CauseNote {
    /// The text.
    pub text: String,
    /// Who wrote it, by the name they gave.
    pub actor: Option<String>,
    /// When it was written.
    pub at: DateTime<Utc>,
}

/// A cause of dead letters, referred to by its [fingerprint](super::DeadLetterGroup::fingerprint).
/// There need not be any such dead letters. [`Admin::cause`] returns it.
///
/// ```no_run
/// # use std::time::Duration;
/// # async fn f(admin: jobkit::Admin) -> Result<(), jobkit::admin::AdminError> {
/// for group in admin.dead_letter_groups(10).await? {
///     let cause = admin.cause(&group.fingerprint);
///     cause.note("the bank is down until noon").await?;
///     cause.mute(Duration::from_secs(3 * 3600)).await?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// Every method fails with [`AdminError::Invalid`] if the fingerprint is empty or longer than 128
/// bytes. For the errors of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is done until one of its methods is awaited"]
pub struct CauseRef<'a> {
    admin: &'a Admin,
    fingerprint: &'a str,
}

impl Admin {
    /// A cause of dead letters by its fingerprint, to write a note about it or to mute it.
    pub fn cause<'a>(&'a self, fingerprint: &'a str) -> CauseRef<'a> {
        CauseRef { admin: self, fingerprint }
    }
}

impl CauseRef<'_> {
    /// Writes a note about the cause, such as what is known or who works on it. It replaces the
    /// current note; an empty text removes it. Later dead letters of the cause have it as well.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for a note of more than 4,096 bytes.
    pub async fn note(self, note: &str) -> Result<(), AdminError> {
        limits::name("fingerprint", self.fingerprint, NAME_BYTES)?;
        limits::text("note", note, REASON_BYTES)?;
        let note = Some(note.trim()).filter(|note| !note.is_empty());
        self.admin.ask(&statements::note_cause(self.fingerprint, note, self.admin.actor())).await
    }

    /// Mutes the cause for 1 second to 366 days: its dead letters need no attention, and the
    /// [`overview`](Admin::overview) does not count them as recently buried. They are not changed.
    /// Returns when the mute ends.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the time.
    pub async fn mute(self, time: Duration) -> Result<DateTime<Utc>, AdminError> {
        limits::range("seconds of a mute", time.as_secs(), LENGTHS, "1 to 31622400")?;
        let until = self.muted_for(Some(time)).await?;
        Ok(until.unwrap_or_default())
    }

    /// Unmutes the cause immediately.
    pub async fn unmute(self) -> Result<(), AdminError> {
        self.muted_for(None).await.map(drop)
    }

    async fn muted_for(self, time: Option<Duration>) -> Result<Option<DateTime<Utc>>, AdminError> {
        let Self { admin, fingerprint } = self;
        limits::name("fingerprint", fingerprint, NAME_BYTES)?;
        admin.ask(&statements::mute_cause(fingerprint, time.map(interval), admin.actor())).await
    }
}
