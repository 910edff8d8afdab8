use std::fmt;

use super::reason::Time;
use crate::admin::brakes::{Brake, Pause, Scope};

/// What holds a job back, in words.
pub(super) fn held(brake: &Brake, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match brake {
        Brake { scope: Scope::All, paused: Some(pause), .. } => {
            write!(f, "Everything is paused{pause}")
        }
        Brake { scope, paused: Some(pause), .. } => write!(f, "Its {scope} is paused{pause}"),
        Brake { scope, limit: Some(limit), running, .. } if running >= limit => {
            write!(f, "Ready, but its {scope} has {running} of at most {limit} running")
        }
        brake => write!(f, "Ready, but its {} is held back: {brake}", brake.scope),
    }
}

/// What follows `is paused`.
impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(actor) = given(&self.actor) {
            write!(f, " by {actor}")?;
        }
        write!(f, " since {}", Time(&self.since))?;
        given(&self.reason).map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}
