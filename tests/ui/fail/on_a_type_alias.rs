#[jobkit::job]
type Mail = String;

fn main() {}
