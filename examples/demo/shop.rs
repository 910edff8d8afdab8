//! Customers: a steady trickle of jobs, and as much of what waits as there is to be seen.

use std::time::{Duration, SystemTime};

use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::operations::BulkAction;
use jobkit::enqueue::EnqueueError;
use jobkit::{Admin, Enqueue};
use sqlx::PgPool;
use tokio::time::sleep;

use crate::jobs::{
    BuildReport, ChargeCard, PackOrder, RemindOfBasket, ResizeImage, SendReceipt, SyncAccount,
};

const ACCOUNTS: [&str; 8] =
    ["acme", "globex", "hooli", "initech", "soylent", "stark", "umbrella", "wayne"];

/// As many may wait of all there is; then no customer comes until it is less.
const MOST: u32 = 2_000;

/// Dead letters are kept so long. Those of a key replace each other, the others would add up.
const KEEP_DEAD: Duration = Duration::from_secs(6 * 60 * 60);

/// Sells until it is dropped. What a restart of the database interrupts goes on after it.
pub(crate) async fn open(pool: &PgPool, admin: &Admin) {
    while let Err(error) = prepare(pool, admin).await {
        eprintln!("the shop does not open: {error}");
        sleep(Duration::from_secs(5)).await;
    }
    loop {
        if let Err(error) = sell(pool, admin).await {
            eprintln!("the shop is closed for a moment: {error}");
            sleep(Duration::from_secs(5)).await;
        }
    }
}

/// Pauses a queue, and sees to it that there are dead letters from the beginning.
async fn prepare(pool: &PgPool, admin: &Admin) -> anyhow::Result<()> {
    admin.acting_as("demo").queue("warehouse").pause("stocktaking until this afternoon").await?;
    if admin.overview().await?.dead.number() == 0 {
        let receipts = (10_000..10_200).filter(|order_id| [7, 21].contains(&(order_id % 40)));
        jobkit::enqueue_all(receipts.map(receipt), pool).await?;
        let charges = ACCOUNTS.iter().map(|account| charge(account, 12 * 100));
        jobkit::enqueue_all(charges, pool).await?;
    }
    Ok(())
}

/// Removes old dead letters, if there are any.
async fn purge(admin: &Admin) -> Result<(), AdminError> {
    let old = BulkAction::Purge(DeadLetterFilter::all(), KEEP_DEAD);
    if admin.preview(&old).await?.count.number() > 0 {
        let key = format!("purge {:?}", SystemTime::now());
        admin.begin_operation(&old, "nobody replayed them", &key).await?;
    }
    Ok(())
}

/// What a minute brings: fills up what waits every five seconds, and sells something each second.
async fn sell(pool: &PgPool, admin: &Admin) -> anyhow::Result<()> {
    purge(admin).await?;
    for second in 0..60 {
        if second % 5 == 0 {
            while fill_up(pool, admin).await? > MOST {
                sleep(Duration::from_secs(5)).await;
            }
        }
        customer(pool).await?;
        sleep(Duration::from_millis(fastrand::u64(700..1300))).await;
    }
    Ok(())
}

/// Lets some jobs wait for a key, for the warehouse and for their time; says how many wait in all.
async fn fill_up(pool: &PgPool, admin: &Admin) -> anyhow::Result<u32> {
    let now = admin.overview().await?;
    if now.blocked.number() < 8 {
        // One account gets more than its share.
        let pages = (1..=15).map(|page| SyncAccount { account: "acme".to_owned(), page });
        jobkit::enqueue_all(pages, pool).await?;
    }
    if now.scheduled.number() < 40 {
        for _ in 0..20 {
            let basket = RemindOfBasket { to: customer_address(), items: fastrand::u32(1..9) };
            let later = Duration::from_secs(fastrand::u64(60..7200));
            basket.options().after(later).tags(["campaign"]).enqueue(pool).await?;
        }
    }
    let queues = admin.queues().await?;
    let waiting = queues.iter().find(|q| q.queue == "warehouse").map_or(0, |q| q.ready.number());
    if waiting < 60 {
        let orders = (0..20).map(|_| PackOrder { order_id: order(), parcels: fastrand::u32(1..5) });
        jobkit::enqueue_all(orders, pool).await?;
    }
    Ok(now.ready.number() + now.blocked.number() + now.scheduled.number())
}

/// Enqueues some of everything.
async fn customer(pool: &PgPool) -> Result<(), EnqueueError> {
    enqueue(pool, receipt(order())).await?;
    let path = format!("/uploads/{:08x}.jpg", fastrand::u32(..));
    enqueue(pool, ResizeImage { path, width: [320, 640, 1280][fastrand::usize(..3)] }).await?;
    let account = ACCOUNTS[fastrand::usize(..ACCOUNTS.len())];
    if fastrand::u8(..3) == 0 {
        let page = fastrand::u32(1..90);
        enqueue(pool, SyncAccount { account: account.to_owned(), page }).await?;
        enqueue(pool, charge(account, fastrand::i64(100..20_000))).await?;
    }
    if fastrand::u8(..30) == 0 {
        let month = format!("2026-{:02}", fastrand::u32(1..=12));
        enqueue(pool, BuildReport { month }).await?;
    }
    Ok(())
}

async fn enqueue(pool: &PgPool, job: impl Enqueue) -> Result<(), EnqueueError> {
    job.enqueue(pool).await.map(drop)
}

fn order() -> i64 {
    fastrand::i64(10_000..100_000)
}

fn customer_address() -> String {
    format!("customer-{}@example.com", fastrand::u32(1000..10_000))
}

fn receipt(order_id: i64) -> SendReceipt {
    SendReceipt { order_id, to: customer_address() }
}

fn charge(account: &str, cents: i64) -> ChargeCard {
    let card = format!("4242 4242 4242 {:04}", fastrand::u32(..10_000));
    ChargeCard { account: account.to_owned(), cents, card }
}
