//! What errors of jobkit mean for a request.

use jobkit::Error;

/// Whether the request is at fault.
pub(crate) fn is_invalid(error: &Error) -> bool {
    matches!(
        error,
        Error::Length { .. } | Error::Nul { .. } | Error::Range { .. } | Error::Metadata
    )
}

/// Whether the database role lacks a privilege.
pub(crate) fn is_forbidden(error: &Error) -> bool {
    is_state(error, "42501")
}

/// Whether the server answered with this SQLSTATE.
pub(crate) fn is_state(error: &Error, state: &str) -> bool {
    let Error::Database(error) = error else { return false };
    error.as_database_error().and_then(|answer| answer.code()).as_deref() == Some(state)
}
