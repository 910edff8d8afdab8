use std::time::Duration;

use super::session::Session;
use crate::error::DatabaseError;
use crate::store::{Call, interval, shift_times};

/// Lets this much time pass for everything that waits in the database: whatever would become due in
/// that time is due now, so that the next [`Drain`](super::Drain) runs it. This covers delays,
/// snoozes, retries, expiry, rates, pauses of keys, held unique keys, automatic replays, and
/// schedules.
///
/// The clock does not change: all stored times are moved into the past, within the transaction of
/// the test. That includes `created_at`, so a job's
/// [`idempotency_key`](crate::JobContext::idempotency_key) changes. Within one drain with
/// [`over`](super::Drain::over), the key stays the same.
///
/// ```no_run
/// # use std::time::Duration;
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), Box<dyn std::error::Error>> {
/// use jobkit::testing::{Drain, advance};
///
/// let hour = Duration::from_secs(3600);
/// Welcome { user: 7 }.options().after(hour).enqueue(&mut *tx).await?;
/// assert!(Drain::new().only::<Welcome>().run(&mut *tx).await?.runs.is_empty());
/// advance(&mut *tx, hour).await?;
/// Drain::new().only::<Welcome>().run(&mut *tx).await?.assert_finished();
/// # Ok(()) }
/// ```
///
/// # Errors
/// Any [`DatabaseError`] except [`DatabaseError::Deadline`].
pub async fn advance(mut session: impl Session, time: Duration) -> Result<(), DatabaseError> {
    Ok(shift_times(interval(time)).call(&mut **session.connection().await?).await?)
}
