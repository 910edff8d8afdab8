//! Values as sqlx sends them, and as text that any driver can send.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use sqlx::postgres::PgHasArrayType;
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use sqlx::{Encode, Postgres, Type};

use super::text::array;
use crate::store::time::text_of;

/// A value as sqlx sends it, and as text.
pub(crate) trait Value<'j>: Encode<'j, Postgres> + Type<Postgres> {
    const SQL_TYPE: &'static str;

    fn text(self) -> Cow<'j, str>;
}

/// A value of one job as an item of an array: itself, unless it is an array, since all of those
/// that are within one have to have one length.
pub(crate) trait Item<'j>: Value<'j> {
    type Item: Value<'j> + PgHasArrayType;

    fn item(self) -> Self::Item;
}

macro_rules! items {
    ($($type:ty),*) => {$(
        impl<'j> Item<'j> for $type {
            type Item = Self;

            fn item(self) -> Self {
                self
            }
        }
    )*};
}

items!(&'j str, i64, i16, PgInterval, DateTime<Utc>);

impl<'j, T: Serialize + ?Sized> Item<'j> for Json<&'j T> {
    type Item = Self;

    fn item(self) -> Self {
        self
    }
}

impl<'j> Item<'j> for &'j [String] {
    type Item = Json<&'j [String]>;

    fn item(self) -> Self::Item {
        Json(self)
    }
}

impl<'j> Value<'j> for &'j str {
    const SQL_TYPE: &'static str = "text";

    fn text(self) -> Cow<'j, str> {
        Cow::Borrowed(self)
    }
}

impl Value<'_> for i64 {
    const SQL_TYPE: &'static str = "int8";

    fn text(self) -> Cow<'static, str> {
        Cow::Owned(self.to_string())
    }
}

impl<'j> Value<'j> for i16 {
    const SQL_TYPE: &'static str = "int2";

    fn text(self) -> Cow<'j, str> {
        Cow::Owned(self.to_string())
    }
}

impl<'j> Value<'j> for PgInterval {
    const SQL_TYPE: &'static str = "interval";

    fn text(self) -> Cow<'j, str> {
        Cow::Owned(text_of(&self))
    }
}

/// As every `DateStyle` reads it.
impl<'j> Value<'j> for DateTime<Utc> {
    const SQL_TYPE: &'static str = "timestamptz";

    fn text(self) -> Cow<'j, str> {
        Cow::Owned(self.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

impl<'j, T: Serialize + ?Sized> Value<'j> for Json<&'j T> {
    const SQL_TYPE: &'static str = "jsonb";

    fn text(self) -> Cow<'j, str> {
        // What is sent has been checked, or made here.
        Cow::Owned(serde_json::to_string(self.0).unwrap_or_default())
    }
}

impl<'j> Value<'j> for &'j [String] {
    const SQL_TYPE: &'static str = "text[]";

    fn text(self) -> Cow<'j, str> {
        Cow::Owned(array(self.iter().map(|text| Some(text.into()))))
    }
}
