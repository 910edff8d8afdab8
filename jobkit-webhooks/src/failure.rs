use std::io;
use std::time::Duration;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The URL is not an absolute `http` or `https` URL, or has a user or a password in it.
    #[error("the URL of the endpoint must be an absolute https URL without a user or password")]
    Url,
    /// The endpoint has no secret, or one that is not `whsec_` and 24 to 64 bytes in base64.
    #[error("the secret of the endpoint must be `whsec_` and 24 to 64 bytes in base64")]
    Secret,
    /// The id of the event is empty, or contains a full stop, or anything but ASCII letters, digits
    /// and punctuation.
    #[error("the id of the event must be ASCII without spaces or full stops, and not empty")]
    Id,
    /// The host has neither a public address nor one in a network that is
    /// [allowed](crate::Webhooks::allow).
    #[error("{host} has no public address")]
    Forbidden {
        /// The host of the URL.
        host: String,
    },
    /// `http` is only for networks that are [allowed](crate::Webhooks::allow); public addresses are
    /// reached by `https`.
    #[error("{host} must be reached by https")]
    Plain {
        /// The host of the URL.
        host: String,
    },
    /// The name of the host does not resolve.
    #[error("cannot resolve {host}")]
    Resolve {
        /// The host of the URL.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// The connection failed, or TLS does not trust it.
    #[error("cannot connect to {host}")]
    Connect {
        /// The host of the URL.
        host: String,
        /// The error of the system or of TLS.
        source: io::Error,
    },
    /// The connection ended, or the answer was not HTTP.
    #[error("no answer from {host}")]
    Http {
        /// The host of the URL.
        host: String,
        /// The error.
        source: hyper::Error,
    },
    /// There was no answer in [time](crate::Webhooks::timeout).
    #[error("no answer from {host} within {limit:?}")]
    Timeout {
        /// The host of the URL.
        host: String,
        /// The time limit.
        limit: Duration,
    },
}

impl Failure {
    /// Whether the next attempt would fail in the same way, because the cause is the endpoint as it
    /// was entered, or the event.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::Url | Self::Secret | Self::Id | Self::Forbidden { .. } | Self::Plain { .. } => {
                true
            }
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::Http { .. }
            | Self::Timeout { .. } => false,
        }
    }
}
