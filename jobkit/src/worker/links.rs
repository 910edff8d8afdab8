//! Which connection each service has.

use std::sync::Arc;

use super::settings::Settings;
use super::shared::slots::Served;
use super::start::Parts;
use crate::store::{Link, Plans, Source, Turns};

/// What the connection of several services is called.
const SHARED: &str = "work";

/// The link of a start, and the connection of all but the heartbeat and the listener, where
/// connections are few: it is on that one already, but waits for locks as on one of its own.
pub(super) fn begin(
    source: &Source,
    settings: &Settings,
    served: &[Served],
) -> (Link, Option<Arc<Turns>>) {
    let slots = served.iter().map(|pool| pool.slots).sum();
    let link = |name| Link::new(name, source.clone(), settings.deadlines());
    if !settings.has_few_connections(slots) {
        return (link("start"), None);
    }
    let turns = Arc::default();
    (link(SHARED).on(&turns), Some(turns))
}

impl Parts {
    /// For what jobs wait for.
    pub(super) fn link(&self, name: &'static str) -> Link {
        self.link_for(name, false)
    }

    /// For claims or outcomes.
    pub(super) fn standing_link(&self, name: &'static str) -> Link {
        let link = self.link(name);
        // Duties have plans by the statistics, on the same connection too.
        if self.shared.is_some() { link } else { link.planning(Plans::Standing) }
    }

    /// For a duty.
    pub(super) fn patient_link(&self, name: &'static str) -> Link {
        self.link_for(name, true)
    }

    fn link_for(&self, name: &'static str, patient: bool) -> Link {
        let name = if self.shared.is_some() { SHARED } else { name };
        let link = Link::new(name, self.source.clone(), self.settings.deadlines());
        match &self.shared {
            Some(turns) => link.sharing(turns, patient),
            None => link,
        }
    }
}
