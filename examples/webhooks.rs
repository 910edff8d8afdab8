//! An event for two endpoints, of which one is gone: `cargo run --example webhooks`

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jobkit::{Admin, Worker, enqueue_all};
use jobkit_webhooks::{Endpoint, Endpoints, Event, Webhooks, new_secret};

/// The endpoints of customers, which an application has in a table.
#[derive(Clone)]
struct Customers(Arc<Mutex<HashMap<String, Endpoint>>>);

impl Endpoints for Customers {
    async fn find(&self, id: &str) -> jobkit::Result<Option<Endpoint>> {
        Ok(self.0.lock().expect("nobody panics").get(id).cloned())
    }

    async fn switch_off(&self, id: &str, why: &str) -> jobkit::Result {
        println!("endpoint {id} is switched off: {why}");
        self.0.lock().expect("nobody panics").remove(id);
        Ok(())
    }
}

/// What the customers have.
async fn receive(headers: HeaderMap, body: String) -> StatusCode {
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        println!("{name}: {}", headers[name].to_str().unwrap_or_default());
    }
    println!("{body}");
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let gone = post(async || StatusCode::GONE);
    let router = Router::new().route("/webhooks", post(receive)).route("/gone", gone);
    tokio::spawn(axum::serve(listener, router).into_future());

    let endpoint = |path: &str| Endpoint {
        url: format!("http://{address}{path}"),
        secrets: vec![new_secret()],
    };
    let both = [("1", "/webhooks"), ("2", "/gone")];
    let all = both.map(|(id, path)| (id.to_owned(), endpoint(path)));
    let customers = Customers(Arc::new(Mutex::new(all.into())));

    // Without `allow` nothing is sent to this machine.
    let admin = Admin::new(&pool);
    let webhooks = Webhooks::new(customers, admin.clone()).allow("127.0.0.0/8".parse()?);
    let worker = Worker::new(pool.clone()).state(webhooks).queue("webhooks", 10).start().await?;

    let event = Event::new("order.paid", &7)?;
    let jobs = enqueue_all(["1", "2"].map(|id| event.to(id)), &pool).await?;
    for job in jobs {
        admin.job(job).await_end(Duration::from_secs(60)).await?;
    }
    worker.stop().await;
    Ok(())
}
