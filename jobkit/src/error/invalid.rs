/// A value that jobkit does not accept. It was refused before anything was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidValue {
    /// A text, such as a queue, kind, key or tag, is too long, or empty where that is not allowed.
    #[error("the {what} has {bytes} bytes; 1 to {limit} are allowed")]
    Length {
        /// Which text.
        what: &'static str,
        /// Its size in UTF-8 bytes.
        bytes: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// A number or duration is outside its range.
    #[error("the {what} is {value}; {range} is allowed")]
    Range {
        /// The name of the setting.
        what: &'static str,
        /// The value given.
        value: i64,
        /// The values allowed.
        range: &'static str,
    },
    /// A limit that this scope cannot have.
    #[error("{} has no {what}", subject(scope))]
    Limit {
        /// The scope: `all`, `queue`, `kind`, `group`, `limiter` or `key`.
        scope: &'static str,
        /// Which limit.
        what: &'static str,
    },
    /// A text contains a NUL character, which PostgreSQL cannot store.
    #[error("the {what} contains a NUL character, which PostgreSQL cannot store; remove it")]
    Nul {
        /// Which text.
        what: &'static str,
    },
}

/// A thing of some scope, as the subject of a sentence.
fn subject(scope: &str) -> String {
    if scope == "all" { "everything".to_owned() } else { format!("a {scope}") }
}
