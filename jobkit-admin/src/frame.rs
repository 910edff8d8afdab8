//! What surrounds every page.

use chrono::{DateTime, Utc};

use crate::access::Permission;
use crate::visit::{Visit, Wants};
use crate::{ANYBODY, assets};

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the system has it.
    Auto,
    Light,
    Dark,
}

impl Theme {
    pub(crate) const COOKIE: &str = "jobkit-theme";

    pub(crate) fn named(name: &str) -> Self {
        match name {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::Auto,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// What the button changes it to.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Auto => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::Auto,
        }
    }
}

/// How often a page that is looked at asks for what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    Off,
    /// Every 5 seconds, or sooner: the server says when.
    Live,
    /// Every 30 seconds.
    Seldom,
}

impl Refresh {
    pub(crate) const COOKIE: &str = "jobkit-refresh";

    /// All there are, each with what it is called.
    pub(crate) const ALL: [(Self, &str); 3] =
        [(Self::Off, "Off"), (Self::Live, "Every 5 s"), (Self::Seldom, "Every 30 s")];

    pub(crate) fn named(name: &str) -> Self {
        let named = Self::ALL.into_iter().find(|(refresh, _)| refresh.as_str() == name);
        named.map_or(Self::Live, |(refresh, _)| refresh)
    }

    /// The name: its seconds, or `off`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Live => "5",
            Self::Seldom => "30",
        }
    }
}

/// An entry of the navigation.
pub(crate) struct Place {
    pub(crate) path: &'static str,
    pub(crate) label: &'static str,
    /// The key that leads there, after a `g`.
    pub(crate) key: &'static str,
    pub(crate) current: bool,
}

/// The pages of the navigation: path, label, key, what they need.
const PLACES: [(&str, &str, &str, Permission); 10] = [
    ("/", "Overview", "o", Permission::View),
    ("/jobs", "Jobs", "j", Permission::View),
    ("/queues", "Queues", "q", Permission::View),
    ("/kinds", "Kinds", "k", Permission::View),
    ("/concurrency", "Concurrency", "c", Permission::View),
    ("/dead", "Dead letters", "d", Permission::View),
    ("/workers", "Workers", "w", Permission::View),
    ("/operations", "Operations", "b", Permission::View),
    ("/audit", "Audit", "a", Permission::Audit),
    ("/system", "System", "s", Permission::View),
];

/// The surroundings of a page.
pub(crate) struct Frame<'a> {
    pub(crate) visit: &'a Visit,
    pub(crate) title: &'a str,
    pub(crate) flash: Option<&'a str>,
    pub(crate) places: Vec<Place>,
    pub(crate) now: DateTime<Utc>,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(
        visit: &'a Visit,
        path: &str,
        title: &'a str,
        flash: Option<&'a str>,
    ) -> Self {
        let may = |(.., permission): &(_, _, _, Permission)| visit.may(*permission);
        let is_current = |place| path == place || place != "/" && path.starts_with(place);
        let place = |(path, label, key, _)| Place { path, label, key, current: is_current(path) };
        let places = PLACES.into_iter().filter(may).map(place).collect();
        Self { visit, title, flash, places, now: Utc::now() }
    }

    /// Whether it is a whole page rather than what changes of it.
    pub(crate) fn whole(&self) -> bool {
        self.visit.wants == Wants::Page
    }

    pub(crate) fn base(&self) -> &str {
        &self.visit.base
    }

    /// The link to a path below the mount.
    pub(crate) fn link(&self, path: &str) -> String {
        self.visit.link(path)
    }

    pub(crate) fn here(&self) -> &str {
        &self.visit.here
    }

    pub(crate) fn actor(&self) -> &str {
        &self.visit.access.actor
    }

    pub(crate) fn instance(&self) -> &str {
        &self.visit.shared.instance
    }

    pub(crate) fn theme(&self) -> &'static str {
        self.visit.theme.as_str()
    }

    pub(crate) fn next_theme(&self) -> &'static str {
        self.visit.theme.next().as_str()
    }

    pub(crate) fn accent(&self) -> &'static str {
        self.visit.shared.accent.as_str()
    }

    pub(crate) fn refresh(&self) -> &'static str {
        self.visit.refresh.as_str()
    }

    pub(crate) fn is_live(&self) -> bool {
        self.visit.refresh == Refresh::Live
    }

    /// The choice of how often: the name, what it is called, and whether it is this one.
    pub(crate) fn refreshes(&self) -> [(&'static str, &'static str, bool); 3] {
        Refresh::ALL.map(|(one, label)| (one.as_str(), label, one == self.visit.refresh))
    }

    /// Whether everybody may do everything.
    pub(crate) fn is_open(&self) -> bool {
        self.actor() == ANYBODY
    }

    /// The link to a file.
    pub(crate) fn asset(&self, name: &str) -> String {
        self.visit.link(&format!("/assets/{}", assets::hashed(name)))
    }

    pub(crate) fn may(&self, permission: &str) -> bool {
        let named = Permission::ALL.into_iter().find(|known| known.as_str() == permission);
        named.is_some_and(|permission| self.visit.may(permission))
    }
}
