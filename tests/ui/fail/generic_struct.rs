use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job]
struct Import<T> {
    rows: Vec<T>,
}

impl Job for Import<i64> {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        println!("{:?}", self.rows);
        Ok(())
    }
}

fn main() {}
