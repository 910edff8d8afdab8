use jobkit_tests::Lab;

use crate::{Driver, for_every_driver};

for_every_driver![jobs_commit_with_their_transactions, many_jobs_come_in_their_order];

pub(super) async fn lab() -> Lab {
    let lab = Lab::guarded().await;
    lab.run("create table orders (id bigint primary key)").await;
    lab
}

async fn jobs_commit_with_their_transactions<D: Driver>() {
    let lab = lab().await;
    let mut driver = D::to(lab.url()).await;
    for order in 0..1000 {
        driver.order(order, false).await;
    }
    for table in ["orders", "jobkit.jobs", "jobkit.ready"] {
        assert_eq!(lab.count(table).await, 0, "{table}");
    }
    let mut ids = Vec::new();
    for order in 0..1000 {
        ids.push(driver.order(order, true).await);
    }
    for table in ["orders", "jobkit.jobs", "jobkit.ready"] {
        assert_eq!(lab.count(table).await, 1000, "{table}");
    }
    let ids: Vec<i64> = ids.into_iter().map(|id| id.0).collect();
    let stored: Vec<i64> = lab.value("select array_agg(id order by id) from jobkit.jobs").await;
    assert_eq!(ids, stored);
    lab.check_invariants().await;
}

async fn many_jobs_come_in_their_order<D: Driver>() {
    use jobkit::Enqueue;
    let lab = lab().await;
    let mut driver = D::to(lab.url()).await;
    assert!(driver.enqueue_all(Vec::new()).await.unwrap().is_empty());
    let jobs = (0..1000).map(|order| crate::receipt(order).options()).collect();
    let ids = driver.enqueue_all(jobs).await.unwrap();
    let stored: Vec<i64> =
        lab.value("select array_agg(id order by (args ->> 'order')::int) from jobkit.jobs").await;
    assert_eq!(ids.into_iter().map(|id| id.0).collect::<Vec<_>>(), stored);
    assert_eq!(stored.len(), 1000);
    lab.check_invariants().await;
}
