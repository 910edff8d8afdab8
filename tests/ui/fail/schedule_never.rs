#[derive(Default, serde::Serialize, serde::Deserialize)]
#[jobkit::job(schedule = "0 0 30 2 *")]
struct LeapReport;

fn main() {}
