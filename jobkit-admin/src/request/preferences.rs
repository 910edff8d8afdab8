//! Preferences of a browser, in cookies.

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Follows the system.
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

    /// The theme that the button changes to.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Auto => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::Auto,
        }
    }
}

/// How often a visible page refreshes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    Off,
    /// Every 5 seconds, or sooner if the server sends an event.
    Live,
    /// Every 30 seconds.
    Seldom,
}

impl Refresh {
    pub(crate) const COOKIE: &str = "jobkit-refresh";

    /// All of them, with their labels.
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
