use jobkit::{Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
#[job(schedule = "0 30 3 * * MON-FRI America/New_York")]
struct Nightly;

impl Job for Nightly {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let (times, Nightly) = Nightly::scheduled().expect("it has a schedule");
    assert_eq!(times, "0 30 3 * * MON-FRI America/New_York");
}
