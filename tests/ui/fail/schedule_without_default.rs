use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(schedule = "@daily")]
struct Report {
    region: String,
}

impl Job for Report {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
