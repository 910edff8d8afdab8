//! A secret is shown nowhere: it is easily found, goes through everything that a delivery can
//! become, and is looked for in the database, which is what pages show, and in the log.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jobkit::Enqueue;
use jobkit_tests::{Lab, Log};
use jobkit_webhooks::{Event, Webhooks};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use crate::customers::Customers;
use crate::receiver::{Receiver, Reply, elsewhere, rest, says, silent};

/// The bytes of the secret.
const BYTES: &[u8] = b"a canary that sings 4711470815";

/// What is looked for: the secret as it is stored, as its bytes, and as they are printed.
fn canaries() -> [String; 3] {
    let bytes = format!("{BYTES:?}");
    [STANDARD.encode(BYTES), "4711470815".to_owned(), bytes.trim_matches(['[', ']']).to_owned()]
}

fn secret() -> String {
    format!("whsec_{}", STANDARD.encode(BYTES))
}

/// What is logged, on whatever thread.
fn logged() -> Log {
    let log = Log::default();
    let lines = layer().with_ansi(false).with_writer(log.clone());
    tracing_subscriber::registry().with(lines).init();
    log
}

fn replies(path: &str, _: usize) -> Reply {
    match path {
        "/fails" => says(500),
        "/refuses" => (422, None, "no such order".to_owned()),
        "/gone" => says(410),
        "/busy" => rest(429, "1"),
        "/moved" => elsewhere("/nowhere"),
        _ => says(200),
    }
}

/// The columns of the schema in which something of the secret is.
async fn shown(lab: &Lab) -> Vec<String> {
    let columns = "select c.relname || '.' || a.attname from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p')";
    let columns: Vec<String> = sqlx::query_scalar(columns).fetch_all(lab.direct()).await.unwrap();
    assert!(columns.len() > 100, "{columns:?}");
    let mut shown = Vec::new();
    for column in columns {
        let (table, name) = column.split_once('.').unwrap();
        for canary in canaries() {
            let from = format!("jobkit.{table} where strpos({name}::text, '{canary}') > 0");
            if lab.count(&from).await > 0 {
                shown.push(column.clone());
            }
        }
    }
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_shown_nowhere() {
    let log = logged();
    let (lab, customers) = (Lab::new().await, Customers::default());
    let receiver = Receiver::start(replies).await;
    let mut urls = ["/fails", "/refuses", "/gone", "/busy", "/moved", "/ok"]
        .map(|path| receiver.url(path))
        .to_vec();
    let tls = receiver.url("/").replace("http:", "https:");
    let others = ["https://10.0.0.1/", "ftp://a.b/", "http://127.0.0.1:9/", "https://no.invalid/"];
    urls.extend([silent().await, tls].into_iter().chain(others.map(str::to_owned)));
    let mut endpoints = Vec::new();
    for url in &urls {
        endpoints.push(customers.add(url, ""));
        // One that is no secret, for it is too short a one with another beside it.
        endpoints.push(customers.add(url, "wrong"));
    }
    for &id in &endpoints {
        let wrong = format!("whsec_4711470815-{}", STANDARD.encode(BYTES));
        customers.change(id, |customer| match &*customer.group {
            "wrong" => customer.secrets = vec![secret(), wrong],
            _ => customer.secrets = vec![secret()],
        });
    }
    let webhooks = customers.webhooks(&lab).allow("127.0.0.0/8".parse().unwrap());
    let webhooks = webhooks.timeout(Duration::from_secs(2));
    said_at_once(&webhooks, &customers).await;

    let worker = lab.worker().state(webhooks).queue("webhooks", 50).start().await.unwrap();
    let event = Event::new("order.paid", &7).unwrap();
    for id in &endpoints {
        event.to(id).options().max_attempts(1).enqueue(lab.pool()).await.unwrap();
    }
    lab.until("count(*) = 1 and bool_and(waits_since is not null) from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(receiver.at("/ok").len(), 2, "with one secret, at once and as a job");
    assert!(receiver.at("/ok").iter().all(|seen| seen.verifies(&secret())));
    assert_eq!(
        lab.count("jobkit.dead_letters").await,
        21,
        "not those of /ok and /gone, nor one that waits"
    );

    // Before the look at the database, whose statements are logged as well.
    let log = log.text();
    assert!(log.contains("jobkit"), "the log was not kept");
    for canary in canaries() {
        assert!(!log.contains(&canary), "{canary} was logged");
    }
    assert_eq!(shown(&lab).await, Vec::<String>::new());
}

/// What a test delivery returns, and what is printed of what knows secrets.
async fn said_at_once(webhooks: &Webhooks, customers: &Customers) {
    let mut said = format!("{webhooks:?}");
    for customer in customers.all() {
        let endpoint = customer.endpoint();
        let answer = webhooks.test_delivery(&endpoint, &Event::new("test", &()).unwrap()).await;
        let spelt = match &answer {
            Ok(answer) => answer.to_string(),
            Err(failure) => failure.to_string(),
        };
        said = format!("{said}\n{endpoint:?}\n{answer:?}\n{spelt}");
    }
    for canary in canaries() {
        assert!(!said.contains(&canary), "{canary} in {said}");
    }
}
