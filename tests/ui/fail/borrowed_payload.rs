#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct Greet<'a> {
    name: &'a str,
}

fn main() {}
