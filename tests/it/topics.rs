//! What is published becomes a job of each kind that subscribes.

use std::sync::atomic::{AtomicI64, Ordering};

use jobkit::admin::Admin;
use jobkit::admin::audit::AuditFilter;
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::limits::Change;
use jobkit::enqueue::{EnqueueError, Statement, Topic};
use jobkit::error::InvalidValue;
use jobkit::{Enqueue, Job, JobContext, JobError, JobId, JobType, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize, Clone)]
struct Paid {
    order: i64,
    card: String,
}

impl Topic for Paid {
    const NAME: &'static str = "order.paid";
    const REDACT: &'static [&'static str] = &["card"];
}

fn paid(order: i64) -> Paid {
    Paid { order, card: "4242".to_owned() }
}

/// As its first release had it, and those who publish from there still do.
#[derive(Serialize, Deserialize)]
struct ShippedOnce {
    parcel: i64,
}

impl Topic for ShippedOnce {
    const NAME: &'static str = "order.shipped";
}

#[derive(Serialize, Deserialize)]
struct Shipped {
    parcels: Vec<i64>,
}

impl Topic for Shipped {
    const NAME: &'static str = "order.shipped";
    const VERSION: u16 = 2;
}

#[derive(Serialize, Deserialize)]
#[job(subscribes, queue = "mail", priority = -1, max_attempts = 3, retention = "1h")]
struct TopicReceipt(Paid);

impl Job for TopicReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// The odd order of which the goods have arrived.
static ARRIVED: AtomicI64 = AtomicI64::new(0);

/// Fails with odd orders.
#[derive(Serialize, Deserialize)]
#[job(subscribes, queue = "stock", max_attempts = 1, retention = "1h")]
struct TopicStock(Paid);

impl Job for TopicStock {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        let there = self.0.order % 2 == 0 || self.0.order == ARRIVED.load(Ordering::SeqCst);
        if there { Ok(()) } else { Err(JobError::dead("no such thing in stock")) }
    }
}

#[derive(Serialize, Deserialize)]
#[job(subscribes, upcast(1 = Self::from_once), retention = "1h")]
struct TopicTracking(Shipped);

impl TopicTracking {
    fn from_once(old: ShippedOnce) -> Self {
        Self(Shipped { parcels: vec![old.parcel] })
    }
}

impl Job for TopicTracking {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        assert!(!self.0.parcels.is_empty());
        Ok(())
    }
}

/// A worker with these kinds, as a binary has them that knows no others.
async fn start(lab: &Lab, kinds: &[&str]) -> WorkerHandle {
    let all = [
        Registration::of::<TopicReceipt, _>(),
        Registration::of::<TopicStock, _>(),
        Registration::of::<TopicTracking, _>(),
    ];
    let known = all.into_iter().filter(|job| kinds.contains(&job.policy().kind));
    let worker = lab.worker().jobs(known);
    worker.queue("mail", 2).queue("stock", 2).queue("default", 2).start().await.unwrap()
}

async fn announced(kinds: &[&str]) -> Lab {
    let lab = Lab::guarded().await;
    start(&lab, kinds).await.stop().await;
    lab
}

const BOTH: [&str; 2] = ["topic_receipt", "topic_stock"];

/// The jobs there are, each as `kind queue priority max_attempts version`.
async fn stored(lab: &Lab) -> Vec<String> {
    let sql = "select concat_ws(' ', kind, queue, priority, max_attempts, version)
        from jobkit.jobs order by id";
    sqlx::query_scalar(sql).fetch_all(lab.pool()).await.unwrap()
}

#[tokio::test]
async fn each_subscriber_gets_one_job_with_the_same_payload() {
    let lab = announced(&BOTH).await;
    let ids = paid(7).publish(lab.pool()).await.unwrap();
    assert_eq!(stored(&lab).await, ["topic_receipt mail -1 3", "topic_stock stock 0 1"]);
    let all = "select array_agg(id order by id) from jobkit.jobs";
    assert_eq!(ids, lab.value::<Vec<i64>>(all).await.into_iter().map(JobId).collect::<Vec<_>>());
    let args = "select string_agg(distinct args::text, '') from jobkit.jobs";
    assert_eq!(lab.value::<String>(args).await, r#"{"order":7,"card":"4242"}"#);
    // What is enqueued by its type is stored alike, and told apart by its terms.
    TopicReceipt(paid(7)).enqueue(lab.pool()).await.unwrap();
    let topics = "select string_agg(coalesce(terms::text, '-'), ' ' order by id) from jobkit.jobs
        where kind = 'topic_receipt' having count(distinct args::text) = 1";
    assert_eq!(lab.value::<String>(topics).await, r#"{"topic": "order.paid"} -"#);
    lab.check_invariants().await;
    let worker = start(&lab, &BOTH).await;
    lab.until("(select count(*) from jobkit.finished) = 2").await;
    lab.until("(select count(*) from jobkit.dead_letters) = 1").await;
    worker.stop().await;
}

#[tokio::test]
async fn a_rolled_back_transaction_publishes_nothing() {
    let lab = announced(&BOTH).await;
    for level in ["read committed", "repeatable read", "serializable"] {
        let begin = format!("begin isolation level {level}");
        for (end, jobs) in [("rollback", 0), ("commit", 4)] {
            lab.run("delete from jobkit.jobs; delete from jobkit.ready").await;
            let mut connection = lab.pool().acquire().await.unwrap();
            let run = |sql: String| sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
            run(begin.clone()).execute(&mut *connection).await.unwrap();
            assert_eq!(paid(1).publish(&mut *connection).await.unwrap().len(), 2);
            let sql = r#"select jobkit.publish('order.paid', '{"order": 2, "card": "1"}')"#;
            run(sql.to_owned()).execute(&mut *connection).await.unwrap();
            run(end.to_owned()).execute(&mut *connection).await.unwrap();
            assert_eq!(lab.count("jobkit.jobs").await, jobs, "{level} {end}");
            assert_eq!(lab.count("jobkit.ready").await, jobs, "{level} {end}");
        }
    }
    lab.check_invariants().await;
}

/// A subscriber that is slow holds up neither the publisher nor the other subscribers.
#[tokio::test]
async fn a_full_queue_refuses_no_publish() {
    let lab = announced(&BOTH).await;
    let _ = Admin::new(lab.pool()).queue("mail").set(&Change::new().waiting(1)).await.unwrap();
    TopicReceipt(paid(1)).enqueue(lab.pool()).await.unwrap();
    lab.run("select jobkit.look_at_bounds('mail')").await;
    let refused = TopicReceipt(paid(2)).enqueue(lab.pool()).await;
    assert!(matches!(refused, Err(EnqueueError::QueueFull(_))), "{refused:?}");
    let mut tx = lab.pool().begin().await.unwrap();
    assert_eq!(paid(3).publish(&mut *tx).await.unwrap().len(), 2);
    tx.commit().await.unwrap();
    lab.run(r#"select jobkit.publish('order.paid', '{"order": 4, "card": "1"}')"#).await;
    let both = ["topic_receipt mail -1 3", "topic_stock stock 0 1"];
    assert_eq!(stored(&lab).await, [&both[..1], &both, &both].concat());
    // It was full all the while.
    let refused = TopicReceipt(paid(5)).enqueue(lab.pool()).await;
    assert!(matches!(refused, Err(EnqueueError::QueueFull(_))), "{refused:?}");
    lab.check_invariants().await;
}

#[tokio::test]
async fn where_nobody_subscribes_nothing_is_stored_and_nothing_fails() {
    let lab = Lab::guarded().await;
    assert!(paid(1).publish(lab.pool()).await.unwrap().is_empty());
    lab.run("select jobkit.publish('no such topic')").await;
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    // These kinds are linked here all the time; it takes a start to subscribe.
    start(&lab, &BOTH).await.stop().await;
    assert_eq!(paid(1).publish(lab.pool()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn two_versions_of_a_fleet_delete_nothing_and_double_nothing() {
    let lab = announced(&["topic_receipt"]).await;
    for kinds in [&BOTH[..], &["topic_receipt"], &["topic_stock"], &BOTH, &["topic_tracking"]] {
        start(&lab, kinds).await.stop().await;
    }
    let subscribers = paid(2).publish(lab.pool()).await.unwrap();
    assert_eq!(subscribers.len(), 2);
    // What subscribes no more is a subscriber until an operator says otherwise.
    assert_eq!(lab.count("jobkit.subscriptions").await, 3);
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_renamed_kind_takes_over_its_subscription() {
    let lab = announced(&BOTH).await;
    let renamed = "select jobkit.announce_subscriptions(
        '{order.paid,order.paid}', '{new_receipt,new_receipt}', '{topic_receipt,null}')";
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('new_receipt', 'mail', 0, 3)",
    )
    .await;
    for (announcement, kinds) in
        [(Some(renamed), "new_receipt topic_stock"), (None, "topic_receipt topic_stock")]
    {
        if let Some(announcement) = announcement {
            lab.run(announcement).await;
        } else {
            // As where a worker from before the rename starts again.
            start(&lab, &BOTH).await.stop().await;
        }
        let kinds_now = "select string_agg(kind, ' ' order by kind) from jobkit.subscriptions";
        assert_eq!(lab.value::<String>(kinds_now).await, kinds);
        assert_eq!(paid(2).publish(lab.pool()).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_replay_hits_only_the_subscriber_that_failed() {
    let lab = announced(&BOTH).await;
    paid(1).publish(lab.pool()).await.unwrap();
    let worker = start(&lab, &BOTH).await;
    lab.until("exists (select from jobkit.dead_letters)").await;
    lab.until("exists (select from jobkit.finished)").await;
    let admin = Admin::new(lab.pool()).acting_as("ada");
    let dead = admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap().entries;
    let [dead] = &dead[..] else { panic!("{dead:?}") };
    assert_eq!(dead.kind, "topic_stock");
    // It outlives the subscription.
    assert!(admin.topic("order.paid").unsubscribe("topic_stock").await.unwrap());
    ARRIVED.store(1, Ordering::SeqCst);
    let job = admin.dead_letter(dead.id).replay().await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 2").await;
    worker.stop().await;
    let ended = "select kind, job_id, terms ->> 'topic' from jobkit.finished
        order by job_id";
    let ended: Vec<(String, i64, String)> =
        sqlx::query_as(ended).fetch_all(lab.pool()).await.unwrap();
    let kinds: Vec<_> = ended.iter().map(|(kind, ..)| &**kind).collect();
    assert_eq!((kinds, ended[1].1), (BOTH.to_vec(), job.0));
    assert!(ended.iter().all(|(.., topic)| topic == "order.paid"), "{ended:?}");
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    lab.check_invariants().await;
}

#[tokio::test]
async fn who_unsubscribes_gets_nothing_until_it_is_announced_again() {
    let lab = announced(&BOTH).await;
    let admin = Admin::new(lab.pool()).acting_as("ada");
    let topics = admin.topics().await.unwrap();
    let [topic] = &topics[..] else { panic!("{topics:?}") };
    let kinds: Vec<_> = topic.subscribers.iter().map(|s| (&*s.kind, s.workers)).collect();
    assert_eq!((&*topic.topic, kinds), ("order.paid", vec![(BOTH[0], 0), (BOTH[1], 0)]));

    assert!(admin.topic("order.paid").unsubscribe("topic_stock").await.unwrap());
    for (topic, kind) in [("order.paid", "topic_stock"), ("x", "topic_receipt")] {
        assert!(!admin.topic(topic).unsubscribe(kind).await.unwrap(), "{topic} {kind}");
    }
    let ids = paid(1).publish(lab.pool()).await.unwrap();
    assert_eq!((ids.len(), stored(&lab).await), (1, vec!["topic_receipt mail -1 3".to_owned()]));
    let noted = admin.audit(&AuditFilter::all().subject("topic"), None, 10).await.unwrap().entries;
    let [entry] = &noted[..] else { panic!("{noted:?}") };
    let said = (entry.actor.as_deref(), &*entry.action, entry.subject_name.as_deref());
    assert_eq!(said, (Some("ada"), "unsubscribe", Some("order.paid")));
    assert_eq!(entry.detail, json!({"kind": "topic_stock"}));

    let worker = start(&lab, &BOTH).await;
    let topics = admin.topics().await.unwrap();
    let workers: Vec<_> = topics[0].subscribers.iter().map(|s| s.workers).collect();
    assert_eq!(workers, [1, 1]);
    worker.stop().await;
}

#[tokio::test]
async fn a_version_is_that_of_who_publishes() {
    let lab = announced(&["topic_tracking"]).await;
    ShippedOnce { parcel: 1 }.publish(lab.pool()).await.unwrap();
    Shipped { parcels: vec![1, 2] }.publish(lab.pool()).await.unwrap();
    lab.run(r#"select jobkit.publish('order.shipped', '{"parcels": [3]}', 2)"#).await;
    lab.run(r#"select jobkit.publish('order.shipped', '{"boxes": [3]}', p_version => 3)"#).await;
    let one = "topic_tracking default 0 20";
    let versions = [one.to_owned(), format!("{one} 2"), format!("{one} 2"), format!("{one} 3")];
    assert_eq!(stored(&lab).await, versions);
    let worker = start(&lab, &["topic_tracking"]).await;
    lab.until("(select count(*) from jobkit.finished) = 3").await;
    worker.stop().await;
    // Nobody knows the third version yet.
    assert_eq!(lab.count("jobkit.ready where kind = 'topic_tracking@3'").await, 1);
    assert_eq!(lab.count("jobkit.attempts").await, 0);
}

#[tokio::test]
async fn what_a_topic_redacts_is_redacted_in_each_job() {
    let lab = announced(&BOTH).await;
    assert_eq!(TopicStock::POLICY.redact, ["card"]);
    let admin = Admin::new(lab.pool());
    for job in paid(1).publish(lab.pool()).await.unwrap() {
        let payload = admin.job(job).get().await.unwrap().unwrap().args;
        assert!(!payload.redacted().to_string().contains("4242"), "{payload:?}");
    }
}

#[tokio::test]
async fn sql_refuses_what_no_subscriber_could_read() {
    let lab = announced(&BOTH).await;
    let large = format!("jsonb_build_object('x', repeat('x', {}))", 1024 * 1024);
    for (call, state) in [
        ("jobkit.publish(null)", "JK008"),
        ("jobkit.publish('')", "JK008"),
        ("jobkit.publish(repeat('x', 129))", "JK008"),
        ("jobkit.publish('order.paid', null)", "JK008"),
        ("jobkit.publish('order.paid', '{}', 0)", "JK008"),
        ("jobkit.publish('order.paid', '{}', p_metadata => '[]')", "JK008"),
        (&format!("jobkit.publish('order.paid', {large})"), "JK005"),
    ] {
        let sql = format!("select {call}");
        let error = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(lab.pool()).await.unwrap_err();
        let code = error.as_database_error().and_then(|error| error.code());
        assert_eq!(code.as_deref(), Some(state), "{call}: {error}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    let said = r#"p_metadata => '{"who": "ada"}', p_terms => '{"expires": 60}'"#;
    lab.run(&format!("select jobkit.publish('order.paid', {said})")).await;
    let kept = "select string_agg(distinct metadata::text || terms::text, '') from jobkit.jobs";
    let both = r#"{"who": "ada"}{"topic": "order.paid", "expires": 60}"#;
    assert_eq!(lab.value::<String>(kept).await, both);
}

#[tokio::test]
async fn what_does_not_encode_is_refused_before_anything_is_sent() {
    #[derive(Serialize, Deserialize)]
    struct Text(String);
    impl Topic for Text {
        const NAME: &'static str = "text";
    }
    let lab = announced(&BOTH).await;
    let mut tx = lab.pool().begin().await.unwrap();
    let large = Text("x".repeat(1024 * 1024)).publish(&mut *tx).await.unwrap_err();
    assert!(matches!(large, EnqueueError::PayloadTooLarge { kind: "text", .. }), "{large:?}");
    let nul = Text("\0".to_owned()).publish(&mut *tx).await.unwrap_err();
    assert!(matches!(nul, EnqueueError::Invalid(InvalidValue::Nul { .. })), "{nul:?}");
    assert!(Statement::publish(&Text("\0".to_owned())).is_err());
    assert_eq!(paid(2).publish(&mut *tx).await.unwrap().len(), 2);
    tx.commit().await.unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 2);
}

/// What the attribute refuses is refused of a declaration by hand as well.
#[tokio::test]
async fn a_subscriber_with_a_key_does_not_start() {
    #[derive(Serialize, Deserialize)]
    struct ByHand;
    impl JobType for ByHand {
        type Output = ();
        const POLICY: jobkit::policy::Policy = jobkit::policy::Policy {
            topic: Some("order.paid"),
            coalesce: Some("by_hand"),
            ..jobkit::policy::Policy::new("topic_by_hand")
        };
    }
    impl Job for ByHand {
        async fn run(self, _cx: JobContext) -> jobkit::Result {
            Ok(())
        }
    }
    let lab = Lab::new().await;
    let worker = lab.worker().jobs([Registration::of::<ByHand, _>()]).queue("default", 1);
    let error = worker.start().await.unwrap_err().to_string();
    assert!(error.contains("`topic_by_hand` subscribes to `order.paid`"), "{error}");
    assert_eq!(lab.count("jobkit.subscriptions").await, 0);
}
