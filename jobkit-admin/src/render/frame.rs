//! The frame of every page.

use chrono::{DateTime, Utc};

use crate::access::{ANYBODY, Permission};
use crate::assets;
use crate::context::{Context, Wants};
use crate::request::preferences::Refresh;

/// An entry of the navigation.
pub(crate) struct Place {
    pub(crate) path: &'static str,
    pub(crate) label: &'static str,
    /// The shortcut: `g`, then this key.
    pub(crate) key: &'static str,
    pub(crate) current: bool,
}

/// The pages of the navigation: path, label, key, permission.
const PLACES: [(&str, &str, &str, Permission); 14] = [
    ("/", "Overview", "o", Permission::View),
    ("/jobs", "Jobs", "j", Permission::View),
    ("/batches", "Batches", "h", Permission::View),
    ("/queues", "Queues", "q", Permission::View),
    ("/schedules", "Schedules", "t", Permission::View),
    ("/kinds", "Kinds", "k", Permission::View),
    ("/topics", "Topics", "p", Permission::View),
    ("/concurrency", "Concurrency", "c", Permission::View),
    ("/limits", "Limits", "l", Permission::View),
    ("/dead", "Dead letters", "d", Permission::View),
    ("/workers", "Workers", "w", Permission::View),
    ("/operations", "Operations", "b", Permission::View),
    ("/audit", "Audit", "a", Permission::Audit),
    ("/system", "System", "s", Permission::View),
];

/// The frame of a page.
pub(crate) struct Frame<'a> {
    pub(crate) context: &'a Context,
    pub(crate) title: &'a str,
    pub(crate) flash: Option<&'a str>,
    pub(crate) places: Vec<Place>,
    pub(crate) now: DateTime<Utc>,
}

impl<'a> Frame<'a> {
    /// The frame of a page.
    pub(crate) fn of(context: &'a Context, title: &'a str) -> Self {
        Self::new(context, &context.path, title, context.flash.as_deref())
    }

    /// The frame of a page that does not exist, which does not show its URL.
    pub(crate) fn nowhere(context: &'a Context, title: &'a str) -> Self {
        Self::new(context, "", title, None)
    }

    fn new(context: &'a Context, path: &str, title: &'a str, flash: Option<&'a str>) -> Self {
        let may = |(.., permission): &(_, _, _, Permission)| context.may(*permission);
        let is_current = |place| path == place || place != "/" && path.starts_with(place);
        let place = |(path, label, key, _)| Place { path, label, key, current: is_current(path) };
        let places = PLACES.into_iter().filter(may).map(place).collect();
        Self { context, title, flash, places, now: Utc::now() }
    }

    /// Whether it is a whole page rather than the part that changes.
    pub(crate) fn whole(&self) -> bool {
        self.context.wants == Wants::Page
    }

    pub(crate) fn base(&self) -> &str {
        &self.context.base
    }

    /// The link to a path below the mount.
    pub(crate) fn link(&self, path: &str) -> String {
        self.context.link(path)
    }

    pub(crate) fn here(&self) -> &str {
        &self.context.here
    }

    pub(crate) fn actor(&self) -> &str {
        &self.context.access.actor
    }

    pub(crate) fn instance(&self) -> &str {
        &self.context.shared.instance
    }

    pub(crate) fn theme(&self) -> &'static str {
        self.context.theme.as_str()
    }

    pub(crate) fn next_theme(&self) -> &'static str {
        self.context.theme.next().as_str()
    }

    pub(crate) fn accent(&self) -> &'static str {
        self.context.shared.accent.as_str()
    }

    pub(crate) fn refresh(&self) -> &'static str {
        self.context.refresh.as_str()
    }

    pub(crate) fn is_live(&self) -> bool {
        self.context.refresh == Refresh::Live
    }

    /// The choices of how often to refresh: name, label, and whether it is the current one.
    pub(crate) fn refreshes(&self) -> [(&'static str, &'static str, bool); 3] {
        Refresh::ALL.map(|(one, label)| (one.as_str(), label, one == self.context.refresh))
    }

    /// Whether there is no authentication.
    pub(crate) fn is_open(&self) -> bool {
        self.actor() == ANYBODY
    }

    /// The link to a file.
    pub(crate) fn asset(&self, name: &str) -> String {
        self.context.link(&format!("/assets/{}", assets::hashed(name)))
    }

    pub(crate) fn may(&self, permission: &str) -> bool {
        let named = Permission::ALL.into_iter().find(|known| known.as_str() == permission);
        named.is_some_and(|permission| self.context.may(permission))
    }
}
