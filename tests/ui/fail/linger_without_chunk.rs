#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(linger = "50ms")]
struct IndexProduct {
    product: i64,
}

fn main() {}
