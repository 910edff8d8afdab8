use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(queue = "mail")]
enum Mail {
    Receipt,
    Reminder,
}

impl Job for Mail {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
