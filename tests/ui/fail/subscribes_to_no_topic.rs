#[derive(serde::Serialize, serde::Deserialize)]
struct OrderPaid {
    customer: i64,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(subscribes)]
struct SendReceipt(OrderPaid);

impl jobkit::Job for SendReceipt {
    async fn run(self, _cx: jobkit::JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
