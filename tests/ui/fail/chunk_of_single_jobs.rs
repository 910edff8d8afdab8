#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(chunk = 100)]
struct IndexProduct;

impl jobkit::Job for IndexProduct {
    async fn run(self, _cx: jobkit::JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
