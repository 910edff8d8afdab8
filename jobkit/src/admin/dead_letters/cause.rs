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
    /// When.
    pub at: DateTime<Utc>,
}

impl Admin {
    /// Writes a note about a cause of dead letters, such as what is known or who works on it. It
    /// replaces the current note; an empty text removes it. Later dead letters of the cause have it
    /// as well.
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

    /// Mutes a cause for 1 second to 366 days: its dead letters need no attention, and the
    /// [`overview`](Self::overview) does not count them among those that were buried lately. They
    /// stay as they are. Returns when the mute ends.
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

    /// Unmutes a cause at once.
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
