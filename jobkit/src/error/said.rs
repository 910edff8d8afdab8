//! What the server says, as text.

/// What went wrong in its own words: of what the server says neither sqlx's introduction nor the
/// line of the server's own source.
pub(super) fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(answer) => answer.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Most often there is no server; but one that has ended an idle connection is there, and so is one
/// that refuses a user or has no such database.
pub(super) fn unreachable(error: &sqlx::Error) -> String {
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
