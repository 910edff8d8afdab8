//! Ten thousand deliveries to servers of every kind: each ends as the table of reactions says.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jobkit::{Enqueue, JobType, enqueue_all};
use jobkit_tests::Lab;
use jobkit_webhooks::{DeliverWebhook, Event};

use crate::customers::Customers;
use crate::receiver::{Receiver, Reply, elsewhere, endless, rest, says, silent};

/// Events of one group go to endpoints that behave in the same way.
struct Group {
    name: &'static str,
    endpoints: usize,
    /// Of each endpoint.
    events: usize,
    /// Attempts of each event.
    attempts: u16,
    end: End,
}

/// Where events of a group are at last.
#[derive(Clone, Copy)]
enum End {
    Delivered,
    Discarded,
    /// Dead letters, after the only attempt or at once.
    Dead(&'static str),
    /// They wait: for the endpoint's rest to be over.
    Waiting,
}

const GROUPS: [Group; 13] = [
    group("ok", 50, 116, 10, End::Delivered),
    group("gone", 10, 100, 10, End::Discarded),
    group("once", 10, 50, 10, End::Delivered),
    group("busy", 5, 60, 10, End::Waiting),
    group("tired", 5, 40, 10, End::Waiting),
    group("back", 5, 20, 10, End::Waiting),
    group("fails", 10, 50, 1, End::Dead("exhausted")),
    group("refuses", 10, 60, 10, End::Dead("dead")),
    group("moved", 5, 60, 10, End::Dead("dead")),
    group("silent", 4, 5, 1, End::Dead("exhausted")),
    group("endless", 4, 20, 10, End::Delivered),
    group("private", 10, 40, 10, End::Dead("dead")),
    group("closed", 4, 50, 1, End::Dead("exhausted")),
];

const fn group(
    name: &'static str,
    endpoints: usize,
    events: usize,
    attempts: u16,
    end: End,
) -> Group {
    Group { name, endpoints, events, attempts, end }
}

/// Addresses that nobody is to be sent to, in the forms that people try. 127.0.0.0/8 is allowed in
/// this test, so none is in there.
const PRIVATE: [&str; 10] = [
    "https://10.0.0.1/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "https://192.168.1.1:8443/",
    "https://[::1]/",
    "https://[fd00:ec2::254]/",
    "https://[::ffff:10.0.0.1]/",
    "https://0xa000001/",
    "https://100.64.1.1/",
    "http://0/",
];

/// What the receiver answers; redirects lead to `inside`.
fn replies(path: &str, nth: usize, inside: &str) -> Reply {
    match path.split('/').nth(1).unwrap() {
        "ok" => says(if nth.is_multiple_of(2) { 204 } else { 200 }),
        "gone" => says(410),
        "once" if nth == 1 => rest(429, "1"),
        "once" => says(200),
        // For longer than the test lasts.
        "busy" => rest(429, "600"),
        // Not for how long: a minute then.
        "tired" => says(429),
        "back" => rest(503, "3600"),
        "fails" => says(500),
        "refuses" => (422, None, format!("nonsense {nth}")),
        "moved" => elsewhere(inside),
        other => panic!("nobody is sent to {other}"),
    }
}

/// Where the endpoints of a group are.
async fn urls(group: &Group, receiver: &Receiver, taken: &Arc<AtomicUsize>) -> Vec<String> {
    let mut urls = Vec::new();
    for (n, private) in PRIVATE.iter().cycle().enumerate().take(group.endpoints) {
        urls.push(match group.name {
            "silent" => silent().await,
            "endless" => endless(Arc::clone(taken)).await,
            "private" => (*private).to_owned(),
            "closed" => "http://127.0.0.1:9/".to_owned(),
            name => receiver.url(&format!("/{name}/{n}")),
        });
    }
    urls
}

/// Enqueues the events of all groups; the tag of each is its group.
async fn enqueue(lab: &Lab, customers: &Customers, receiver: &Receiver, taken: &Arc<AtomicUsize>) {
    let mut tx = lab.pool().begin().await.unwrap();
    for group in &GROUPS {
        let urls = urls(group, receiver, taken).await;
        let ids: Vec<_> = urls.into_iter().map(|url| customers.add(&url, group.name)).collect();
        let jobs = (0..group.events).flat_map(|n| {
            let event = Event::new("order.paid", &n).unwrap();
            ids.iter().map(|id| event.to(id)).collect::<Vec<_>>()
        });
        let jobs = jobs.map(|job| job.options().max_attempts(group.attempts).tags([group.name]));
        enqueue_all(jobs, &mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// How many of a group have ended so.
async fn ended(lab: &Lab, group: &Group) -> i64 {
    let tagged = format!("tags = '{{{}}}'", group.name);
    let from = match group.end {
        End::Delivered => format!("jobkit.finished where outcome = 'finish' and {tagged}"),
        End::Discarded => format!("jobkit.finished where outcome <> 'finish' and {tagged}"),
        End::Dead(reason) => {
            format!("jobkit.dead_letters where attempt = 1 and reason = '{reason}' and {tagged}")
        }
        End::Waiting => format!("jobkit.jobs where {tagged}"),
    };
    lab.count(&from).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_deliveries_end_as_the_table_says() {
    let lab = Lab::new().await;
    let inside = Receiver::start(|_, _| says(200)).await;
    let loopback = inside.url("/secret");
    let receiver = Receiver::start(move |path, nth| replies(path, nth, &loopback)).await;
    let taken = Arc::<AtomicUsize>::default();
    let customers = Customers::default();
    let webhooks = customers.webhooks(&lab).timeout(Duration::from_secs(8));
    let webhooks = webhooks.allow("127.0.0.0/8".parse().unwrap());
    jobkit::announce(lab.pool()).await.unwrap();
    enqueue(&lab, &customers, &receiver, &taken).await;
    let all: usize = GROUPS.iter().map(|group| group.endpoints * group.events).sum();
    assert_eq!((all, lab.count("jobkit.jobs").await), (10_000, 10_000));

    let worker = lab.worker().lease(Duration::from_secs(20)).state(webhooks);
    let began = Instant::now();
    let worker = worker.queue("webhooks", 200).start().await.unwrap();
    let waits = "select count(*) from jobkit.jobs where not tags && '{busy,tired,back}'";
    lab.until_within(Duration::from_secs(180), &format!("({waits}) = 0")).await;
    lab.until("not exists (select from jobkit.claims)").await;
    worker.stop().await;

    for group in &GROUPS {
        let expected = i64::try_from(group.endpoints * group.events).unwrap();
        assert_eq!(ended(&lab, group).await, expected, "{}", group.name);
    }
    requests(&customers, &receiver, began.elapsed());
    assert_eq!(inside.connections.load(Relaxed), 0, "a redirect was followed");
    // The sockets' buffers have taken some megabytes of each gigabyte, and nothing has read on.
    let each = taken.load(Relaxed) / (4 * 20);
    assert!((64 * 1024..64 * 1024 * 1024).contains(&each), "{each} bytes of a gigabyte");
    rests(&lab, &customers).await;
    lab.check_invariants().await;
}

/// What came to the receiver: of each event what its group says, and signed.
fn requests(customers: &Customers, receiver: &Receiver, lasted: Duration) {
    let minutes = usize::try_from(lasted.as_secs() / 60).unwrap();
    // At most four deliveries of an endpoint run at a time, so more than four do not come to one
    // that rests, or is off.
    let number = |name: &str| -> RangeInclusive<usize> {
        match name {
            "ok" => 116..=116,
            "gone" | "busy" | "back" => 1..=4,
            "tired" => 1..=4 * (1 + minutes),
            "once" => 51..=51,
            "fails" => 50..=50,
            "refuses" | "moved" => 60..=60,
            _ => 0..=0,
        }
    };
    for customer in customers.all() {
        let path = customer.path(&receiver.address);
        let seen = path.map(|path| receiver.at(&path)).unwrap_or_default();
        let expected = number(&customer.group);
        assert!(expected.contains(&seen.len()), "{customer:?}: {} requests", seen.len());
        assert!(seen.iter().all(|seen| seen.verifies(&customer.secrets[0])), "{customer:?}");
        assert_eq!(customer.off.is_some(), customer.group == "gone", "{customer:?}");
    }
}

/// The keys of endpoints that asked for a rest are paused for so long, and those of no others.
async fn rests(lab: &Lab, customers: &Customers) {
    let group = DeliverWebhook::POLICY.kind;
    let asked = [("back", 3001..=3600), ("busy", 61..=600), ("tired", 1..=60)];
    for (at, customer) in customers.all().iter().enumerate() {
        let left = format!(
            "select ceil(greatest(max(extract(epoch from paused_until - now())), 0))::bigint
             from jobkit.semaphores
             where concurrency_group = '{group}' and concurrency_key = '{at}'"
        );
        let left: i64 = lab.value(&left).await;
        let expected = asked.iter().find(|(name, _)| *name == customer.group);
        let expected = expected.map_or(0..=0, |(_, seconds)| seconds.clone());
        assert!(expected.contains(&left), "{customer:?} rests for {left} s");
    }
    let retried = "jobkit.jobs j join jobkit.scheduled s on s.job_id = j.id where j.tags = '{back}'
        and s.run_at < clock_timestamp() + '50 min'";
    assert_eq!(lab.count(retried).await, 0, "an event does not come before the rest is over");
}
