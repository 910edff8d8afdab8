//! What serde sees of a value, as a number.

use std::cell::RefCell;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

use super::hash::{
    BOOL, BYTES, FIELDS, INTEGER, LIST, NONE, SOME, TEXT, UNIT, VARIANT, WIDE, float, hash, mix,
};

/// The same number for the same value.
pub(super) fn digest<T: Serialize + ?Sized>(value: &T) -> Result<u64, Error> {
    value.serialize(Digest(None))
}

/// The scalars of a value, each with the path of keys to it.
#[derive(Default)]
struct Trace {
    path: Vec<String>,
    seen: Vec<(String, u64)>,
}

pub(super) fn trace<T: Serialize + ?Sized>(value: &T) -> Result<Vec<(String, u64)>, Error> {
    let trace = RefCell::default();
    value.serialize(Digest(Some(&trace)))?;
    Ok(trace.into_inner().seen)
}

/// Computes the digest of a value, and if requested records its scalars.
#[derive(Clone, Copy)]
struct Digest<'t>(Option<&'t RefCell<Trace>>);

impl<'t> Digest<'t> {
    fn see(self, digest: u64) -> u64 {
        if let Some(trace) = self.0 {
            let mut trace = trace.borrow_mut();
            let path = trace.path.join(".");
            trace.seen.push((path, digest));
        }
        digest
    }

    #[expect(clippy::unnecessary_wraps, reason = "what a serializer answers")]
    fn scalar(self, start: u64, bytes: &[u8]) -> Result<u64, Error> {
        Ok(self.see(hash(start, bytes)))
    }

    /// The digest of what is behind a key.
    fn inside<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Result<u64, Error> {
        self.enter(name);
        let digest = value.serialize(self)?;
        self.leave();
        Ok(digest)
    }

    fn many(self, start: u64) -> Many<'t> {
        Many { digest: self, start, sum: 0, key: (0, String::new()), is_variant: false }
    }

    fn many_of(self, variant: &str) -> Many<'t> {
        self.enter(variant);
        Many { is_variant: true, ..self.many(Self::variant(variant)) }
    }

    fn enter(self, name: &str) {
        if let Some(trace) = self.0 {
            trace.borrow_mut().path.push(name.to_owned());
        }
    }

    fn leave(self) {
        if let Some(trace) = self.0 {
            trace.borrow_mut().path.pop();
        }
    }

    fn variant(variant: &str) -> u64 {
        hash(VARIANT, variant.as_bytes())
    }
}

/// The members of a list or a map, in any order, since a set has a different one each time.
struct Many<'t> {
    digest: Digest<'t>,
    start: u64,
    sum: u64,
    key: (u64, String),
    is_variant: bool,
}

impl Many<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let member = value.serialize(self.digest)?;
        self.sum = self.sum.wrapping_add(mix(LIST, member));
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        let member = self.digest.inside(key, value)?;
        self.sum = self.sum.wrapping_add(mix(hash(TEXT, key.as_bytes()), member));
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "what a serializer answers")]
    fn ended(self) -> Result<u64, Error> {
        if self.is_variant {
            self.digest.leave();
        }
        Ok(mix(self.start, self.sum))
    }
}

macro_rules! integers {
    ($($name:ident $type:ty),*) => { $(
        fn $name(self, v: $type) -> Result<u64, Error> {
            self.scalar(INTEGER, &i128::from(v).to_le_bytes())
        }
    )* };
}

impl<'t> Serializer for Digest<'t> {
    type Ok = u64;
    type Error = Error;
    type SerializeSeq = Many<'t>;
    type SerializeTuple = Many<'t>;
    type SerializeTupleStruct = Many<'t>;
    type SerializeTupleVariant = Many<'t>;
    type SerializeMap = Many<'t>;
    type SerializeStruct = Many<'t>;
    type SerializeStructVariant = Many<'t>;

    fn serialize_bool(self, v: bool) -> Result<u64, Error> {
        self.scalar(BOOL, &[u8::from(v)])
    }

    integers!(
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_i128 i128, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32,
        serialize_u64 u64
    );

    fn serialize_u128(self, v: u128) -> Result<u64, Error> {
        match i128::try_from(v) {
            Ok(v) => self.serialize_i128(v),
            Err(_) => self.scalar(WIDE, &v.to_le_bytes()),
        }
    }

    fn serialize_f32(self, v: f32) -> Result<u64, Error> {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Result<u64, Error> {
        Ok(self.see(float(v)))
    }

    fn serialize_char(self, v: char) -> Result<u64, Error> {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, v: &str) -> Result<u64, Error> {
        self.scalar(TEXT, v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<u64, Error> {
        self.scalar(BYTES, v)
    }

    fn serialize_none(self) -> Result<u64, Error> {
        self.scalar(NONE, &[])
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<u64, Error> {
        self.see(SOME);
        Ok(mix(SOME, value.serialize(self)?))
    }

    fn serialize_unit(self) -> Result<u64, Error> {
        self.scalar(UNIT, &[])
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<u64, Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<u64, Error> {
        Ok(self.see(Self::variant(variant)))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<u64, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<u64, Error> {
        Ok(mix(Self::variant(variant), self.inside(variant, value)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Many<'t>, Error> {
        Ok(self.many(LIST))
    }

    fn serialize_tuple(self, _: usize) -> Result<Many<'t>, Error> {
        Ok(self.many(LIST))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Many<'t>, Error> {
        Ok(self.many(LIST))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Many<'t>, Error> {
        Ok(self.many_of(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Many<'t>, Error> {
        Ok(self.many(FIELDS))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Many<'t>, Error> {
        Ok(self.many(FIELDS))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Many<'t>, Error> {
        Ok(self.many_of(variant))
    }
}

macro_rules! list {
    ($($list:ident $add:ident),*) => { $(
        impl $list for Many<'_> {
            type Ok = u64;
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<u64, Error> {
                self.ended()
            }
        }
    )* };
}

list!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! fields {
    ($($fields:ident),*) => { $(
        impl $fields for Many<'_> {
            type Ok = u64;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(key, value)
            }

            fn end(self) -> Result<u64, Error> {
                self.ended()
            }
        }
    )* };
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Many<'_> {
    type Ok = u64;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = (digest(key)?, String::new());
        if self.digest.0.is_some() {
            self.key.1 = serde_json::to_string(key)?.trim_matches('"').to_owned();
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let (key, name) = std::mem::take(&mut self.key);
        let member = self.digest.inside(&name, value)?;
        self.sum = self.sum.wrapping_add(mix(key, member));
        Ok(())
    }

    fn end(self) -> Result<u64, Error> {
        self.ended()
    }
}
