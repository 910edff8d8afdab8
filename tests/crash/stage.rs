//! What every crash test needs: its turn, its database, its jobs, and the clock.

use std::sync::Arc;
use std::time::Duration;

use jobkit::JobId;
use jobkit_tests::Lab;
use private_postgres::Cluster;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::jobs::{Act, Deed, TABLES};

/// The machine is small, and most tests measure time: so many of them at once, no more.
static TURNS: Semaphore = Semaphore::const_new(SEATS as usize);
const SEATS: u32 = 3;

/// A turn for a test that mostly waits.
pub(crate) async fn light_turn() -> SemaphorePermit<'static> {
    TURNS.acquire().await.unwrap()
}

/// A turn for a test that keeps the machine busy: it has it for itself.
pub(crate) async fn heavy_turn() -> SemaphorePermit<'static> {
    TURNS.acquire_many(SEATS).await.unwrap()
}

/// A fresh database, with the tables for traces.
pub(crate) async fn lab() -> Lab {
    let lab = Lab::new().await;
    lab.run(TABLES).await;
    lab
}

/// A server of its own, to be crashed, with a lab on it.
pub(crate) async fn crashable(settings: &'static [(&str, &str)]) -> (Arc<Cluster>, Lab) {
    let cluster = tokio::task::spawn_blocking(|| Cluster::throwaway(settings).unwrap());
    let cluster = Arc::new(cluster.await.unwrap());
    let lab = Lab::at(cluster.url()).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    lab.publish().await;
    lab.run(TABLES).await;
    (cluster, lab)
}

/// Stops a server, or starts it again, while the test goes on.
pub(crate) async fn with<F>(cluster: &Arc<Cluster>, act: F)
where
    F: FnOnce(&Cluster) -> anyhow::Result<()> + Send + 'static,
{
    let cluster = Arc::clone(cluster);
    tokio::task::spawn_blocking(move || act(&cluster).unwrap()).await.unwrap();
}

/// Enqueues so many of the same.
pub(crate) async fn enqueue(lab: &Lab, count: usize, act: Act) -> Vec<JobId> {
    let deeds = std::iter::repeat_n(Deed { act }, count);
    jobkit::enqueue_all(deeds, lab.pool()).await.unwrap()
}

/// Waits until so many traces of a kind are there.
pub(crate) async fn traces(lab: &Lab, count: i64, of: &str) {
    lab.until_within(PATIENCE, &format!("count(*) >= {count} from effects where {of}")).await;
}

/// Waits until no job is left.
pub(crate) async fn all_done(lab: &Lab) {
    lab.until_within(PATIENCE, "not exists (select from jobkit.jobs)").await;
}

/// Moves time: whatever is scheduled is due now, but for what waits for another job to end.
pub(crate) async fn hurry(lab: &Lab) {
    lab.run(
        "with due as materialized (
            select s.ctid as at from jobkit.scheduled s
            where s.run_at > now() and s.run_at < jobkit.parked() for update skip locked
        ), moved as (
            update jobkit.scheduled s set run_at = now() from due d where s.ctid = d.at
            returning s.job_id
        )
        update jobkit.jobs j set run_at = now() from moved m where j.id = m.job_id",
    )
    .await;
}

/// The database's clock, in seconds since 1970.
pub(crate) async fn clock(lab: &Lab) -> f64 {
    lab.value("select extract(epoch from clock_timestamp())::float8").await
}

/// How long a test waits for what must happen, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
