#[derive(serde::Serialize)]
#[jobkit::job]
struct Ping<const ROUNDS: usize>;

fn main() {}
