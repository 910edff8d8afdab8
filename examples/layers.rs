//! Code around the handlers of a worker, hooks, and what jobs carry: a tenant that a request set
//! is there again in its jobs, and a line for each attempt says what became
//! of it: `cargo run --example layers`

use std::time::Instant;

use anyhow::Context;
use jobkit::around::{Around, Next};
use jobkit::hooks::{Event, Outcome, propagate};
use jobkit::{Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use tokio::task_local;

task_local! {
    /// On whose behalf the program acts.
    static TENANT: String;
}

#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("100ms"))]
struct Invoice {
    number: u32,
}

impl Job for Invoice {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if self.number == 2 && cx.attempt() == 1 {
            return Err("the printer is out of paper".into());
        }
        let tenant = TENANT.with(String::clone);
        println!("invoice {} of {tenant} is printed", self.number);
        Ok(())
    }
}

/// Runs each handler on behalf of whoever enqueued its job.
struct Tenants;

impl Around for Tenants {
    async fn around(&self, cx: JobContext, next: Next) -> jobkit::Result {
        let tenant = cx.carried().get("tenant").unwrap_or("nobody").to_owned();
        TENANT.scope(tenant, next.run()).await
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    propagate(|carried| {
        let _nobody = TENANT.try_with(|tenant| carried.set("tenant", tenant));
    })?;
    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::new(pool.clone())
        .only::<(Invoice,)>()
        .queue("default", 5)
        .around(Tenants)
        .around_kind::<Invoice>(async |cx: JobContext, next: Next| {
            let began = Instant::now();
            let result = next.run().await;
            println!("attempt {} of job {} took {:?}", cx.attempt(), cx.id(), began.elapsed());
            result
        })
        .hook(move |event| {
            if let Event::Ended(event) = event {
                let _nobody_waits = ended.send((event.job, event.outcome));
            }
        })
        .start()
        .await?;
    for tenant in ["ada", "bob"] {
        let request = async {
            Invoice { number: 1 }.enqueue(&pool).await?;
            Invoice { number: 2 }.enqueue(&pool).await
        };
        TENANT.scope(tenant.to_owned(), request).await?;
    }
    let mut printed = 0;
    while printed < 4 {
        let Some((job, outcome)) = ends.recv().await else { break };
        println!("job {job}: {}", outcome.as_str());
        printed += u32::from(outcome == Outcome::Finish);
    }
    worker.stop().await;
    Ok(())
}
