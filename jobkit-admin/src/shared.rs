//! What all requests of a dashboard share.

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

pub(crate) type Verdict = Pin<Box<dyn Future<Output = Result<Access, Response>> + Send>>;
pub(crate) type Hook = Arc<dyn Fn(Parts) -> Verdict + Send + Sync>;

/// The colour that tells an installation from others: of its name, and, but for blue, of a line
/// above every page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accent {
    /// As links are; without a line.
    #[default]
    Blue,
    /// For where nothing can go wrong.
    Green,
    /// For where care is due.
    Amber,
    /// For production.
    Red,
    /// For whatever is none of these.
    Violet,
}

impl Accent {
    /// All there are.
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

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) admin: Admin,
    pub(crate) instance: String,
    pub(crate) accent: Accent,
    pub(crate) base_path: String,
    pub(crate) read_only: bool,
    pub(crate) hook: Hook,
    pub(crate) signals: Signals,
    /// Turns of exports, each as long as somebody reads it.
    pub(crate) exports: Arc<Semaphore>,
    /// Turns of requests that wait until what runs has ended.
    pub(crate) waits: Semaphore,
    /// What every overview, and the metrics, show.
    pub(crate) overview: Cached<Overview>,
    /// What the counters of the metrics show.
    pub(crate) totals: Totals,
}

impl Shared {
    /// Who asks, and what they may; or what to tell them instead.
    pub(crate) async fn access(&self, parts: &Parts) -> Result<Access, Response> {
        let mut access = (self.hook)(parts.clone()).await?;
        if self.read_only {
            access.permissions = access.permissions.reading();
        }
        Ok(access)
    }
}
