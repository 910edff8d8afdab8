use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use jobkit::Enqueue;
use jobkit::enqueue::Pending;
use jobkit_tests::Lab;

use crate::{Driver, Paid, SendReceipt, for_every_driver, receipt, with_options};

for_every_driver![
    what_is_stored_is_the_same,
    what_is_published_is_a_job_of_each_subscriber,
    a_job_wakes_who_sleeps,
];

/// Everything of a job but its id and the time of its enqueue, and where it waits.
const STORED: &str = "
    select array_agg(jsonb_build_object(
        'job', to_jsonb(j) - '{id, args, created_at, run_at}'::text[], 'args', j.args::text,
        'run_at', case when is_far then j.run_at end,
        'delay', case when not is_far then extract(epoch from j.run_at - j.created_at)::text end,
        'ready', to_jsonb(r) - 'job_id', 'scheduled', s.run_at = j.run_at)::text order by j.id)
    from jobkit.jobs j
    cross join lateral (select abs(extract(epoch from j.run_at - now())) > 86400 * 300 is_far) f
    left join jobkit.ready r on r.job_id = j.id
    left join jobkit.scheduled s on s.job_id = j.id";

fn jobs(far: DateTime<Utc>) -> Vec<Pending<SendReceipt>> {
    vec![
        receipt(1).options(),
        with_options(2, "Ада"),
        receipt(3).options().after(Duration::from_micros(90_061_000_001)),
        with_options(4, "Ada").after(Duration::from_secs(1)),
        receipt(5).options().at(far),
        receipt(6).options().at(DateTime::UNIX_EPOCH).tags(["due"]),
    ]
}

async fn what_is_stored_is_the_same<D: Driver>() {
    let far = Utc::now() + TimeDelta::days(400);
    let (own, others) = (Lab::guarded().await, Lab::guarded().await);
    // Whatever the session is set to: texts are read alike.
    let settings = "do $$
        declare v_setting text;
        begin
            foreach v_setting in array array['datestyle = ''SQL, DMY''', 'search_path = ''''',
                'intervalstyle = sql_standard', 'timezone = ''Asia/Kathmandu''']
            loop
                execute format('alter database %I set ', current_database()) || v_setting;
            end loop;
        end $$";
    others.run(settings).await;
    let mut driver = D::to(others.url()).await;
    for job in jobs(far) {
        job.enqueue(own.pool()).await.unwrap();
    }
    jobkit::enqueue_all(jobs(far), own.pool()).await.unwrap();
    for job in jobs(far) {
        driver.enqueue(job).await.unwrap();
    }
    driver.enqueue_all(jobs(far)).await.unwrap();
    let own_session = async |lab: &Lab| {
        let mut session = lab.session("looks").await;
        let reset = "set timezone = 'UTC'; set datestyle = 'ISO'";
        sqlx::raw_sql(reset).execute(&mut session.connection).await.unwrap();
        let rows = sqlx::query_scalar::<_, Vec<String>>(STORED);
        rows.fetch_one(&mut session.connection).await.unwrap()
    };
    let (own, others) = (own_session(&own).await, own_session(&others).await);
    assert_eq!(own.len(), 12);
    for (own, other) in own.iter().zip(&others) {
        assert_eq!(own, other);
    }
}

async fn what_is_published_is_a_job_of_each_subscriber<D: Driver>() {
    let lab = Lab::guarded().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
            values ('a', 'mail', 0, 1), ('b', 'stock', 0, 1);
        insert into jobkit.subscriptions (topic, kind)
            values ('order.paid', 'a'), ('order.paid', 'b')",
    )
    .await;
    let mut driver = D::to(lab.url()).await;
    let ids = driver.publish(Paid { order: 7 }).await.unwrap();
    let stored: Vec<(i64, String)> =
        sqlx::query_as("select id, kind || args::text from jobkit.jobs order by kind")
            .fetch_all(lab.direct())
            .await
            .unwrap();
    let expected =
        ids.iter().zip(["a", "b"]).map(|(id, kind)| (id.0, format!("{kind}{{\"order\":7}}")));
    assert_eq!(stored, expected.collect::<Vec<_>>());
    lab.run("delete from jobkit.subscriptions").await;
    assert!(driver.publish(Paid { order: 8 }).await.unwrap().is_empty());
}

async fn a_job_wakes_who_sleeps<D: Driver>() {
    let lab = Lab::guarded().await;
    let mut driver = D::to(lab.url()).await;
    let sleeper = "insert into jobkit.sleepers (worker_id, queues, until)
        values (1, '{mail}', now() + interval '1 minute')";
    lab.run(sleeper).await;
    let mut listener = sqlx::postgres::PgListener::connect(lab.url()).await.unwrap();
    listener.listen("jobkit").await.unwrap();
    driver.enqueue(receipt(1).options()).await.unwrap();
    let news = tokio::time::timeout(Duration::from_secs(30), listener.recv()).await;
    assert_eq!(news.expect("a notification arrives").unwrap().channel(), "jobkit");
}
