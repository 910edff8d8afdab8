use std::sync::Arc;
use std::time::Duration;

use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::report::Verdict;
use jobkit::testing::{RunOutcome, advance, assert_enqueued, context};
use jobkit::{Admin, Enqueue, Job};
use shop::jobs::*;
use shop::partners::{PAGES, Partners, lock};

use crate::stage::{drain, open, order};

#[tokio::test]
async fn a_card_is_charged_once_though_the_answer_got_lost() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners { lose_answers: 1.into(), ..Partners::default() }).await?;
    let charge = ChargeCard { order: order(&lab, "", "").await, card: "tok".into() };
    // With one attempt it is a dead letter at once, and its replay another job.
    charge.options().max_attempts(1).enqueue(&shop.pool).await?;
    assert_eq!(drain(&shop).await?.outcomes(), [RunOutcome::Buried("exhausted")]);
    let letter = DeadLetterId(lab.value("select id from jobkit.dead_letters").await);
    Admin::new(&shop.pool).dead_letter(letter).replay().await?;
    drain(&shop).await?.assert_finished();
    assert_eq!(lab.count("orders where charged_at is not null").await, 1);
    assert_eq!(lock(&shop.partners.charges).len(), 1);
    assert_eq!(*lock(&shop.partners.mails), ["ada@example.com"]);
    Ok(())
}

#[tokio::test]
async fn a_declined_card_is_no_fault_and_its_order_goes_in_time() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners::default()).await?;
    let order = order(&lab, "", "").await;
    ChargeCard { order, card: "tok_declined".into() }.enqueue(&shop.pool).await?;
    CleanUp { days: 1 }.enqueue(&shop.pool).await?;
    let report = drain(&shop).await?;
    let declined = report.of::<ChargeCard>().next().and_then(|run| run.error.as_deref());
    assert_eq!((declined, lock(&shop.partners.mails).len()), (Some("the card was declined"), 0));
    assert_eq!(lab.count("orders where declined_at is not null").await, 1);
    lab.run("update orders set declined_at = now() - interval '2 d'").await;
    CleanUp { days: 1 }.enqueue(&shop.pool).await?;
    drain(&shop).await?.assert_finished();
    assert_eq!(lab.count("orders").await, 0);
    Ok(())
}

#[tokio::test]
async fn a_receipt_that_is_refused_is_tried_again_and_sent_once() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners { refuse_mails: 1.into(), ..Partners::default() }).await?;
    let order = order(&lab, "", "").await;
    SendReceipt { order, credit_note: false }.enqueue(&shop.pool).await?;
    let outcomes = drain(&shop).await?.outcomes();
    assert!(matches!(outcomes[..], [RunOutcome::Retried(_), RunOutcome::Finished]), "{outcomes:?}");
    SendReceipt { order, credit_note: false }.enqueue(&shop.pool).await?;
    drain(&shop).await?.assert_finished();
    assert_eq!(lock(&shop.partners.mails).len(), 1);
    Ok(())
}

#[test]
fn each_answer_of_an_endpoint_means_what_it_means() {
    let seconds = Duration::from_secs;
    for (status, retry_after, verdict) in [
        (200, None, None),
        (410, None, Some(Verdict::Discard)),
        (429, Some(3000), Some(Verdict::Wait(seconds(3000)))),
        (429, None, Some(Verdict::Wait(seconds(60)))),
        (503, Some(1_000_000), Some(Verdict::RetryIn(seconds(3600)))),
        (503, None, Some(Verdict::Retry)),
        (500, None, Some(Verdict::Retry)),
        (400, None, Some(Verdict::Dead)),
    ] {
        let error = webhook::verdict(status, retry_after).err();
        assert_eq!(error.map(|error| error.verdict()), verdict, "{status}");
    }
}

#[tokio::test]
async fn an_import_that_was_stopped_goes_on_at_its_checkpoint() -> anyhow::Result<()> {
    let page_takes = Duration::from_millis(300);
    let (lab, mut shop) = open(Partners { page_takes, ..Partners::default() }).await?;
    let import = lab.value("insert into imports default values returning id").await;
    let cx = context(shop.clone());
    let stops = cx.stops();
    let two_pages = async { lab.until("(select next_page from imports) >= 2").await };
    let stop = async {
        two_pages.await;
        stops.stop();
    };
    let (ended, ()) = tokio::join!(ImportStock { import }.run(cx.build()), stop);
    assert_eq!(ended.map_err(|error| error.verdict()), Err(Verdict::Release));
    let next: i32 = lab.value("select next_page from imports where done_at is null").await;

    shop.partners = Arc::default(); // of another process, and quicker
    ImportStock { import }.enqueue(&shop.pool).await?;
    drain(&shop).await?.assert_finished();
    assert_eq!(lock(&shop.partners.pages).first(), Some(&next));
    assert_eq!(lab.count("imports where done_at is not null").await, 1);
    assert_eq!(lab.count("products").await, i64::from(PAGES) * 25);
    Ok(())
}

#[tokio::test]
async fn a_report_is_made_once_and_enqueues_the_next() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners::default()).await?;
    order(&lab, ", charged_at", ", now()").await;
    plan_report(&shop.pool).await?;
    plan_report(&shop.pool).await?;
    let planned = assert_enqueued::<NightlyReport>(&shop.pool, |_| true).await;
    advance(&shop.pool, planned.due_in).await?;
    assert_eq!(drain(&shop).await?.assert_finished().runs.len(), 1);
    assert_eq!(lab.count("reports where orders = 1 and cents = 900").await, 1);
    let next = assert_enqueued::<NightlyReport>(&shop.pool, |_| true).await;
    assert!(next.day > planned.day && next.due_in > Duration::from_secs(24 * 3600));
    Ok(())
}

#[tokio::test]
async fn a_refund_tells_everybody_once() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners::default()).await?;
    lab.run("insert into endpoints (url) values ('a'), ('b')").await;
    lab.run("insert into products values ('sku-1', 'A red bicycle')").await;
    let order = order(&lab, ", charged_at", ", now()").await;
    RefundOrder { order }.enqueue(&shop.pool).await?;
    RefundOrder { order }.enqueue(&shop.pool).await?;
    let report = drain(&shop).await?;
    let refunds: Vec<_> = report.of::<RefundOrder>().map(|run| run.outcome).collect();
    assert_eq!(refunds, [RunOutcome::Finished, RunOutcome::Discarded]);
    assert_eq!((report.of::<DeliverWebhook>().count(), lock(&shop.partners.mails).len()), (2, 1));
    let words: Vec<String> = lab.value("select words from products").await;
    assert_eq!(words, ["bicycle", "red"]);
    Ok(())
}
