//! The connections of an operator: a few, kept from call to call, and none in an unclear state.

use std::time::Duration;

use jobkit::admin::AdminError;
use jobkit::admin::audit::AuditFilter;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::limits::Change;
use jobkit::admin::operations::BulkAction;
use jobkit::error::{DatabaseError, SchemaError};
use jobkit::{Admin, JobId};
use jobkit_tests::{Lab, Network, Proxy, wait};
use sqlx::postgres::PgPoolOptions;
use tokio::time::timeout;

use super::kit::Desk;

/// The sessions of the operator, the oldest first.
async fn sessions(lab: &Lab) -> Vec<i32> {
    lab.value(
        "select coalesce(array_agg(pid order by backend_start), '{}') from pg_stat_activity
        where datname = current_database() and application_name = 'jobkit admin'",
    )
    .await
}

/// Waits until so many sessions wait for a lock.
async fn until_waiting(lab: &Lab, number: usize) {
    lab.until(&format!(
        "count(*) = {number} from pg_stat_activity where datname = current_database()
            and application_name = 'jobkit admin' and wait_event_type = 'Lock'"
    ))
    .await;
}

#[tokio::test]
async fn calls_one_after_another_share_a_connection_whoever_makes_them() {
    let desk = Desk::without_worker().await;
    desk.admin.overview().await.unwrap();
    let first = sessions(&desk.lab).await;
    assert_eq!(first.len(), 1);
    desk.admin.acting_as("ada").queue("mail").pause("").await.unwrap();
    desk.admin.clone().queue("spam").pause("").await.unwrap();
    desk.admin.acting_as("bob").queue("mail").resume().await.unwrap();
    assert_eq!(sessions(&desk.lab).await, first);
    // What is prepared for one is there for the next; who asks is said with each call.
    let audit = desk.admin.audit(&AuditFilter::all(), None, 10).await.unwrap();
    let actors: Vec<_> = audit.entries.iter().map(|entry| entry.actor.as_deref()).collect();
    assert_eq!(actors, [Some("bob"), None, Some("ada")]);
}

#[tokio::test]
async fn calls_at_once_have_connections_of_their_own_of_which_four_are_kept() {
    let desk = Desk::without_worker().await;
    let mut other = desk.lab.session("other").await;
    other.run("begin; lock table jobkit.operations in access exclusive mode").await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let admin = desk.admin.clone();
        calls.spawn(async move { admin.operations(None, 10).await });
    }
    until_waiting(&desk.lab, 6).await;
    other.run("commit").await.unwrap();
    for answer in calls.join_all().await {
        answer.unwrap();
    }
    desk.lab
        .until(
            "count(*) = 4 from pg_stat_activity where datname = current_database()
                and application_name = 'jobkit admin'",
        )
        .await;
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_connection_along() {
    let desk = Desk::without_worker().await;
    desk.admin.operations(None, 10).await.unwrap();
    let first = sessions(&desk.lab).await;
    let mut other = desk.lab.session("other").await;
    other.run("begin; lock table jobkit.operations in access exclusive mode").await.unwrap();
    let call = desk.admin.clone();
    let call = tokio::spawn(async move { call.operations(None, 10).await });
    until_waiting(&desk.lab, 1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    desk.admin.kinds().await.unwrap();
    assert!(!sessions(&desk.lab).await.iter().all(|session| first.contains(session)));
    other.run("commit").await.unwrap();
    let gone = format!("not exists (select from pg_stat_activity where pid = {})", first[0]);
    desk.lab.until(&gone).await;
    desk.admin.operations(None, 10).await.unwrap();
}

#[tokio::test]
async fn a_call_that_fails_takes_its_connection_along() {
    let desk = Desk::without_worker().await;
    desk.admin.operations(None, 10).await.unwrap();
    let first = sessions(&desk.lab).await;
    desk.lab.run("alter table jobkit.operations rename to other").await;
    let failed = desk.admin.operations(None, 10).await;
    assert!(
        matches!(failed, Err(AdminError::Database(DatabaseError::Schema(SchemaError::Missing)))),
        "{failed:?}"
    );
    desk.lab.run("alter table jobkit.other rename to operations").await;
    let gone = format!("not exists (select from pg_stat_activity where pid = {})", first[0]);
    desk.lab.until(&gone).await;
    desk.admin.operations(None, 10).await.unwrap();
}

#[tokio::test]
async fn a_server_that_went_away_meanwhile_fails_no_call() {
    let desk = Desk::without_worker().await;
    let (list, job) = (JobQuery::default(), JobId(1));
    desk.admin.jobs(&list, None, 10).await.unwrap();
    desk.admin.job(job).cancel().await.unwrap();
    let before = sessions(&desk.lab).await;
    assert_eq!(before.len(), 1, "how one is planned is said with each call");
    desk.hang_up().await;
    desk.admin.jobs(&list, None, 10).await.unwrap();
    desk.admin.job(job).cancel().await.unwrap();
    assert!(sessions(&desk.lab).await.iter().all(|session| !before.contains(session)));
}

#[tokio::test]
async fn a_network_that_breaks_fails_what_is_under_way_and_nothing_later() {
    let lab = Lab::new().await;
    let proxy = Proxy::new(lab.url()).await.unwrap();
    let pool = PgPoolOptions::new().connect_lazy(proxy.url()).unwrap();
    let admin = Admin::new(&pool);
    admin.kinds().await.unwrap();
    proxy.set(Network::Breaks);
    assert!(matches!(
        admin.kinds().await,
        Err(AdminError::Database(DatabaseError::Unreachable(_)))
    ));
    proxy.set(Network::Passes);
    admin.kinds().await.unwrap();
    // Nothing comes back of what is kept, and of what is opened instead.
    proxy.set(Network::Stalls);
    let ask = admin.clone();
    let call = tokio::spawn(async move { ask.kinds().await });
    assert!(timeout(Duration::from_millis(300), admin.kinds()).await.is_err());
    proxy.set(Network::Breaks);
    assert!(matches!(
        call.await.unwrap(),
        Err(AdminError::Database(DatabaseError::Unreachable(_)))
    ));
    proxy.set(Network::Passes);
    admin.kinds().await.unwrap();
}

/// The server refuses a statement that was prepared when its answer had other types.
#[tokio::test]
async fn a_migration_meanwhile_fails_no_call() {
    let desk = Desk::without_worker().await;
    desk.admin.queue("mail").pause("").await.unwrap();
    desk.admin.queues().await.unwrap();
    desk.lab.run("alter table jobkit.limits alter pause_reason type varchar").await;
    let paused = desk.admin.queues().await.unwrap();
    assert_eq!(paused.len(), 1);
    desk.lab.run("alter table jobkit.limits alter pause_reason type text").await;
    desk.admin.queues().await.unwrap();
}

#[tokio::test]
async fn nothing_is_kept_longer_than_the_admin() {
    let desk = Desk::without_worker().await;
    let admin = Admin::new(desk.lab.pool());
    let other = admin.acting_as("ada");
    admin.overview().await.unwrap();
    drop(admin);
    assert_eq!(sessions(&desk.lab).await.len(), 1);
    drop(other);
    let gone = async || sessions(&desk.lab).await.is_empty();
    wait(Duration::from_secs(10), "no session is left", gone).await;
}

#[tokio::test]
async fn where_nothing_can_be_written_there_is_something_to_see() {
    let desk = Desk::new().await;
    let job = desk.pay("a").await;
    let name: String = desk.lab.value("select current_database()").await;
    let reads = format!("alter database {name} set default_transaction_read_only");
    desk.lab.run(&format!("{reads} = on")).await;
    desk.admin.overview().await.unwrap();
    desk.admin.doctor().await.unwrap();
    desk.admin.job(job).explain().await.unwrap().unwrap();
    assert_eq!(desk.admin.jobs(&JobQuery::default(), None, 10).await.unwrap().jobs.len(), 1);
    let all = BulkAction::Cancel(JobQuery::default());
    for refused in [
        desk.admin.job(job).cancel().await.map(drop),
        desk.admin.begin_operation(&all, "", "once").await.map(drop),
        desk.admin.acting_as("ada").queue("default").pause("").await.map(drop),
        desk.admin.group("pay").set(&Change::new().running(2)).await.map(drop),
    ] {
        assert!(
            matches!(refused, Err(AdminError::Database(DatabaseError::ReadOnly))),
            "{refused:?}"
        );
    }
    desk.lab.run(&format!("{reads} = off")).await;
    desk.hang_up().await;
    desk.admin.acting_as("ada").queue("default").pause("").await.unwrap();
}
