#[derive(Default, serde::Serialize, serde::Deserialize)]
#[jobkit::job(schedule = "0 3 * * * Europe/Berln")]
struct NightlyReport;

fn main() {}
