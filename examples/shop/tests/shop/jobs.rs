use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::{Admin, Enqueue, JobId};
use shop::jobs::*;
use shop::partners::{PAGES, Partners, lock};

use crate::stage::{drain, endings, open, order, work};

#[tokio::test]
async fn a_card_is_charged_once_though_the_answer_got_lost() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners { lose_answers: 1.into(), ..Partners::default() }).await?;
    let order = order(&lab, "", "").await;
    // With one attempt it is a dead letter at once, and its replay another job.
    let charge = ChargeCard { order, card: "tok".into() };
    charge.options().max_attempts(1).enqueue(&shop.pool).await?;
    drain(&lab, &shop).await?;
    let letter = "select id from jobkit.dead_letters where reason = 'exhausted'";
    let letter: i64 = lab.value(letter).await;
    Admin::new(&shop.pool).replay(DeadLetterId(letter)).await?;
    drain(&lab, &shop).await?;
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
    drain(&lab, &shop).await?;
    assert_eq!(endings(&shop, "charge_card").await?, ["discard: the card was declined"]);
    assert_eq!(lab.count("orders where declined_at is not null").await, 1);
    assert!(lock(&shop.partners.mails).is_empty());

    CleanUp { days: 1 }.enqueue(&shop.pool).await?;
    drain(&lab, &shop).await?;
    assert_eq!(lab.count("orders").await, 1);
    lab.run("update orders set declined_at = now() - interval '2 d'").await;
    CleanUp { days: 1 }.enqueue(&shop.pool).await?;
    drain(&lab, &shop).await?;
    assert_eq!(lab.count("orders").await, 0);
    Ok(())
}

#[tokio::test]
async fn a_receipt_that_is_refused_is_tried_again_and_sent_once() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners { refuse_mails: 1.into(), ..Partners::default() }).await?;
    let order = order(&lab, "", "").await;
    SendReceipt { order, credit_note: false }.enqueue(&shop.pool).await?;
    let worker = work(&lab, &shop).await?;
    lab.until("exists (select from jobkit.finished where attempt = 2)").await;
    SendReceipt { order, credit_note: false }.enqueue(&shop.pool).await?;
    lab.until("count(*) = 2 from jobkit.finished").await;
    worker.stop().await;
    assert_eq!(lock(&shop.partners.mails).len(), 1);
    Ok(())
}

#[tokio::test]
async fn each_answer_of_an_endpoint_means_what_it_means() -> anyhow::Result<()> {
    let replies = [("ok", 200), ("gone", 410), ("busy", 429), ("down", 500), ("wrong", 400)];
    let wait = |status| (status == 429).then_some(3000);
    let replies = replies.map(|(url, status)| (url.to_owned(), (status, wait(status))));
    let replies = Mutex::new(HashMap::from(replies));
    let (lab, shop) = open(Partners { replies, ..Partners::default() }).await?;
    lab.run("insert into endpoints (url) select unnest('{ok,gone,busy,down,wrong}'::text[])").await;
    let mut tx = shop.pool.begin().await?;
    webhook::announce("order.placed", 7, &mut tx).await?;
    tx.commit().await?;
    drain(&lab, &shop).await?;

    let ended = endings(&shop, "deliver_webhook").await?;
    assert_eq!(ended, ["finish", "discard: 410: the endpoint is gone"]);
    assert_eq!(lab.count("endpoints where gone_at is not null and url = 'gone'").await, 1);
    assert_eq!(lab.count("jobkit.dead_letters where reason = 'dead'").await, 1);
    // How often the other one was tried by now depends on how fast this machine is.
    let asked = "jobkit.jobs where run_at > now() + interval '2900 s' and attempt = 1";
    assert_eq!((lab.count("jobkit.jobs where attempt > 0").await, lab.count(asked).await), (2, 1));
    Ok(())
}

#[tokio::test]
async fn an_import_that_was_stopped_goes_on_at_its_checkpoint() -> anyhow::Result<()> {
    let page_takes = Duration::from_millis(300);
    let (lab, mut shop) = open(Partners { page_takes, ..Partners::default() }).await?;
    let import = lab.value("insert into imports default values returning id").await;
    ImportStock { import }.enqueue(&shop.pool).await?;
    let worker = work(&lab, &shop).await?;
    lab.until("(select next_page from imports) >= 2").await;
    worker.stop().await;
    let next: i32 = lab.value("select next_page from imports where done_at is null").await;
    assert_eq!(lab.count("jobkit.jobs where attempt = 0 and crashes = 0").await, 1);

    shop.partners = Arc::default(); // of another process, and quicker
    drain(&lab, &shop).await?;
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
    assert_eq!(lab.count("jobkit.jobs where run_at > now()").await, 1);
    let job: i64 = lab.value("select id from jobkit.jobs").await;
    Admin::new(&shop.pool).reschedule(JobId(job), None).await?; // its time has come
    let worker = work(&lab, &shop).await?;
    lab.until("exists (select from reports where made_at is not null)").await;
    lab.until("exists (select from jobkit.finished)").await;
    worker.stop().await;
    assert_eq!(lab.count("reports where orders = 1 and cents = 900").await, 1);
    assert_eq!(lab.count("jobkit.jobs where run_at > now() + interval '1 d'").await, 1);
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
    drain(&lab, &shop).await?;
    let mut refunds = endings(&shop, "refund_order").await?;
    refunds.sort();
    assert_eq!(refunds, ["discard: there is nothing to refund", "finish"]);
    assert_eq!(endings(&shop, "deliver_webhook").await?, ["finish"; 2]);
    assert_eq!(lock(&shop.partners.mails).len(), 1);
    let words: Vec<String> = lab.value("select words from products").await;
    assert_eq!(words, ["bicycle", "red"]);
    Ok(())
}
