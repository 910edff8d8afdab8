//! Database roles, each with only the privileges it needs.

/// The default prefix of roles.
pub const PREFIX: &str = "jobkit_";

/// The longest prefix: the server truncates names at 63 bytes.
const LONGEST: usize = 40;

/// A text that cannot be the prefix of role names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the prefix of role names; use 1 to 40 lower-case letters, digits and \
     underscores, starting with a letter"
)]
pub struct InvalidPrefix(String);

/// The SQL that creates these roles, or corrects their privileges. Run it yourself, as a superuser,
/// after [`migrate`](crate::migrate()) and again after each upgrade.
///
/// | role | may |
/// |---|---|
/// | `jobkit_owner` | own the schema, and everything in it |
/// | `jobkit_migrator` | become the owner, and so upgrade |
/// | `jobkit_producer` | enqueue, but not read jobs |
/// | `jobkit_worker` | run jobs |
/// | `jobkit_viewer` | read everything except payloads |
/// | `jobkit_operator` | read everything, and act on it |
///
/// None can log in: `grant jobkit_worker to app`. Roles belong to the whole server: a second
/// database on it needs a prefix other than [`PREFIX`].
///
/// ```
/// let sql = jobkit::admin::roles::sql("staging_")?;
/// assert!(sql.contains("grant staging_owner to staging_migrator;"));
/// # Ok::<(), jobkit::admin::roles::InvalidPrefix>(())
/// ```
///
/// # Errors
/// [`InvalidPrefix`] unless the prefix is 1 to 40 lowercase letters, digits and `_`, beginning with
/// a letter.
pub fn sql(prefix: &str) -> Result<String, InvalidPrefix> {
    let fits = |byte: u8| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let begins = prefix.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    if !begins || prefix.len() > LONGEST || !prefix.bytes().all(fits) {
        return Err(InvalidPrefix(prefix.to_owned()));
    }
    Ok(include_str!("../../migrations/roles.sql").replace(PREFIX, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_no_place_for_sql() {
        for prefix in ["", "1_", "_a", "A_", "a\"", "a'; drop schema jobkit", &"a".repeat(41)] {
            assert!(sql(prefix).is_err(), "{prefix}");
        }
    }

    #[test]
    fn every_role_has_the_prefix() {
        let sql = sql("staging_").expect("it is a prefix");
        assert!(!sql.contains(PREFIX) && sql.contains("to staging_worker"));
    }
}
