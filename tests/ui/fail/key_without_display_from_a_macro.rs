use jobkit::{Job, JobContext};

macro_rules! keyed {
    ($name:ident, $key:expr) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        #[jobkit::job(concurrency_key = $key)]
        struct $name {
            accounts: Vec<i64>,
        }

        impl Job for $name {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    };
}

keyed!(SendReceipts, self.accounts);

fn main() {}
