use std::collections::HashMap;
use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::series::{MeasureFilter, MeasurePoint, Measures};
use crate::histogram::Histogram;
use crate::store::{Call, Times, interval};

/// What was measured up to now, in stretches of this length.
pub(crate) struct Series<'a> {
    pub(crate) filter: &'a MeasureFilter,
    pub(crate) since: Duration,
    pub(crate) bucket: Duration,
    /// Minutes of the rows to read, 1 or 15: `bucket` is a multiple.
    pub(crate) span: i16,
}

impl Call for Series<'_> {
    type Answer = Vec<MeasurePoint>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows = sqlx::query(include_str!("sql/measures_series.sql"))
            .bind(interval(self.since))
            .bind(interval(self.bucket))
            .bind(self.span)
            .bind(&self.filter.queue)
            .bind(&self.filter.kind)
            .fetch_all(connection)
            .await?;
        let point =
            |row: &PgRow| Ok(MeasurePoint { at: row.time("at")?, measures: measures(row)? });
        rows.iter().map(point).collect()
    }
}

fn measures(row: &PgRow) -> sqlx::Result<Measures> {
    let places: Vec<i64> = row.try_get::<Option<_>, _>("places")?.unwrap_or_default();
    let histogram = |name| {
        let numbers: Option<Vec<Option<i64>>> = row.try_get(name)?;
        let places = places.iter().map(|place| usize::try_from(place - 1).unwrap_or(0));
        let numbers = numbers.into_iter().flatten().map(|n| whole(n.unwrap_or(0)));
        Ok::<_, sqlx::Error>(Histogram::of(places.zip(numbers)))
    };
    let mut measures =
        Measures { run: histogram("run")?, wait: histogram("wait")?, ..Measures::default() };
    let outcomes: Option<Vec<String>> = row.try_get("outcomes")?;
    let numbers: Option<Vec<i64>> = row.try_get("numbers")?;
    for (outcome, number) in outcomes.into_iter().flatten().zip(numbers.into_iter().flatten()) {
        if let Some(of_outcome) = measures.of_outcome(&outcome) {
            *of_outcome = whole(number);
        }
    }
    Ok(measures)
}

fn whole(number: i64) -> u64 {
    number.try_into().unwrap_or(0)
}

/// What was measured of each kind in this time up to now.
pub(crate) struct MeasuresOfKinds(pub(crate) Duration);

impl Call for MeasuresOfKinds {
    type Answer = HashMap<String, Measures>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/measures_kinds.sql")).bind(interval(self.0));
        let rows = query.fetch_all(connection).await?;
        rows.iter().map(|row| Ok((row.try_get("kind")?, measures(row)?))).collect()
    }
}
