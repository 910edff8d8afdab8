//! Two-phase commit: a transaction that enqueues, and is prepared.

use jobkit::{Enqueue, Registration};
use jobkit_tests::{Lab, Session};
use private_postgres::Cluster;

use crate::jobs::Noop;

/// The three ways to enqueue, which differ in how they notify.
async fn enqueue(session: &mut Session, way: &str) {
    let executor = &mut session.connection;
    match way {
        "one" => drop(Noop.enqueue(executor).await.unwrap()),
        "many" => drop(jobkit::enqueue_all([Noop, Noop], executor).await.unwrap()),
        _ => session.run("select jobkit.enqueue('noop', 'null')").await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_notifies_nobody_can_be_prepared() {
    let settings = &[("max_prepared_transactions", "2")];
    let settings = move || Cluster::throwaway(settings).unwrap();
    let cluster = tokio::task::spawn_blocking(settings).await.unwrap();
    let lab = Lab::at(cluster.url()).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    let worker = lab.worker().jobs([Registration::of::<Noop, _>()]).queue("default", 1);
    let worker = worker.start().await.unwrap();
    let mut session = lab.session("two-phase").await;
    for way in ["one", "many", "sql"] {
        lab.until("exists (select from jobkit.sleepers where until > clock_timestamp())").await;
        session.run("begin").await.unwrap();
        enqueue(&mut session, way).await;
        let refused = session.run("prepare transaction 'x'").await.unwrap_err();
        let code = refused.as_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(code, "0A000", "{way}: {refused}");

        session.run("begin; set local jobkit.notify = 'off'").await.unwrap();
        enqueue(&mut session, way).await;
        session.run("prepare transaction 'x'").await.unwrap();
        session.run("commit prepared 'x'").await.unwrap();
        assert_eq!(lab.value::<i64>("select count(*) from pg_prepared_xacts").await, 0);
        lab.until("not exists (select from jobkit.jobs)").await;
    }
    worker.stop().await;
}
