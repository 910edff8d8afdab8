//! Measures of attempts, over time.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::Admin;
use crate::admin::AdminError;
use crate::limits::{self, NAME_BYTES};
use crate::store::interval;

mod row;
mod series;
pub(super) mod statements;

pub use self::row::MeasureRow;
pub use self::series::{MeasureFilter, MeasurePoint, MeasureSeries, Measures};
pub use crate::histogram::Histogram;

const MINUTE: Duration = Duration::from_secs(60);
const QUARTER: Duration = Duration::from_secs(15 * 60);

/// From this age on, single minutes are not read.
const LONG: Duration = Duration::from_secs(6 * 60 * 60);

/// The longest range of a series.
const FURTHEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The most intervals of a series.
const STRETCHES: u32 = 1440;

impl Admin {
    /// Outcomes of attempts from `since` ago (a minute to 366 days) up to now, in intervals of
    /// `bucket`: whole minutes, or quarters of an hour if it goes back for more than six hours, and
    /// at most 1,440 intervals. Values out of range are clamped; the result says how long its
    /// intervals are.
    ///
    /// Workers add their measures with their heartbeats, so the numbers are some seconds old and
    /// belong to the minute in which they were added. They are kept for 7 days, or as
    /// [`Worker::keep_measures`](crate::Worker::keep_measures) says. At most the newest 50,000
    /// matching rows are read, one for each minute or quarter of an hour, queue, kind and outcome:
    /// beyond that a series is empty.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use jobkit::Admin;
    /// # use jobkit::admin::measures::MeasureFilter;
    /// # async fn f(admin: Admin) -> Result<(), jobkit::admin::AdminError> {
    /// let (day, hour) = (Duration::from_secs(24 * 60 * 60), Duration::from_secs(60 * 60));
    /// let series = admin.measures(&MeasureFilter::all().queue("mail"), day, hour).await?;
    /// for point in series.points {
    ///     let p95 = point.measures.wait.percentile(0.95);
    ///     println!("{}: {} finished, waited {p95:?}", point.at, point.measures.finished);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the texts of the filter.
    pub async fn measures(
        &self,
        filter: &MeasureFilter,
        since: Duration,
        bucket: Duration,
    ) -> Result<MeasureSeries, AdminError> {
        for (what, name) in [("queue", &filter.queue), ("kind", &filter.kind)] {
            name.as_ref().map_or(Ok(()), |name| limits::name(what, name, NAME_BYTES))?;
        }
        let (since, bucket) = stretches(since, bucket);
        let quarters = bucket.as_secs().is_multiple_of(QUARTER.as_secs());
        let span = if quarters { 15 } else { 1 };
        let (queue, kind) = (filter.queue.as_deref(), filter.kind.as_deref());
        let series = statements::series(interval(since), interval(bucket), span, queue, kind);
        let points = self.ask(&series).await?;
        Ok(MeasureSeries { bucket, points })
    }

    /// The stored measures of each quarter of an hour, queue, kind and outcome from `since` on, the
    /// oldest first, at most 50,000 rows; without a time, those of the last two quarters. This is
    /// for programs that keep their own sums: rows of the last two quarters may still change, older
    /// ones do not.
    ///
    /// # Errors
    /// The errors of every method of [`Admin`].
    pub async fn measure_rows(
        &self,
        since: Option<DateTime<Utc>>,
    ) -> Result<Vec<MeasureRow>, AdminError> {
        self.ask(&statements::rows(since)).await
    }
}

/// The range, and the length of its intervals.
fn stretches(since: Duration, bucket: Duration) -> (Duration, Duration) {
    let since = since.clamp(MINUTE, FURTHEST);
    let shortest = since.div_f64(f64::from(STRETCHES - 1));
    let bucket = bucket.clamp(MINUTE, FURTHEST).max(shortest);
    let unit = if since > LONG { QUARTER } else { MINUTE };
    let units = bucket.as_millis().div_ceil(unit.as_millis());
    (since, unit * u32::try_from(units).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_few_stretches_of_whole_minutes() {
        let hour = 60 * MINUTE;
        assert_eq!(stretches(hour, MINUTE), (hour, MINUTE));
        assert_eq!(stretches(hour, Duration::ZERO), (hour, MINUTE));
        assert_eq!(stretches(hour, Duration::from_secs(61)), (hour, 2 * MINUTE));
        assert_eq!(stretches(6 * hour, MINUTE), (6 * hour, MINUTE));
        assert_eq!(stretches(7 * hour, MINUTE), (7 * hour, QUARTER));
        assert_eq!(stretches(7 * 24 * hour, 16 * MINUTE), (7 * 24 * hour, 2 * QUARTER));
        assert_eq!(stretches(Duration::ZERO, Duration::MAX), (MINUTE, FURTHEST));
        let (since, bucket) = stretches(Duration::MAX, MINUTE);
        assert!(since == FURTHEST && since.as_secs() / bucket.as_secs() < 1440);
    }
}
