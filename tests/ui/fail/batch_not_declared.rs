use jobkit::batch::{BatchJob, Member};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct IndexProduct;

impl BatchJob for IndexProduct {
    async fn run(_batch: Vec<Member<Self>>) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
