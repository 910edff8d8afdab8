use std::fmt;

use crate::admin::limits::{Limit, Pause, Scope};

/// That its queue, its kind or everything is paused.
pub(super) fn paused(scope: &Scope, pause: &Pause, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match scope {
        Scope::All => write!(f, "Everything is paused{pause}"),
        scope => write!(f, "Its {scope} is paused{pause}"),
    }
}

/// What its queue or its kind allows no more of.
pub(super) fn limited(limit: &Limit, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (&limit.scope, limit.most_running(), limit.runs) {
        (scope, Some(most), Some(runs)) if runs >= most => {
            write!(f, "Ready, but its {scope} has {runs} of at most {most} running")
        }
        (scope, ..) => write!(f, "Ready, but its {scope} is limited: {limit}"),
    }
}
