//! What errors of the database mean for a request.

use jobkit::error::DatabaseError;

/// Whether the database role lacks a privilege.
pub(crate) fn is_forbidden(error: &DatabaseError) -> bool {
    is_state(error, "42501")
}

/// Whether the server answered with this SQLSTATE.
pub(crate) fn is_state(error: &DatabaseError, state: &str) -> bool {
    let DatabaseError::Failed(error) = error else { return false };
    error.as_database_error().and_then(|answer| answer.code()).as_deref() == Some(state)
}
