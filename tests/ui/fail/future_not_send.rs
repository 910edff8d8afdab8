use std::rc::Rc;

use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct SendReceipt;

impl Job for SendReceipt {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        let receipt = Rc::new("receipt");
        cx.cancelled().await;
        println!("{receipt}");
        Ok(())
    }
}

fn main() {}
