#[derive(serde::Serialize, serde::Deserialize)]
struct OrderPaid {
    customer: i64,
}

impl jobkit::enqueue::Topic for OrderPaid {
    const NAME: &'static str = "order.paid";
}

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(subscribes)]
struct SendReceipt {
    paid: OrderPaid,
}

fn main() {}
