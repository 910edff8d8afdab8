#[derive(serde::Serialize, serde::Deserialize)]
struct OrderPaid {
    customer: i64,
}

impl jobkit::enqueue::Topic for OrderPaid {
    const NAME: &'static str = "order.paid";
}

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(subscribes, concurrency_key = self.0.customer, unique_key = self.0.customer)]
struct SendReceipt(OrderPaid);

fn main() {}
