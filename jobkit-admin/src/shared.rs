//! The state shared by all requests of a dashboard.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::http::request::Parts;
use axum::response::Response;
use jobkit::Admin;
use jobkit::admin::overview::Overview;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::cached::Cached;
use crate::signals::Signals;
use crate::totals::Totals;

pub(crate) type Decision = Pin<Box<dyn Future<Output = Result<Access, Response>> + Send>>;
pub(crate) type Hook = Arc<dyn Fn(Parts) -> Decision + Send + Sync>;

/// The colour that tells an installation apart from others. Its name has this colour and, except
/// for blue, so has a line above every page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accent {
    /// The colour of links, without a line.
    #[default]
    Blue,
    /// For installations where nothing can go wrong.
    Green,
    /// For installations that need care.
    Amber,
    /// For production.
    Red,
    /// For anything else.
    Violet,
}

impl Accent {
    /// All colours.
    pub const ALL: [Self; 5] = [Self::Blue, Self::Green, Self::Amber, Self::Red, Self::Violet];

    /// The colour's name: `blue`, `green`, `amber`, `red` or `violet`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blue => "blue",
            Self::Green => "green",
            Self::Amber => "amber",
            Self::Red => "red",
            Self::Violet => "violet",
        }
    }
}

/// The state shared by all requests.
pub(crate) struct Shared {
    pub(crate) admin: Admin,
    pub(crate) instance: String,
    pub(crate) accent: Accent,
    pub(crate) base_path: String,
    pub(crate) read_only: bool,
    pub(crate) hook: Hook,
    pub(crate) signals: Signals,
    /// Slots for exports. Each is held as long as the download lasts.
    pub(crate) exports: Arc<Semaphore>,
    /// Slots for requests that wait for running jobs to end.
    pub(crate) waits: Semaphore,
    /// The overview, which its page and the metrics share.
    pub(crate) overview: Cached<Overview>,
    /// The counters of the metrics.
    pub(crate) totals: Totals,
}

impl Shared {
    /// Who sent the request and what they may do, or the response that refuses them.
    pub(crate) async fn access(&self, parts: &Parts) -> Result<Access, Response> {
        let mut access = (self.hook)(parts.clone()).await?;
        if self.read_only {
            access.permissions = access.permissions.reading();
        }
        Ok(access)
    }
}
