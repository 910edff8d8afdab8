//! The outside world, played in memory: replace it with your clients of these services.
//!
//! Tests read what arrived, and say what is answered.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::sleep;

/// An answer of somebody's HTTP server: the parts that decide what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
}

/// What the card provider says of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// The money is on its way.
    Accepted,
    /// The bank refuses; asking again does not help.
    Declined,
}

/// The mail server, the card provider, the customers' endpoints and the supplier.
#[derive(Debug, Default)]
pub struct Partners {
    /// Charges by their idempotency key.
    pub charges: Mutex<HashMap<String, i64>>,
    /// What endpoints answer, by URL; the others say 200.
    pub replies: Mutex<HashMap<String, Reply>>,
    /// Addresses that mail went to.
    pub mails: Mutex<Vec<String>>,
    /// How many mails are refused before one is taken.
    pub refuse_mails: Mutex<u32>,
    /// How many charges get lost on their way back: made, but not answered.
    pub lose_answers: Mutex<u32>,
    /// Pages of the supplier's list that were asked for.
    pub pages: Mutex<Vec<i32>>,
    /// How long such a page takes.
    pub page_takes: Duration,
}

/// How many pages the supplier's list has.
pub const PAGES: i32 = 40;

/// Takes one off a count; false when it is used up.
fn take(count: &Mutex<u32>) -> bool {
    let mut count = count.lock().expect("nothing panics while it holds this");
    let left = count.checked_sub(1);
    *count = left.unwrap_or(0);
    left.is_some()
}

impl Partners {
    /// Sends a mail.
    pub async fn mail(&self, to: &str) -> anyhow::Result<()> {
        anyhow::ensure!(!take(&self.refuse_mails), "450 try again later");
        self.mails.lock().expect("nothing panics while it holds this").push(to.to_owned());
        Ok(())
    }

    /// Charges a card; a key that was seen before charges nothing.
    pub async fn charge(&self, key: &str, card: &str, cents: i64) -> anyhow::Result<Charge> {
        if card == "declined" {
            return Ok(Charge::Declined);
        }
        let mut charges = self.charges.lock().expect("nothing panics while it holds this");
        charges.entry(key.to_owned()).or_insert(cents);
        anyhow::ensure!(!take(&self.lose_answers), "the connection was reset");
        Ok(Charge::Accepted)
    }

    /// Sends an event to a customer's endpoint. The id of the event goes along as a header, by
    /// which the customer drops what arrives twice.
    pub async fn post(&self, url: &str, _event: &str) -> anyhow::Result<Reply> {
        let replies = self.replies.lock().expect("nothing panics while it holds this");
        Ok(replies.get(url).copied().unwrap_or(Reply { status: 200, retry_after: None }))
    }

    /// A page of the supplier's list: numbers of products, and how many there are of each.
    pub async fn stock(&self, page: i32) -> Vec<(String, i32)> {
        self.pages.lock().expect("nothing panics while it holds this").push(page);
        sleep(self.page_takes).await;
        let products = if page < PAGES { 0..25 } else { 0..0 };
        products.map(|n| (format!("sku-{}", page * 25 + n), n)).collect()
    }
}
