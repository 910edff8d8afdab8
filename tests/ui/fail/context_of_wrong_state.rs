use jobkit::{Job, JobContext};

struct App;

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct SendReceipt;

impl Job<App> for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
