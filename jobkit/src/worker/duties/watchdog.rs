use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::DatabaseError;
use crate::store::{Link, SchemaCheck, unknown_kinds};
use crate::version::split;
use crate::worker::shared::slots::Slots;
use crate::worker::some::some;
use crate::worker::ticker::Duty;

/// Reports what would otherwise go unnoticed: jobs of a kind or version that this binary does not
/// know (logged once, and left for a binary that does), and a schema that is too new for it.
///
/// If it did not run for an hour, such jobs would wait unreported.
pub(crate) struct Watchdog {
    pub(crate) link: Link,
    pub(crate) slots: Arc<Slots>,
    pub(crate) kinds: Vec<String>,
    pub(crate) seen: HashSet<(String, String)>,
    /// Stops claims.
    pub(crate) stopping: CancellationToken,
}

impl Duty for Watchdog {
    const NAME: &'static str = "watchdog";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        match self.link.call(&SchemaCheck).await? {
            Ok(()) => {}
            Err(error) => {
                tracing::error!(%error, "jobkit: no new claims");
                self.stopping.cancel();
            }
        }
        let queues: Vec<_> =
            self.slots.queues().iter().map(|queue| queue.name.to_string()).collect();
        let unknown = unknown_kinds(&queues, &self.kinds);
        let unknown = self.link.call(&unknown).await?;
        let new = unknown.into_iter().filter(|found| self.seen.insert(found.clone()));
        let (first, more) = some(new);
        for (name, queue) in first {
            self.warn(&name, &queue);
        }
        if more > 0 {
            tracing::warn!(more, "jobkit: jobs of more kinds, versions and queues are left alone");
        }
        self.link.disconnect().await;
        Ok(Duration::from_secs(30))
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Watchdog {
    /// Logs what is left alone, and what to do if this binary should know it.
    fn warn(&self, name: &str, queue: &str) {
        let (kind, version) = split(name);
        let mut known: Vec<u16> = self.kinds.iter().filter_map(|name| same(name, kind)).collect();
        known.sort_unstable();
        if known.is_empty() {
            tracing::warn!(
                job.kind = kind,
                job.version = version,
                queue,
                "jobkit: jobs of a kind this binary does not know are left alone; if it should \
                 know them, their crate may not be linked: mention it with `use my_jobs as _;`"
            );
        } else {
            tracing::warn!(
                job.kind = kind,
                job.version = version,
                queue,
                ?known,
                "jobkit: jobs of a version this binary does not know are left alone; read an older \
                 one with `#[job(upcast(…))]`, and leave a newer one to the binary that enqueued it"
            );
        }
    }
}

/// The version of this name, if it is of that kind.
fn same(name: &str, kind: &str) -> Option<u16> {
    let (of, version) = split(name);
    (of == kind).then_some(version)
}
