//! Jobs that run in batches, with a state and without.

use std::time::Duration;

use jobkit::batch::{BatchJob, Member};
use jobkit::policy::Batch;
use jobkit::{JobType, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[job(batch = 100, linger = "1s")]
struct IndexProduct {
    product: i64,
}

impl BatchJob for IndexProduct {
    async fn run(batch: Vec<Member<Self>>) -> jobkit::Result {
        for member in &batch {
            member.answer(if member.product == 0 { Err("no product".into()) } else { Ok(()) });
        }
        Ok(())
    }
}

struct App;

#[derive(Serialize, Deserialize)]
#[job(batch = 2)]
struct WithState;

impl BatchJob<App> for WithState {
    async fn run(batch: Vec<Member<Self, App>>) -> jobkit::Result {
        let _app: &App = batch[0].state();
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let linger = Duration::from_secs(1);
    assert_eq!(IndexProduct::POLICY.batch, Some(Batch { max: 100, linger }));
    assert_eq!(WithState::POLICY.batch, Some(Batch { max: 2, ..Batch::default() }));
}
