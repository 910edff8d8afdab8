//! Which connection each service has.

use std::sync::Arc;

use super::settings::Settings;
use super::shared::slots::Served;
use super::start::Parts;
use crate::store::{Link, Plans, Source, Turns};

/// The name of the shared connection.
const SHARED: &str = "work";

/// The link of a start, and if connections are few the one shared by all services except the
/// heartbeat and the listener. The start already uses that, but waits for locks as on its own.
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
    /// For services that jobs wait for.
    pub(super) fn link(&self, name: &'static str) -> Link {
        self.link_for(name, false)
    }

    /// For claims or outcomes.
    pub(super) fn standing_link(&self, name: &'static str) -> Link {
        let link = self.link(name);
        // Duties use plans by statistics, also on the shared connection.
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
