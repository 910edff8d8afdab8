#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(chunk(max = 100, linger = "50ms"))]
struct IndexProduct {
    product: i64,
}

fn main() {}
