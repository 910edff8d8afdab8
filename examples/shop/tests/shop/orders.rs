use jobkit::testing::{assert_enqueued, refute_enqueued};
use shop::jobs::{ChargeCard, DeliverWebhook};
use shop::orders::{NewOrder, place};
use shop::partners::Partners;
use tokio::net::TcpListener;

use crate::stage::{answer, open};

#[tokio::test]
async fn an_order_and_its_jobs_are_there_or_none_of_them() -> anyhow::Result<()> {
    let (_lab, shop) = open(Partners::default()).await?;
    let [email, sku, card] = ["ada@example.com", "sku-1", "tok"].map(str::to_owned);
    let mut tx = shop.pool.begin().await?;
    sqlx::raw_sql("insert into endpoints (url) values ('a')").execute(&mut *tx).await?;
    place(NewOrder { email, sku, cents: 900, card }, &mut tx).await?;
    assert_enqueued::<ChargeCard>(&mut *tx, |_| true).await;
    assert_enqueued::<DeliverWebhook>(&mut *tx, |_| true).await;
    tx.rollback().await?;
    refute_enqueued::<ChargeCard>(&shop.pool, |_| true).await;
    Ok(())
}

#[tokio::test]
async fn each_role_may_what_it_may() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners::default()).await?;
    jobkit::announce(&shop.pool).await?; // what no binary has announced is shown to nobody
    let [support, developer] = ["('s', 'Sue', 'support')", "('d', 'Dan', 'developer')"];
    let others = "('o', 'Oz', 'owner'), ('x', 'Xi', 'intern')";
    lab.run(&format!("insert into sessions values {support}, {developer}, {others}")).await;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let routes = shop::web::routes(shop.pool.clone(), std::future::pending());
    tokio::spawn(axum::serve(listener, routes).into_future());

    assert!(answer(server, ("GET /healthz", "", "")).await?.starts_with("200"));
    let order = |cents: i64| {
        format!(r#"{{"email": "a@b.c", "sku": "1", "cents": {cents}, "card": "tok_secret"}}"#)
    };
    assert!(answer(server, ("POST /orders", "", &order(0))).await?.starts_with("422"));
    assert!(answer(server, ("POST /orders", "", &order(900))).await?.starts_with("201"));
    let job: i64 = lab.value("select id from jobkit.jobs").await;
    let look = format!("GET /jobs/jobs/{job}");
    for (session, status) in [("", "401 "), ("forged", "401 "), ("x", "403 ")] {
        assert!(answer(server, (&look, session, "")).await?.starts_with(status), "{session}");
    }
    // With each role: whether the payload shows, and the redacted value in it.
    for (session, payload, card) in [("s", false, false), ("d", true, false), ("o", true, true)] {
        let page = answer(server, (&look, session, "")).await?;
        assert!(page.starts_with("200 "), "{session}: {page}");
        let seen = (page.contains("&#34;order&#34;: 1"), page.contains("tok_secret"));
        assert_eq!(seen, (payload, card), "{session}: {page}");
    }
    let cancel = format!("POST /jobs/api/v1/jobs/{job}/cancel");
    let refused = answer(server, (&cancel, "s", "{}")).await?;
    assert!(refused.starts_with("404 "), "{refused}");
    assert_eq!(lab.count("jobkit.jobs").await, 1);
    assert!(answer(server, (&cancel, "d", "{}")).await?.starts_with("200"));
    assert_eq!(lab.value::<String>("select actor from jobkit.audit").await, "Dan");
    Ok(())
}
