//! Whether a value survives being stored as JSON.
//!
//! JSON writes NaN as null, and serde cannot read back every type that it writes. So the JSON is
//! read back once, and the two values are compared as serde sees them: by a digest of what they
//! serialize to.

mod digest;
mod hash;

use serde::Serialize;
use serde::ser;
use serde_json::Error;

use self::digest::{digest, trace};
use self::hash::float;

/// Compares what was written with what is read.
///
/// # Errors
/// Where they differ, as a path; or that a value cannot be serialized a second time.
pub(crate) fn compare<T: Serialize + ?Sized>(written: &T, read: &T) -> Result<(), Error> {
    if digest(written)? == digest(read)? {
        return Ok(());
    }
    let [written, mut read] = [trace(written)?, trace(read)?];
    let mut lost = written.into_iter().filter(|seen| {
        let found = read.iter().position(|other| other == seen);
        found.map(|at| read.swap_remove(at)).is_none()
    });
    let (place, _) = lost.next().or_else(|| read.first().cloned()).unwrap_or_default();
    let place = or_root(&place);
    Err(ser::Error::custom(format!("the value at `{place}` is read back as something else")))
}

/// Refuses infinity and NaN, which JSON cannot express, where the type that will read the value is
/// unknown.
///
/// # Errors
/// Where there is one.
pub(crate) fn finite<T: Serialize + ?Sized>(value: &T, json: &str) -> Result<(), Error> {
    // They are written as null.
    if !json.contains("null") {
        return Ok(());
    }
    let odd = trace(value)?.into_iter().find(|(_, digest)| {
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].iter().any(|odd| float(*odd) == *digest)
    });
    match odd {
        Some((place, _)) => {
            let place = or_root(&place);
            Err(ser::Error::custom(format!("the value at `{place}` is not a number")))
        }
        None => Ok(()),
    }
}

/// A path as errors name it.
fn or_root(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap, HashSet};

    use super::*;

    fn differ<T: Serialize>(written: &T, read: &T) -> String {
        compare(written, read).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn what_serde_sees_alike_is_alike() {
        assert_eq!(differ(&(1, "a", 'b', [1.5, f64::NAN]), &(1, "a", 'b', [1.5, f64::NAN])), "");
        let numbers = || (0..1000).map(|n| (n, format!("{n}")));
        let (map, set) = (numbers().collect::<HashMap<_, _>>(), numbers().collect::<HashSet<_>>());
        assert_eq!(differ(&(&map, &set), &(&map.clone(), &numbers().collect())), "");
    }

    #[test]
    fn a_difference_has_a_place() {
        let at = |place: &str| format!("the value at `{place}` is read back as something else");
        let map = |value: Option<f64>| BTreeMap::from([("a", BTreeMap::from([("b.c", value)]))]);
        assert_eq!(differ(&map(Some(f64::NAN)), &map(None)), at("a.b.c"));
        assert_eq!(differ(&map(Some(0.0)), &map(Some(-0.0))), at("a.b.c"));
        assert_eq!(differ(&Some(None::<u8>), &None), at("."));
        assert_eq!(differ(&vec![1, 2], &vec![1, 2, 3]), at("."));
        assert_eq!(differ(&u128::MAX, &(u128::MAX - 1)), at("."));
        assert_eq!(differ(&"12345678", &"123456789"), at("."));
    }

    #[test]
    fn only_numbers_are_finite() {
        let found = |value: &[Option<f64>]| {
            let json = serde_json::to_string(value).expect("JSON");
            finite(value, &json).map_err(|error| error.to_string())
        };
        assert_eq!(found(&[None, Some(1.5)]), Ok(()));
        for odd in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                found(&[None, Some(odd)]),
                Err("the value at `.` is not a number".to_owned())
            );
        }
        assert!(finite(&BTreeMap::from([("a", f32::NAN)]), "null").is_err());
    }
}
