//! Why a request failed.

use axum::http::StatusCode;
use axum::response::Response;
use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::ReplayError;
use jobkit::admin::jobs::ByNameError;
use jobkit::error::{DatabaseError, QueueFull, SchemaError};

use crate::format::errors::is_forbidden;

/// The result of a handler.
pub(crate) type Answer = Result<Response, Failure>;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It does not exist, or the visitor may not see it.
    NotFound,
    /// The request is invalid.
    Invalid(String),
    /// A job with these options is not allowed: a title, and why.
    Refused(&'static str, String),
    /// It is no longer possible, or not yet possible.
    Conflict(String),
    /// The body is too large.
    TooLarge,
    /// The body did not arrive in time.
    Slow,
    /// Too many requests at once.
    Busy,
    /// The queue is full.
    Full(QueueFull),
    /// jobkit returned an error.
    Failed(AdminError),
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Invalid(_) | Self::Refused(..) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Full(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Failed(error) => match error {
                AdminError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
                AdminError::Busy | AdminError::Replaying => StatusCode::CONFLICT,
                AdminError::Database(error) if is_forbidden(error) => StatusCode::FORBIDDEN,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            },
        }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Invalid(_) => "Invalid request",
            Self::Refused(title, _) => title,
            Self::Conflict(_) => "Not possible now",
            Self::TooLarge => "Too large",
            Self::Slow => "Too slow",
            Self::Busy => "Too many requests",
            Self::Full(_) => "The queue is full",
            Self::Failed(error) => match error {
                AdminError::Invalid(_) => "Invalid request",
                AdminError::Busy | AdminError::Replaying => "Not possible now",
                AdminError::Database(error) => title(error),
                _ => "Database error",
            },
        }
    }

    /// The text for the visitor. Details of database errors only go to the log: they may name
    /// hosts.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::NotFound => "This page does not exist, or you may not see it.".into(),
            Self::Invalid(text) | Self::Conflict(text) | Self::Refused(_, text) => text.clone(),
            Self::TooLarge => "A payload may have at most 1 MiB.".into(),
            Self::Slow => "The request did not arrive within 10 seconds.".into(),
            Self::Busy => "The dashboard is busy. Try again in a moment.".into(),
            Self::Full(full) => format!("{full}."),
            Self::Failed(AdminError::Database(error)) if is_forbidden(error) => {
                "The dashboard's database role lacks the privilege for this. Connect with a role \
                 that has it, or use permissions to hide what this role cannot do."
                    .into()
            }
            Self::Failed(AdminError::Database(
                error @ (DatabaseError::Unreachable(_) | DatabaseError::Failed(_)),
            )) => {
                tracing::warn!(%error, "jobkit.dashboard: no answer from the database");
                "Stored jobs are safe. This page retries automatically; the server's log has the \
                 details."
                    .into()
            }
            Self::Failed(error) => format!("{error}."),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::NotFound => Self::NotFound,
            ReplayError::Failed(error) => Self::Failed(error),
            ReplayError::Undecodable(text) => Self::Invalid(text),
            other => Self::Conflict(format!("{other}.")),
        }
    }
}

impl From<ByNameError> for Failure {
    fn from(error: ByNameError) -> Self {
        let title = match &error {
            ByNameError::UnknownKind(_) => "Unknown kind",
            ByNameError::Key(_) => "Refused key",
            ByNameError::Undecodable(_) => "Undecodable payload",
            _ => "Refused option",
        };
        match error {
            ByNameError::Failed(error) => Self::Failed(error),
            ByNameError::QueueFull(full) => Self::Full(full),
            refused => Self::Refused(title, format!("{refused}.")),
        }
    }
}

impl From<AdminError> for Failure {
    fn from(error: AdminError) -> Self {
        Self::Failed(error)
    }
}

fn title(error: &DatabaseError) -> &'static str {
    match error {
        DatabaseError::Unreachable(_) => "The database cannot be reached",
        DatabaseError::Deadline(_) => "The database is too slow",
        DatabaseError::Schema(error) => match error {
            SchemaError::ServerTooOld { .. } | SchemaError::Encoding { .. } => "Database error",
            _ => "Incompatible schema",
        },
        DatabaseError::ReadOnly => "The database is read-only",
        error if is_forbidden(error) => "The database does not allow that",
        _ => "Database error",
    }
}
