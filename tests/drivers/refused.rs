use jobkit::Enqueue;
use jobkit::enqueue::EnqueueError;
use jobkit::error::{DatabaseError, InvalidValue, SchemaError};
use jobkit_tests::{Lab, Network, Proxy};

use crate::{Driver, for_every_driver, receipt};

for_every_driver![
    a_database_without_the_schema_is_told,
    a_schema_that_does_not_fit_is_told,
    a_server_that_only_reads_is_told,
    a_lost_connection_is_told,
    a_refusal_keeps_the_words_of_the_server,
    a_job_that_does_not_fit_leaves_the_transaction_alone,
];

/// What one job and what many jobs meet.
async fn both<D: Driver>(driver: &mut D) -> [EnqueueError; 2] {
    let one = driver.enqueue(receipt(1).options()).await.unwrap_err();
    let many = driver.enqueue_all(vec![receipt(1).options(); 2]).await.unwrap_err();
    [one, many]
}

async fn a_database_without_the_schema_is_told<D: Driver>() {
    let lab = Lab::empty().await;
    let mut driver = D::to(lab.url()).await;
    for error in both(&mut driver).await {
        assert!(
            matches!(error, EnqueueError::Database(DatabaseError::Schema(SchemaError::Missing))),
            "{error:?}"
        );
    }
}

async fn a_schema_that_does_not_fit_is_told<D: Driver>() {
    let lab = Lab::new().await;
    lab.run("drop function jobkit.enqueue_form_1").await;
    let mut driver = D::to(lab.url()).await;
    for error in both(&mut driver).await {
        assert!(
            matches!(error, EnqueueError::Database(DatabaseError::Schema(SchemaError::Unfit))),
            "{error:?}"
        );
    }
}

async fn a_server_that_only_reads_is_told<D: Driver>() {
    let lab = Lab::new().await;
    let settings = "do $$ begin execute format('alter database %I set
        default_transaction_read_only = on', current_database()); end $$";
    lab.run(settings).await;
    let mut driver = D::to(lab.url()).await;
    for error in both(&mut driver).await {
        assert!(matches!(error, EnqueueError::Database(DatabaseError::ReadOnly)), "{error:?}");
    }
}

async fn a_lost_connection_is_told<D: Driver>() {
    let lab = Lab::new().await;
    let proxy = Proxy::new(lab.url()).await.unwrap();
    let mut driver = D::to(proxy.url()).await;
    driver.enqueue(receipt(1).options()).await.unwrap();
    proxy.set(Network::Breaks);
    let error = driver.enqueue(receipt(2).options()).await.unwrap_err();
    assert!(matches!(error, EnqueueError::Database(DatabaseError::Unreachable(_))), "{error:?}");
}

async fn a_refusal_keeps_the_words_of_the_server<D: Driver>() {
    let lab = Lab::new().await;
    lab.run(
        "create function refuse() returns trigger language plpgsql as $$ begin
            raise exception 'not on a Sunday' using errcode = 'ZZ007'; end $$;
        create trigger refuse before insert on jobkit.jobs for each row
            execute function refuse()",
    )
    .await;
    let mut driver = D::to(lab.url()).await;
    for error in both(&mut driver).await {
        assert!(matches!(error, EnqueueError::Database(DatabaseError::Failed(_))), "{error:?}");
        assert_eq!(error.to_string(), "database error: not on a Sunday");
    }
}

async fn a_job_that_does_not_fit_leaves_the_transaction_alone<D: Driver>() {
    let lab = Lab::new().await;
    let mut driver = D::to(lab.url()).await;
    let error = driver.enqueue(receipt(1).options().priority(9)).await.unwrap_err();
    assert!(
        matches!(error, EnqueueError::Invalid(InvalidValue::Range { what: "priority", .. })),
        "{error:?}"
    );
    let mut large = receipt(1);
    large.customer = "x".repeat(2 * 1024 * 1024);
    let error = driver.enqueue_all(vec![large.options()]).await.unwrap_err();
    assert!(
        matches!(
            error,
            EnqueueError::PayloadTooLarge { .. }
                | EnqueueError::Invalid(InvalidValue::Length { .. })
        ),
        "{error:?}"
    );
    driver.enqueue(receipt(1).options()).await.unwrap();
}
