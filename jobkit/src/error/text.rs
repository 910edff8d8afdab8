//! The texts of database errors, and what can be read from the server's messages.

use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;

/// The error's own message: without sqlx's prefix, and without the line of the server's source.
pub(crate) fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(answer) => answer.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The text of a failed connection. Most often there is no server. But a server may also have
/// closed an idle connection, or refuse the user, or lack the database.
pub(crate) fn unreachable(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(DatabaseError::code);
    match code.as_deref() {
        Some("57P05") => "PostgreSQL has closed an idle connection (idle_session_timeout); set \
                          that to 0 for this role, or try again"
            .to_owned(),
        Some(code) if !code.starts_with("08") && !code.starts_with("57P") => {
            format!("PostgreSQL refuses the connection: {}; check the address", said(error))
        }
        _ => {
            let why = said(error);
            if let Some(text) = distrusted(&why) {
                return text;
            }
            format!(
                "cannot reach PostgreSQL ({why}); check that it runs and that the address is right"
            )
        }
    }
}

/// The text if a server's certificate is not accepted. The messages are those of rustls.
fn distrusted(why: &str) -> Option<String> {
    if why.contains("UnsupportedCertVersion") {
        return Some(
            "PostgreSQL's certificate is of X.509 version 1, which rustls does not accept; \
             give the server one of version 3 (ssl_cert_file), build with the feature \
             tls-native-tls, or set sslmode=disable on a network that you trust"
                .to_owned(),
        );
    }
    why.contains("invalid peer certificate").then(|| {
        format!(
            "PostgreSQL's certificate is not trusted ({why}); set sslrootcert to its authority \
             and connect to the host that it names, or set sslmode=require, which checks neither"
        )
    })
}

/// Whether the missing object is one of jobkit's. Triggers and event triggers of others may miss an
/// object of their own while a statement of jobkit runs.
pub(crate) fn names_ours(message: &str) -> bool {
    const OURS: &str = "jobkit";
    let within = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    message.match_indices(OURS).any(|(at, _)| {
        let before = message[..at].chars().next_back();
        let after = message[at + OURS.len()..].chars().next();
        !before.is_some_and(|c| within(c) || c == '.') && after.is_some_and(|c| !within(c))
    })
}

/// Whether a standby refuses to read an unlogged table (`sleepers`), which is not replicated. A
/// server may translate the message, but not the name of the function in its source.
pub(crate) fn is_of_a_standby(answer: &dyn DatabaseError) -> bool {
    let answered = answer.try_downcast_ref::<PgDatabaseError>();
    answered.and_then(PgDatabaseError::routine) == Some("get_relation_info")
        || answer.message().ends_with("unlogged relations during recovery")
}

/// The full queue, how many jobs wait in it and how many may, from the message of `require_room`.
pub(crate) fn full(message: &str) -> Option<(String, u32, u32)> {
    let (queue, numbers) = message.split_once('"')?.1.rsplit_once("\" is full: ")?;
    let mut numbers = numbers.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let mut number = || numbers.next()?.parse().ok();
    Some((queue.to_owned(), number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_ours_only_by_its_name() {
        for ours in [
            "relation \"jobkit.jobs\" does not exist",
            "schema \"jobkit\" does not exist",
            "Schema »jobkit« existiert nicht",
            "function jobkit.enqueue(unknown) does not exist",
        ] {
            assert!(names_ours(ours), "{ours}");
        }
        for other in [
            "relation \"ddl_log\" does not exist",
            "relation \"jobkit_log\" does not exist",
            "relation \"audit.jobkit\" does not exist",
            "schema \"my_jobkit\" does not exist",
            "function audit(text) does not exist",
            "jobkit",
        ] {
            assert!(!names_ours(other), "{other}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_taken_is_no_server_that_does_not_run() {
        let said = |why: &str| unreachable(&sqlx::Error::Io(std::io::Error::other(why.to_owned())));
        let old = said("invalid peer certificate: Other(OtherError(UnsupportedCertVersion))");
        assert!(old.contains("version 1") && old.contains("sslmode=disable"), "{old}");
        let unknown = said("invalid peer certificate: UnknownIssuer");
        assert!(unknown.contains("UnknownIssuer") && unknown.contains("sslrootcert"), "{unknown}");
        assert!(!unknown.contains("that it runs"), "{unknown}");
        assert!(said("Connection refused").contains("check that it runs"));
    }

    #[test]
    fn a_queue_that_is_full_has_its_name_whatever_that_is() {
        let message = r#"jobkit: the queue "a "b" is full: 1" is full: 7 jobs wait, and 5 may"#;
        let (queue, waiting, limit) = full(message).expect("it says so");
        assert_eq!((&*queue, waiting, limit), (r#"a "b" is full: 1"#, 7, 5));
        assert!(full("jobkit: something else").is_none());
    }
}
