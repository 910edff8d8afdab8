#[derive(serde::Serialize, serde::Deserialize)]
struct OrderPaid {
    token: String,
}

impl jobkit::enqueue::Topic for OrderPaid {
    const NAME: &'static str = "order.paid";
}

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(subscribes, encrypt(token))]
struct SendReceipt(OrderPaid);

fn main() {}
