#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct SendReceipt;

fn main() {}
