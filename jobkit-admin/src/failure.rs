//! Why a request failed.

use axum::http::StatusCode;
use axum::response::Response;
use jobkit::Error;
use jobkit::admin::dead_letters::ReplayError;
use jobkit::admin::jobs::EnqueueError;
use jobkit::admin::semaphores::Limited;

use crate::format::errors::{is_forbidden, is_invalid};

/// The result of a handler.
pub(crate) type Answer = Result<Response, Failure>;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It does not exist, or the visitor may not see it.
    NotFound,
    /// The request is invalid.
    Invalid(String),
    /// No job may be like that: a title, and why.
    Refused(&'static str, String),
    /// It is no longer possible, or not yet.
    Conflict(String),
    /// The body is too large.
    TooLarge,
    /// The body does not arrive.
    Slow,
    /// Too many requests at once.
    Busy,
    /// jobkit returned an error.
    Failed(Error),
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
            Self::Failed(error) => match error {
                error if is_invalid(error) => StatusCode::UNPROCESSABLE_ENTITY,
                Error::Busy | Error::Replaying => StatusCode::CONFLICT,
                Error::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
                error if is_forbidden(error) => StatusCode::FORBIDDEN,
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
            Self::Failed(error) => match error {
                Error::Unreachable(_) => "The database cannot be reached",
                Error::Deadline(_) => "The database is too slow",
                Error::SchemaMissing
                | Error::SchemaUnfit
                | Error::SchemaOlder { .. }
                | Error::SchemaNewer { .. } => "Incompatible schema",
                Error::ReadOnly => "The database is read-only",
                error if is_invalid(error) => "Invalid request",
                Error::Busy | Error::Replaying => "Not possible now",
                Error::QueueFull { .. } => "The queue is full",
                error if is_forbidden(error) => "The database does not allow that",
                _ => "Database error",
            },
        }
    }

    /// The text for the visitor. Details of database errors only go to the log: they may name
    /// hosts.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::NotFound => "There is nothing here, or nothing that you may see.".into(),
            Self::Invalid(text) | Self::Conflict(text) | Self::Refused(_, text) => text.clone(),
            Self::TooLarge => "A payload has at most 1 MiB.".into(),
            Self::Slow => "The request did not arrive within 10 seconds.".into(),
            Self::Busy => "The dashboard is busy. Try again in a moment.".into(),
            Self::Failed(error) if is_forbidden(error) => {
                "The role that this dashboard has in the database may not do that. Connect it as \
                 a role that may, or hide what this one cannot do by permissions."
                    .into()
            }
            Self::Failed(error @ (Error::Unreachable(_) | Error::Database(_))) => {
                tracing::warn!(%error, "jobkit.dashboard: no answer from the database");
                "Jobs are safe where they are. This page retries automatically; the server's log \
                 has the details."
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

impl From<EnqueueError> for Failure {
    fn from(error: EnqueueError) -> Self {
        let title = match &error {
            EnqueueError::UnknownKind(_) => "Unknown kind",
            EnqueueError::Key(_) => "Refused key",
            EnqueueError::Undecodable(_) => "Undecodable payload",
            _ => "Refused option",
        };
        match error {
            EnqueueError::Failed(error) => Self::Failed(error),
            refused => Self::Refused(title, format!("{refused}.")),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A limit that was set: its group must be known.
pub(crate) fn of_known_group(limited: Limited) -> Result<(), Failure> {
    match limited {
        Limited::UnknownGroup => {
            Err(Failure::Invalid("No worker has announced this group.".into()))
        }
        _ => Ok(()),
    }
}
