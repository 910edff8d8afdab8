//! One delivery: what arrives, under which id, and what a 410 leaves.

use std::time::Duration;

use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterId};
use jobkit::{Admin, Enqueue, JobId, WorkerHandle};
use jobkit_tests::Lab;
use jobkit_webhooks::Event;

use crate::customers::Customers;
use crate::receiver::{Receiver, Reply, says};

/// A receiver with one customer at `/0`, another at `/1`, and a worker that delivers.
struct Scene {
    lab: Lab,
    receiver: Receiver,
    customers: Customers,
    worker: WorkerHandle,
}

impl Scene {
    async fn new(answers: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Self {
        let (lab, customers) = (Lab::guarded().await, Customers::default());
        let receiver = Receiver::start(answers).await;
        for path in ["/0", "/1"] {
            customers.add(&receiver.url(path), "");
        }
        let webhooks = customers.webhooks(&lab).allow("127.0.0.0/8".parse().unwrap());
        let worker = lab.worker().state(webhooks).queue("webhooks", 10).start().await.unwrap();
        Self { lab, receiver, customers, worker }
    }

    async fn paid(&self, order: i64, endpoint: usize) -> JobId {
        let event = Event::new("order.paid", &order).unwrap();
        event.to(endpoint).enqueue(self.lab.pool()).await.unwrap()
    }

    fn admin(&self) -> Admin {
        Admin::new(self.lab.pool())
    }

    async fn delivered(&self, number: i64) {
        let delivered = "select count(*) from jobkit.finished where outcome = 'finish'";
        self.lab.until(&format!("({delivered}) = {number}")).await;
    }

    async fn end(self) {
        self.worker.stop().await;
        self.lab.check_invariants().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_has_the_same_id_and_body_and_a_signature_of_its_own() {
    let scene = Scene::new(|_, nth| says(if nth == 1 { 500 } else { 200 })).await;
    let job = scene.paid(7, 0).await;
    scene.lab.until("exists (select from jobkit.scheduled)").await;
    scene.admin().job(job).reschedule(None).await.unwrap();
    scene.delivered(1).await;
    let [first, second] = &scene.receiver.at("/0")[..] else { panic!("two attempts") };
    assert!(first.id.starts_with("msg_") && first.id == second.id);
    assert_eq!(first.body, second.body);
    assert_eq!(first.content_type, "application/json");
    let body: serde_json::Value = serde_json::from_str(&first.body).unwrap();
    assert_eq!((&body["type"], &body["data"]), (&"order.paid".into(), &7.into()));
    let secret = &scene.customers.all()[0].secrets[0];
    assert!(first.verifies(secret) && second.verifies(secret));
    assert!(!first.verifies(&scene.customers.all()[1].secrets[0]));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_secret_is_changed_both_verify() {
    let scene = Scene::new(|_, _| says(200)).await;
    let old = scene.customers.all()[0].secrets[0].clone();
    let new = jobkit_webhooks::new_secret();
    scene.customers.change(0, |customer| customer.secrets.insert(0, new.clone()));
    scene.paid(7, 0).await;
    scene.delivered(1).await;
    scene.customers.change(0, |customer| customer.secrets.truncate(1));
    scene.paid(8, 0).await;
    scene.delivered(2).await;
    let [during, after] = &scene.receiver.at("/0")[..] else { panic!("two events") };
    assert_eq!((during.signatures(), after.signatures()), (2, 1));
    assert!(during.verifies(&old) && during.verifies(&new));
    assert!(!after.verifies(&old) && after.verifies(&new));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_410_discards_all_that_waits_for_the_endpoint_and_nothing_else() {
    let scene = Scene::new(|path, _| says(if path == "/0" { 410 } else { 200 })).await;
    let later = async |endpoint: usize| {
        let event = Event::new("order.paid", &endpoint).unwrap();
        let day = Duration::from_secs(86_400);
        event.to(endpoint).options().after(day).enqueue(scene.lab.pool()).await.unwrap();
    };
    for endpoint in [0, 0, 0, 1] {
        later(endpoint).await;
    }
    scene.paid(7, 0).await;
    scene.lab.until("count(*) = 4 from jobkit.finished where outcome <> 'finish'").await;
    let [gone, there] = &scene.customers.all()[..] else { panic!("two customers") };
    let host = scene.receiver.address.ip();
    assert_eq!(gone.off.as_deref(), Some(&*format!("{host} answered 410 Gone")));
    assert_eq!(there.off, None);
    let other = "jobkit.scheduled s join jobkit.jobs j on j.id = s.job_id";
    assert_eq!(scene.lab.count(&format!("{other} where j.concurrency_key = '1'")).await, 1);
    assert_eq!(scene.lab.count("jobkit.jobs").await, 1);
    let said = "jobkit.audit where actor = 'jobkit-webhooks' and detail->>'verb' = 'discard'";
    assert_eq!(scene.lab.count(said).await, 1);

    // What comes now finds it switched off, and later, when it is on again, it is delivered to.
    scene.paid(8, 0).await;
    scene.lab.until("count(*) = 5 from jobkit.finished where outcome = 'discard'").await;
    assert_eq!(scene.receiver.at("/0").len(), 1);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refused_event_is_a_dead_letter_and_its_replay_keeps_the_id() {
    let scene = Scene::new(|_, nth| says(if nth <= 2 { 400 } else { 200 })).await;
    scene.paid(7, 0).await;
    scene.paid(8, 0).await;
    scene.lab.until("count(*) = 2 from jobkit.dead_letters where reason = 'dead'").await;
    let groups = scene.admin().dead_letter_groups(10).await.unwrap();
    assert_eq!(
        groups.iter().map(|group| group.count.number()).collect::<Vec<_>>(),
        [2],
        "one cause"
    );
    let before = scene.receiver.at("/0");
    for seen in &before {
        let key = format!("0/{}", seen.id);
        let found = scene.admin().count_dead_letters(&DeadLetterFilter::all().key(key)).await;
        assert_eq!(found.unwrap().number(), 1);
    }
    for id in ["min", "max"] {
        let id = scene.lab.value(&format!("select {id}(id) from jobkit.dead_letters")).await;
        scene.admin().dead_letter(DeadLetterId(id)).replay().await.unwrap();
    }
    scene.delivered(2).await;
    let ids = |seen: &[crate::receiver::Seen]| {
        let mut ids: Vec<_> = seen.iter().map(|seen| seen.id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&before), ids(&scene.receiver.at("/0")[2..]));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_enqueued_twice_is_one_dead_letter() {
    let scene = Scene::new(|_, _| says(400)).await;
    let event = Event::new("order.paid", &7).unwrap();
    for _ in 0..2 {
        event.to(0).enqueue(scene.lab.pool()).await.unwrap();
    }
    event.to(1).enqueue(scene.lab.pool()).await.unwrap();
    scene.lab.until("not exists (select from jobkit.jobs)").await;
    assert_eq!(scene.lab.count("jobkit.dead_letters").await, 2, "one for each endpoint");
    assert_eq!((scene.receiver.at("/0").len(), scene.receiver.at("/1").len()), (2, 1));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_enqueued_by_sql_is_sent_as_it_is_stored() {
    let scene = Scene::new(|_, _| says(200)).await;
    let job: i64 = scene
        .lab
        .value(
            "select jobkit.enqueue('deliver_webhook', '{\"endpoint\": \"1\", \"body\": {\"a\": 1}}',
            p_concurrency_key => '1')",
        )
        .await;
    scene.delivered(1).await;
    let seen = &scene.receiver.at("/1")[0];
    assert_eq!(seen.body, r#"{"a": 1}"#);
    assert!(seen.id.starts_with(&format!("{job}-")), "{}", seen.id);
    assert!(seen.verifies(&scene.customers.all()[1].secrets[0]));
    scene.end().await;
}
