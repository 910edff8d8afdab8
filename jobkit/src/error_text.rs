//! Errors of the database in words, and what such words say.

use crate::Error;

/// What went wrong in its own words: of what the server says neither sqlx's introduction nor the
/// line of the server's own source.
pub(crate) fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(answer) => answer.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Most often there is no server; but one that has ended an idle connection is there, and so is one
/// that refuses a user or has no such database.
pub(crate) fn unreachable(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    match code.as_deref() {
        Some("57P05") => "PostgreSQL has ended a connection that was idle (idle_session_timeout); \
                          set that to 0 for this role, or try again"
            .to_owned(),
        Some(code) if !code.starts_with("08") && !code.starts_with("57P") => {
            format!("PostgreSQL refuses the connection: {}; check the address", said(error))
        }
        _ => {
            let why = said(error);
            format!(
                "cannot reach PostgreSQL ({why}); check that it runs and that the address is right"
            )
        }
    }
}

/// Which queue is full, as `require_room` says it.
pub(crate) fn full(message: &str) -> Option<Error> {
    let (queue, numbers) = message.split_once('"')?.1.rsplit_once("\" is full: ")?;
    let mut numbers = numbers.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let mut number = || numbers.next()?.parse().ok();
    Some(Error::QueueFull { queue: queue.to_owned(), waiting: number()?, bound: number()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_is_full_has_its_name_whatever_that_is() {
        let message = r#"jobkit: the queue "a "b" is full: 1" is full: 7 jobs wait, and 5 may"#;
        let Some(Error::QueueFull { queue, waiting, bound }) = full(message) else {
            panic!("it says so")
        };
        assert_eq!((&*queue, waiting, bound), (r#"a "b" is full: 1"#, 7, 5));
        assert!(full("jobkit: something else").is_none());
    }
}
