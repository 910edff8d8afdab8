use jobkit::{Enqueue, Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job]
struct SendReceipt {
    account_id: i64,
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

async fn pay(pool: sqlx_08::PgPool) -> jobkit::Result {
    SendReceipt { account_id: 1 }.enqueue(&pool).await?;
    Ok(())
}

fn main() {}
