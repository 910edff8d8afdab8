//! Records of the server: one list of columns for the SQL that makes a record of parameters, and
//! for the parameters in any driver.

mod text;
mod value;

use std::borrow::Cow;

use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

pub(super) use self::text::array;
pub(super) use self::value::{Item, Value};

/// A column of rows `R`, in the order of the attributes of an SQL type.
pub(super) struct Column<R> {
    pub(super) name: &'static str,
    /// Its type if the record is one row, and the type of an item if it is many.
    pub(super) sql_types: (&'static str, &'static str),
    /// The value of one row, as a parameter.
    pub(super) one: fn(&R, &mut PgArguments) -> Result<(), BoxDynError>,
    /// The values of rows, as an array; an empty one if none has a value.
    pub(super) all: fn(&[R], &mut PgArguments) -> Result<(), BoxDynError>,
    /// The value of one row, as text that the server casts to the type.
    pub(super) text: Text<R>,
    /// The same for an item of the array.
    pub(super) item_text: Text<R>,
}

pub(super) type Text<R> = for<'r> fn(&'r R) -> Option<Cow<'r, str>>;

/// A list of columns: `row: kind: &str = Some(row.kind); …`.
macro_rules! columns {
    ($row:ident: $($name:ident: $type:ty = $value:expr;)*) => {
        &[$($crate::store::record::Column {
            name: stringify!($name),
            sql_types: (
                <$type as $crate::store::record::Value>::SQL_TYPE,
                <<$type as $crate::store::record::Item>::Item as $crate::store::record::Value>
                    ::SQL_TYPE,
            ),
            one: |$row, to| {
                let value: Option<$type> = $value;
                sqlx::Arguments::add(to, value)
            },
            all: |rows, to| {
                let values = rows.iter().map(|$row| -> Option<$type> { $value });
                let items = values.map(|value| value.map($crate::store::record::Item::item));
                sqlx::Arguments::add(to, $crate::store::call::sparse(items))
            },
            text: |$row| {
                let value: Option<$type> = $value;
                value.map($crate::store::record::Value::text)
            },
            item_text: |$row| {
                let value: Option<$type> = $value;
                value
                    .map($crate::store::record::Item::item)
                    .map($crate::store::record::Value::text)
            },
        },)*]
    };
}

pub(super) use columns;

/// How the parameters of a record are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// One row, each value as what it is.
    One,
    /// Rows, each column as an array.
    Many,
    OneAsText,
    ManyAsText,
}

/// The call that makes a record out of parameters, the first of which has this number:
/// `jobkit.new_job(p_kind => $1, …)`.
pub(super) fn record<'c, R: 'c>(
    function: &str,
    columns: impl Iterator<Item = &'c Column<R>>,
    first: usize,
    sent: Sent,
) -> String {
    let arguments = columns.zip(first..).map(|(column, at)| {
        let (name, (one, item)) = (column.name, column.sql_types);
        match sent {
            Sent::One | Sent::Many => format!("p_{name} => ${at}"),
            Sent::OneAsText => format!("p_{name} => ${at}::pg_catalog.text::pg_catalog.{one}"),
            Sent::ManyAsText => {
                format!("p_{name} => ${at}::pg_catalog.text::pg_catalog.{item}[]")
            }
        }
    });
    format!("jobkit.{function}({})", arguments.collect::<Vec<_>>().join(", "))
}
