//! What errors of the queue mean for whoever asked.

use jobkit::Error;

/// Whether what was asked for is at fault.
pub(crate) fn is_invalid(error: &Error) -> bool {
    matches!(
        error,
        Error::Length { .. } | Error::Nul { .. } | Error::Range { .. } | Error::Metadata
    )
}

/// Whether the role in the database lacks a right.
pub(crate) fn is_forbidden(error: &Error) -> bool {
    is_state(error, "42501")
}

/// Whether the server answered with this SQLSTATE.
pub(crate) fn is_state(error: &Error, state: &str) -> bool {
    let Error::Database(error) = error else { return false };
    error.as_database_error().and_then(|answer| answer.code()).as_deref() == Some(state)
}
