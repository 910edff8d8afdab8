//! Jobs that run in chunks, with a state and without.

use std::time::Duration;

use jobkit::chunk::{ChunkJob, Member};
use jobkit::policy::Chunk;
use jobkit::{JobType, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[job(chunk = 100, linger = "1s")]
struct IndexProduct {
    product: i64,
}

impl ChunkJob for IndexProduct {
    async fn run(chunk: Vec<Member<Self>>) -> jobkit::Result {
        for member in &chunk {
            member.answer(if member.product == 0 { Err("no product".into()) } else { Ok(()) });
        }
        Ok(())
    }
}

struct App;

#[derive(Serialize, Deserialize)]
#[job(chunk = 2)]
struct WithState;

impl ChunkJob<App> for WithState {
    async fn run(chunk: Vec<Member<Self, App>>) -> jobkit::Result {
        let _app: &App = chunk[0].state();
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let linger = Duration::from_secs(1);
    assert_eq!(IndexProduct::POLICY.chunk, Some(Chunk { max: 100, linger }));
    assert_eq!(WithState::POLICY.chunk, Some(Chunk { max: 2, ..Chunk::default() }));
}
