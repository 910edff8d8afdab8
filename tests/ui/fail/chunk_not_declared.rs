use jobkit::chunk::{ChunkJob, Member};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct IndexProduct;

impl ChunkJob for IndexProduct {
    async fn run(_chunk: Vec<Member<Self>>) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
