//! Jobs that recur, and what becomes of their instants: `cargo run --example schedules`

use std::time::Duration;

use jobkit::schedule::{Overlap, Schedule};
use jobkit::{Admin, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};

/// Says that it is there; every worker that has it declares its schedule.
#[derive(Default, Serialize, Deserialize)]
#[job(schedule = "every 2s")]
struct Pulse;

impl Job for Pulse {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        println!("pulse, for {:?}", cx.instant());
        Ok(())
    }
}

/// Takes longer than it is until the next.
#[derive(Serialize, Deserialize)]
#[job]
struct Report {
    region: String,
}

impl Job for Report {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        tokio::time::sleep(Duration::from_millis(2500)).await;
        println!("the report on {}, for {:?}", self.region, cx.instant());
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let every_second = Schedule::new("* * * * * * Europe/Berlin").overlap(Overlap::SkipIfRunning);
    let worker = Worker::new(pool.clone())
        .queue("default", 5)
        .schedule("report-north", every_second, Report { region: "the north".to_owned() })
        .start()
        .await?;
    tokio::time::sleep(Duration::from_secs(7)).await;
    worker.stop().await;
    let admin = Admin::new(&pool).acting_as("the example");
    for run in admin.schedule("report-north").runs(None, 10).await? {
        let what = run.skipped.unwrap_or_else(|| "fired".to_owned());
        println!("{} {what}", run.instant.format("%H:%M:%S"));
    }
    for name in ["pulse", "report-north"] {
        admin.schedule(name).delete().await?;
    }
    Ok(())
}
