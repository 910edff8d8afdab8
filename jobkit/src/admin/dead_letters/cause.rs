//! What operators know of a cause of dead letters.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::statements;
use crate::admin::Admin;
use crate::admin::AdminError;
use crate::limits::{self, LENGTHS, NAME_BYTES, REASON_BYTES};
use crate::store::interval;

/// What somebody wrote about a cause of dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CauseNote {
    /// The text.
    pub text: String,
    /// Who wrote it, as they said.
    pub actor: Option<String>,
    /// When.
    pub at: DateTime<Utc>,
}

impl Admin {
    /// Writes a note about a cause of dead letters, in place of the one that is there: what is
    /// known of it, who sees to it. An empty text takes it away. It is of the cause, so dead
    /// letters that come later have it as well.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the fingerprint, which has 1 to 128 bytes, and for the note,
    /// which has 4,096 at most.
    pub async fn note_cause(&self, fingerprint: &str, note: &str) -> Result<(), AdminError> {
        limits::name("fingerprint", fingerprint, NAME_BYTES)?;
        limits::text("note", note, REASON_BYTES)?;
        let note = Some(note.trim()).filter(|note| !note.is_empty());
        self.ask(&statements::note_cause(fingerprint, note, self.actor())).await
    }

    /// For so long, 1 second to 366 days, dead letters of this cause need nobody's attention: the
    /// [`overview`](Self::overview) does not count them among those that were buried lately. They
    /// are there as before. Returns until when.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the time and for the fingerprint.
    pub async fn mute_cause(
        &self,
        fingerprint: &str,
        time: Duration,
    ) -> Result<DateTime<Utc>, AdminError> {
        limits::range("seconds of a mute", time.as_secs(), LENGTHS, "1 to 31622400")?;
        let until = self.mute(fingerprint, Some(time)).await?;
        Ok(until.unwrap_or_default())
    }

    /// Ends that at once.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the fingerprint.
    pub async fn unmute_cause(&self, fingerprint: &str) -> Result<(), AdminError> {
        self.mute(fingerprint, None).await.map(drop)
    }

    async fn mute(
        &self,
        fingerprint: &str,
        time: Option<Duration>,
    ) -> Result<Option<DateTime<Utc>>, AdminError> {
        limits::name("fingerprint", fingerprint, NAME_BYTES)?;
        self.ask(&statements::mute_cause(fingerprint, time.map(interval), self.actor())).await
    }
}
