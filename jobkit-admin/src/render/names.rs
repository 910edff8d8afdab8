//! Names of workers, for pages that know only their ids.

use std::collections::HashMap;

use jobkit::Admin;
use jobkit::admin::AdminError;

use crate::format::show;

/// The names of some workers.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<i64, String>);

impl Names {
    /// The names of these workers, as far as they are known.
    pub(crate) async fn of(
        admin: &Admin,
        workers: impl IntoIterator<Item = i64>,
    ) -> Result<Self, AdminError> {
        let mut workers: Vec<i64> = workers.into_iter().collect();
        workers.sort_unstable();
        workers.dedup();
        admin.worker_names(&workers).await.map(Self)
    }

    /// Whether its name is known.
    pub(crate) fn knows(&self, worker: &i64) -> bool {
        self.0.contains_key(worker)
    }

    /// Its name, or else its id.
    pub(crate) fn name(&self, worker: &i64) -> String {
        self.0.get(worker).cloned().unwrap_or_else(|| show::worker(worker))
    }
}
