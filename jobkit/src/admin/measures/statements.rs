use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;

use super::row::MeasureRow;
use super::series::{MeasurePoint, Measures};
use crate::histogram::Histogram;
use crate::store::{Answer, FromRow, ReadColumn, from_row, statements};

statements! {
    /// The measures up to now, in intervals of `bucket`. `span` is the minutes of the rows to read,
    /// 1 or 15; `bucket` is a multiple of it.
    fn series(since: PgInterval, bucket: PgInterval, span: i16, queue: Option<&str>,
            kind: Option<&str>) -> Vec<MeasurePoint>
        = include_str!("sql/measures_series.sql");

    /// The stored measures from a quarter of an hour on.
    fn rows(since: Option<DateTime<Utc>>) -> Vec<MeasureRow>
        = include_str!("sql/measures_rows.sql");

    /// The measures of each kind in this time up to now.
    fn measures_of_kinds(since: PgInterval) -> HashMap<String, Measures>
        = include_str!("sql/measures_kinds.sql");
}

from_row! {
    MeasurePoint { at; measures: measures }
}

impl FromRow for MeasureRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let histogram = |name| {
            let numbers: Vec<i32> = row.read(name)?;
            Ok::<_, sqlx::Error>(Histogram::of(
                numbers.into_iter().map(|n| whole(n.into())).enumerate(),
            ))
        };
        Ok(Self {
            at: row.read("at")?,
            queue: row.read("queue")?,
            kind: row.read("kind")?,
            outcome: row.read("outcome")?,
            count: whole(row.read::<i32>("count")?.into()),
            run: histogram("run")?,
            wait: histogram("wait")?,
        })
    }
}

impl Answer for HashMap<String, Measures> {
    type Read = Self;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self> {
        rows.iter().map(|row| Ok((row.read("kind")?, measures(row)?))).collect()
    }
}

fn measures(row: &PgRow) -> sqlx::Result<Measures> {
    let places: Vec<i64> = row.read::<Option<_>>("places")?.unwrap_or_default();
    let histogram = |name| {
        let numbers: Option<Vec<Option<i64>>> = row.read(name)?;
        let places = places.iter().map(|place| usize::try_from(place - 1).unwrap_or(0));
        let numbers = numbers.into_iter().flatten().map(|n| whole(n.unwrap_or(0)));
        Ok::<_, sqlx::Error>(Histogram::of(places.zip(numbers)))
    };
    let mut measures =
        Measures { run: histogram("run")?, wait: histogram("wait")?, ..Measures::default() };
    let outcomes: Option<Vec<String>> = row.read("outcomes")?;
    let numbers: Option<Vec<i64>> = row.read("numbers")?;
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
