//! What identifies a job, and for how long.

use std::collections::HashSet;

use jobkit::{Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::jobs::{EFFECTS, trace};

/// Fails at first; notes its key in each attempt.
#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("1ms"))]
struct Identified;

impl Job<PgPool> for Identified {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        trace(&cx, &cx.idempotency_key()).await?;
        if cx.attempt() == 1 { Err("the network".into()) } else { Ok(()) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_of_one_job_even_where_its_id_comes_again() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs([Registration::of::<Identified, _>()]);
    let worker = worker.queue("default", 1).start().await.unwrap();
    let mut keys = HashSet::new();
    for _ in 0..3 {
        let job = Identified.enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
        let key = "select case when count(*) = 2 and min(what) = max(what) then min(what) end
            from effects";
        let key: Option<String> = lab.value(key).await;
        assert!(keys.insert(key.expect("both attempts have one")), "{keys:?}");
        // As on a standby that had not heard of it when it took over.
        lab.run(&format!("select setval('jobkit.jobs_id_seq', {job}, false)")).await;
        lab.run("truncate effects; delete from jobkit.finished").await;
    }
    assert!(keys.iter().all(|key| key.starts_with("1-")), "{keys:?}");
    worker.stop().await;
}
