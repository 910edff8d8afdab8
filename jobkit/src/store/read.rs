//! How the rows of a statement are read: an [`Answer`] from rows, [`FromRow`] from columns, and
//! [`FromColumn`].

use std::marker::PhantomData;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::PgInterval;
use sqlx::postgres::{PgRow, PgTypeInfo, PgValueRef};
use sqlx::{ColumnIndex, Decode, Postgres, Row, Type, ValueRef};

use super::time::Time;

/// What all rows of a statement are read as.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the answer of a statement",
    note = "write `()`, `One<R>`, `Option<R>` or `Vec<R>`, of rows `R` that can be read"
)]
pub(crate) trait Answer {
    /// `Self`, but for [`One`].
    type Read: Send;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self::Read>;
}

/// Nothing.
impl Answer for () {
    type Read = ();

    fn read(_: &[PgRow]) -> sqlx::Result<()> {
        Ok(())
    }
}

/// The only row, which always exists.
pub(crate) struct One<R>(PhantomData<R>);

impl<R: FromRow + Send> Answer for One<R> {
    type Read = R;

    fn read(rows: &[PgRow]) -> sqlx::Result<R> {
        R::from_row(rows.first().ok_or(sqlx::Error::RowNotFound)?)
    }
}

/// The row, if there is one.
impl<R: FromRow + Send> Answer for Option<R> {
    type Read = Self;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self> {
        rows.first().map(R::from_row).transpose()
    }
}

/// All rows, in their order.
impl<R: FromRow + Send> Answer for Vec<R> {
    type Read = Self;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self> {
        rows.iter().map(R::from_row).collect()
    }
}

/// What a row is read as.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &PgRow) -> sqlx::Result<Self>;
}

/// The first column.
impl<T: FromColumn> FromRow for T {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        T::from_column(row, 0)
    }
}

/// Implements [`FromRow`] for tuples: by the order of the columns.
macro_rules! tuples {
    ($(($($column:ident $place:tt),*);)*) => {$(
        impl<$($column: FromColumn),*> FromRow for ($($column,)*) {
            fn from_row(row: &PgRow) -> sqlx::Result<Self> {
                Ok(($($column::from_column(row, $place)?,)*))
            }
        }
    )*};
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}

/// Implements [`FromRow`] for structs. A field is the column of its name, or of the name after the
/// colon; after a semicolon, it is what a function makes of the row.
///
/// ```text
/// from_row! {
///     RunningJob { job: "id", kind, queue, attempt, since: "claimed_at"; tags: tags }
/// }
/// ```
macro_rules! from_row {
    ($($of:ty {
        $($field:ident $(: $column:literal)?),* $(; $($made:ident: $make:path),*)?
    })*) => {$(
        impl $crate::store::FromRow for $of {
            fn from_row(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
                use $crate::store::ReadColumn;
                Ok(Self {
                    // The first of both names.
                    $($field: row.read([$($column,)? stringify!($field)][0])?,)*
                    $($($made: $make(row)?,)*)?
                })
            }
        }
    )*};
}

pub(crate) use from_row;

/// Reads columns by their names.
pub(crate) trait ReadColumn {
    fn read<T: FromColumn>(&self, column: &str) -> sqlx::Result<T>;
}

impl ReadColumn for PgRow {
    fn read<T: FromColumn>(&self, column: &str) -> sqlx::Result<T> {
        T::from_column(self, column)
    }
}

/// What a column is read as.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a column",
    note = "list it in `from_column!`; a struct that is a whole row goes into `from_row!`"
)]
pub(crate) trait FromColumn: Sized {
    fn from_column<I: ColumnIndex<PgRow> + Copy>(row: &PgRow, column: I) -> sqlx::Result<Self>;
}

/// Implements [`FromColumn`]: the type, what sqlx reads, and the conversion.
macro_rules! from_column {
    ($($type:ty: $read:ty => $make:expr;)*) => {$(
        impl $crate::store::FromColumn for $type {
            fn from_column<I: sqlx::ColumnIndex<sqlx::postgres::PgRow> + Copy>(
                row: &sqlx::postgres::PgRow,
                column: I,
            ) -> sqlx::Result<Self> {
                sqlx::Row::try_get::<$read, I>(row, column).map($make)
            }
        }
    )*};
}

pub(crate) use from_column;

/// Implements [`FromColumn`] for what sqlx reads.
macro_rules! as_it_is {
    ($($type:ty),* $(,)?) => { from_column! { $($type: $type => |value| value;)* } };
}

as_it_is!(bool, i16, i32, i64, String, NaiveDate, Value);
as_it_is!(Vec<i32>, Vec<i64>, Vec<Option<i32>>, Vec<Option<i64>>, Vec<String>, Vec<Option<String>>);

from_column! {
    DateTime<Utc>: Time => |Time(time)| time;
    Duration: Length => |Length(length)| length;
    u64: Whole => |Whole(number)| number;
    u32: Whole => |Whole(number)| u32::try_from(number).unwrap_or(u32::MAX);
    u16: Whole => |Whole(number)| u16::try_from(number).unwrap_or(u16::MAX);
}

/// What may be null.
impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column<I: ColumnIndex<PgRow> + Copy>(row: &PgRow, column: I) -> sqlx::Result<Self> {
        let is_null = row.try_get_raw(column)?.is_null();
        if is_null { Ok(None) } else { T::from_column(row, column).map(Some) }
    }
}

/// An unsigned number of any width, for which PostgreSQL has no types.
struct Whole(u64);

impl Type<Postgres> for Whole {
    fn type_info() -> PgTypeInfo {
        <i64 as Type<Postgres>>::type_info()
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        <i16 as Type<Postgres>>::compatible(ty)
            || <i32 as Type<Postgres>>::compatible(ty)
            || <i64 as Type<Postgres>>::compatible(ty)
    }
}

impl<'r> Decode<'r, Postgres> for Whole {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        let number = <i64 as Decode<Postgres>>::decode(value)?;
        Ok(Self(number.try_into().unwrap_or(0)))
    }
}

/// An interval from subtracting times, or a number of microseconds; zero if negative, as when a
/// transaction began before what it sees.
struct Length(Duration);

impl Type<Postgres> for Length {
    fn type_info() -> PgTypeInfo {
        <PgInterval as Type<Postgres>>::type_info()
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        *ty == Self::type_info() || <i64 as Type<Postgres>>::compatible(ty)
    }
}

impl<'r> Decode<'r, Postgres> for Length {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        const DAY: i64 = 24 * 60 * 60 * 1_000_000;
        let microseconds = if *value.type_info() == Self::type_info() {
            let interval = <PgInterval as Decode<Postgres>>::decode(value)?;
            i64::from(interval.days) * DAY + interval.microseconds
        } else {
            <i64 as Decode<Postgres>>::decode(value)?
        };
        Ok(Self(Duration::from_micros(microseconds.try_into().unwrap_or(0))))
    }
}
