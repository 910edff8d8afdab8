//! The name of a kind in one version of its payload, as workers look for it: from the second
//! version on `send_receipt@2`. The same as `versioned` and `unversioned` in the database.

use std::borrow::Cow;

/// The name of a kind in this version.
pub(crate) fn versioned(kind: &str, version: u16) -> Cow<'_, str> {
    match version {
        0 | 1 => kind.into(),
        _ => format!("{kind}@{version}").into(),
    }
}

/// The kind and the version of such a name. A name with an impossible version is a kind.
pub(crate) fn split(name: &str) -> (&str, u16) {
    let parts = name.rsplit_once('@').filter(|(_, digits)| ends_as_version(digits));
    let version = |(kind, digits): (_, &str)| Some((kind, digits.parse().ok()?));
    parts.and_then(version).unwrap_or((name, 1))
}

/// Whether a kind ends like a version, so that it could be confused with another kind.
pub(crate) fn looks_versioned(kind: &str) -> bool {
    kind.rsplit_once('@').is_some_and(|(_, digits)| ends_as_version(digits))
}

fn ends_as_version(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_version_from_the_second_on() {
        for (kind, version, name) in [("a", 1, "a"), ("a", 2, "a@2"), ("a@b", 32_767, "a@b@32767")]
        {
            assert_eq!(versioned(kind, version), name);
            assert_eq!(split(name), (kind, version));
        }
        for name in ["a@", "a@b", "a@2b", "a@99999999", "@"] {
            assert_eq!(split(name), (name, 1));
        }
        assert!(looks_versioned("a@99999999") && !looks_versioned("a@b"));
    }
}
