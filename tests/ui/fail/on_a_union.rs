#[jobkit::job]
union Number {
    whole: i64,
    real: f64,
}

fn main() {}
