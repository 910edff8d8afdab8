use jobkit::{Job, JobContext, job};

const ATTEMPTS: u16 = 5;

#[derive(serde::Serialize, serde::Deserialize)]
#[job(queue = format!("tenant-{}", self.tenant), priority = self.priority, max_attempts = ATTEMPTS)]
struct Charge {
    tenant: i64,
    priority: i16,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
