//! What the dashboards show: real jobs of real workers, some of which never end.

use std::time::Duration;

use jobkit::enqueue::EnqueueError;
use jobkit::{Admin, Batch, Enqueue, Job, JobContext, JobError, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

/// Mails a receipt; fails for good when the address is refused.
#[derive(Serialize, Deserialize)]
#[job(queue = "mail", retention = "1d")]
pub(crate) struct SendReceipt {
    pub(crate) order_id: i64,
    pub(crate) to: String,
}

impl Job for SendReceipt {
    async fn run(self, _: JobContext) -> jobkit::Result {
        match self.to.ends_with(".invalid") {
            true => Err(JobError::dead(format!("550 5.1.1 <{}>: recipient rejected", self.to))),
            false => Ok(()),
        }
    }
}

/// One at a time for each account, and never done with the first account.
#[derive(Serialize, Deserialize)]
#[job(queue = "sync", concurrency_key = self.account, concurrency_limit = 1, redact(token))]
pub(crate) struct SyncAccount {
    account: String,
    page: u32,
    token: String,
}

impl Job for SyncAccount {
    async fn run(self, _: JobContext) -> jobkit::Result {
        if self.account == "acme" {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// A page of a document that is read at night, as a member of a batch.
#[derive(Serialize, Deserialize)]
#[job(queue = "sync")]
pub(crate) struct ReadPage {
    page: u32,
}

impl Job for ReadPage {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// What follows once all pages have been read.
#[derive(Serialize, Deserialize)]
#[job(queue = "sync")]
pub(crate) struct MergePages;

impl Job for MergePages {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Fails while the card has expired: one dead letter for each account.
#[derive(Serialize, Deserialize)]
#[job(queue = "billing", dead_letter_key = self.account)]
pub(crate) struct ChargeCard {
    account: String,
    card: String,
    cents: i64,
}

impl Job for ChargeCard {
    async fn run(self, _: JobContext) -> jobkit::Result {
        match self.card.as_str() {
            "expired" => {
                let error = format!("the bank refused {} cents: expired_card", self.cents);
                Err(JobError::dead(error))
            }
            _ => Ok(()),
        }
    }
}

/// Is tried again in an hour.
#[derive(Serialize, Deserialize)]
#[job(queue = "reports", max_attempts = 3, backoff = fixed("1h"))]
pub(crate) struct BuildReport {
    month: String,
}

impl Job for BuildReport {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Err(format!("the figures of {} are not complete yet", self.month).into())
    }
}

/// No worker serves its queue.
#[derive(Serialize, Deserialize)]
#[job(queue = "archive")]
pub(crate) struct ArchiveOrder {
    pub(crate) order_id: i64,
}

impl Job for ArchiveOrder {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// An hour in which things went up and down.
const HISTORY: &str = "
    insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
    select 1, date_trunc('minute', now()) - n * interval '1 min', queue, kind, outcome, c,
        array_fill(0, array[at]) || c, array_fill(0, array[at - 4 + n % 5]) || c
    from generate_series(1, 58) n, (values
            ('mail', 'send_receipt', 'finish', 40, 16), ('mail', 'send_receipt', 'retry', 5, 22),
            ('billing', 'charge_card', 'finish', 17, 20), ('billing', 'charge_card', 'bury', 2, 18),
            ('sync', 'sync_account', 'finish', 9, 27))
        as of (queue, kind, outcome, base, at),
        lateral (select (base * (1 + 0.4 * sin(n / 6.0)) + n % 3)::int as c) as counted
    on conflict do nothing";

/// Two hundred schedules. Those that might come meanwhile are paused.
const SCHEDULES: &str = "
    insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max, catch_up_window,
        overlap, jitter, kind, queue, priority, max_attempts, args, paused_at, paused_by,
        pause_reason)
    select 'report-' || to_char(n, 'FM000'), t.times, now() + interval '1 d' + n * interval '1 min',
        'latest', 1, '0', 'allow', '0', 'build_report', 'reports', 0, 3,
        '{\"month\": \"2026-11\"}', now(), 'bob', 'stocktaking'
    from generate_series(0, 199) n, lateral (select (array['@daily Europe/Berlin',
        '*/30 * * * *', '0 3,15 * * * America/New_York', 'every 15m', '0 9 * * MON-FRI'])[1 + n % 5]
        as times) t;
    insert into jobkit.schedule_runs (schedule, instant, skipped)
    select 'report-000', now() - n * interval '1 d', 'paused' from generate_series(1, 9) n;
    insert into jobkit.schedule_runs (schedule, instant, job_id, skipped)
    select 'report-001', now() - n * interval '7 h', case when n = 2 then 7 end,
        case when n <> 2 then 'missed' end
    from generate_series(1, 9) n";

async fn enqueue(lab: &Lab) -> Result<(), EnqueueError> {
    let pool = lab.pool();
    for n in 0..24 {
        let to = format!("customer-{n}@shop.{}", if n < 14 { "example" } else { "invalid" });
        let receipt = SendReceipt { order_id: 9_007_199_254_740_993 + n, to };
        receipt.options().tags(["customer"]).enqueue(pool).await?;
        let account = if n < 16 { "acme" } else { ["globex", "initech", "hooli"][n as usize % 3] };
        let (account, token) = (account.to_owned(), format!("secret-{n}"));
        SyncAccount { account, page: n as u32, token }.enqueue(pool).await?;
        let later = SendReceipt { order_id: n, to: "later@shop.example".to_owned() };
        later.options().after(Duration::from_secs(600 + 60 * n as u64)).enqueue(pool).await?;
    }
    for n in 0..6 {
        let account = ["globex", "initech", "hooli", "stark", "wayne", "soylent"][n].to_owned();
        let charge = ChargeCard { account, card: "expired".to_owned(), cents: 100 * n as i64 };
        charge.enqueue(pool).await?;
        BuildReport { month: format!("2026-{:02}", n + 1) }.enqueue(pool).await?;
        let archive = ArchiveOrder { order_id: n as i64 };
        archive.options().tags(["yearly"]).enqueue(pool).await?;
    }
    let night = Duration::from_secs(9 * 60 * 60);
    let pages = (1..=7).map(|page| ReadPage { page }.options().after(night));
    let mut connection = pool.acquire().await.map_err(EnqueueError::from)?;
    Batch::of(pages).then(MergePages).or_else(MergePages).enqueue(&mut connection).await?;
    Ok(())
}

/// Fills the database; comes back when the workers have done all that they can.
pub(crate) async fn set(lab: &Lab) -> anyhow::Result<Vec<WorkerHandle>> {
    lab.run(HISTORY).await;
    lab.run(SCHEDULES).await;
    let admin = Admin::new(lab.pool()).acting_as("bob");
    admin.queue("exports").pause("the disk is full").await?;
    enqueue(lab).await?;
    let worker = |name: &str| {
        let worker = lab.worker().name(name).lease(Duration::from_secs(30));
        worker.heartbeat(Duration::from_secs(1)).stop_grace(Duration::from_millis(200))
    };
    let one = worker("web-1").queue("mail", 4).queue("sync", 6).queue("billing", 2);
    let workers = vec![one.start().await?, worker("web-2").queue("reports", 2).start().await?];
    let settled = "(select count(*) from jobkit.dead_letters) = 16
        and (select count(*) from jobkit.attempts) = 6
        and (select count(*) from jobkit.ready) = 6
        and (select count(*) from jobkit.claims) = 1";
    lab.until(settled).await;
    Ok(workers)
}
