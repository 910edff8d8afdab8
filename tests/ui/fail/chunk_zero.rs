#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(chunk = 0, linger = "2m")]
struct IndexProduct {
    product: i64,
}

fn main() {}
