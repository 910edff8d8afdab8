//! Dashboards with something of everything in them, for the tests that drive a browser.
//!
//! Serves one for each mount it is given (`/`, `/jobs`, `/a/b`, or `proxied` for one behind a proxy
//! that takes `/x` away), on loopback, and prints the address of each. All show the same database.
//! Lines on its standard input enqueue jobs (`archive`, `receipt`) or stop the workers (`halt`);
//! its end ends this process.

#[path = "browser/scene.rs"]
mod scene;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{OriginalUri, Request};
use axum::http::{StatusCode, Uri};
use axum::routing::get_service;
use jobkit::{Admin, Enqueue, WorkerHandle};
use jobkit_admin::{Accent, Access, Dashboard, Decided, Permissions};
use jobkit_tests::Lab;
use tokio::net::TcpListener;
use tower::util::MapRequestLayer;

use crate::scene::{ArchiveOrder, SendReceipt};

fn dashboard(admin: Admin) -> Dashboard<Decided> {
    let access = |_| async { Ok::<_, StatusCode>(Access::new("alice", Permissions::admin())) };
    Dashboard::new(admin).instance("staging").accent(Accent::Amber).access(access)
}

/// What a proxy passes on has lost the prefix, and the process has never heard of it.
fn behind_a_proxy(admin: Admin) -> Router {
    let strip = MapRequestLayer::new(|mut request: Request| {
        let whole = request.uri().path_and_query().map_or("/", |whole| whole.as_str());
        let rest = whole.strip_prefix("/x").unwrap_or("/outside");
        let rest = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
        if let Ok(rest) = rest.parse::<Uri>() {
            *request.uri_mut() = rest;
        }
        request.extensions_mut().remove::<OriginalUri>();
        request
    });
    let inner = dashboard(admin).base_path("/x").into_router();
    let service = tower::Layer::layer(&strip, inner);
    Router::new().fallback_service(get_service(service.clone()).post_service(service))
}

/// Serves one dashboard for as long as the process lives, and says where.
async fn serve(mount: &str, lab: &Lab) -> Result<String> {
    let admin = Admin::new(lab.pool());
    let (app, path) = match mount {
        "/" => (dashboard(admin).into_router(), ""),
        "proxied" => (behind_a_proxy(admin), "/x"),
        path => (Router::new().nest_service(path, dashboard(admin).into_router()), path),
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(format!("http://{address}{path}"))
}

async fn obey(lab: &Lab, workers: &mut Vec<WorkerHandle>, order: &str) -> Result<()> {
    match order {
        "archive" => drop(ArchiveOrder { order_id: 4711 }.enqueue(lab.pool()).await?),
        "receipt" => {
            let receipt = SendReceipt { order_id: 4712, to: "last@example.com".to_owned() };
            receipt.enqueue(lab.pool()).await?;
        }
        "halt" => {
            for worker in workers.drain(..) {
                worker.stop().await;
            }
        }
        _ => anyhow::bail!("nobody knows how to {order}"),
    }
    println!("done {order}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let lab = Lab::new().await;
    let mut workers = scene::set(&lab).await.context("the scene cannot be set")?;
    for mount in std::env::args().skip(1) {
        println!("{mount} {}", serve(&mount, &lab).await?);
    }
    println!("ready");
    let (said, mut orders) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let _gone = said.send(line);
        }
    });
    while let Some(order) = orders.recv().await {
        obey(&lab, &mut workers, &order).await?;
    }
    Ok(())
}
