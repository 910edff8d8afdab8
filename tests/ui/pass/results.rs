#![deny(warnings, clippy::pedantic)]

use jobkit::{Job, JobContext, JobType, Registration, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Receipt {
    pub number: u64,
}

pub struct App;

#[derive(Serialize, Deserialize)]
#[job(result = Receipt, retention = "7d")]
pub struct Charge;

impl Job<App> for Charge {
    async fn run(self, _cx: JobContext<App>) -> jobkit::Result<Receipt> {
        Ok(Receipt { number: 7 })
    }
}

#[derive(Serialize, Deserialize)]
#[job(queue = "pages", result = Vec<(u32, Option<Receipt>)>, priority = 1)]
pub struct Pages;

impl Job for Pages {
    async fn run(self, _cx: JobContext) -> jobkit::Result<Vec<(u32, Option<Receipt>)>> {
        Ok(Vec::new())
    }
}

#[derive(Serialize, Deserialize)]
#[job]
pub struct Nothing;

impl Job for Nothing {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    assert_eq!(Charge::POLICY.kind, "charge");
    let _registered = [
        Registration::of::<Charge, _>(),
        Registration::of::<Pages, _>(),
        Registration::of::<Nothing, _>(),
    ];
    let (): <Nothing as JobType>::Output = ();
}
