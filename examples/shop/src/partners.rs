//! The outside world, played in memory: replace it with your clients of these services.
//!
//! Tests read what arrived, and say what is answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::sleep;

/// An answer of somebody's server: the status, and `Retry-After` in seconds.
pub type Reply = (u16, Option<u64>);

/// The mail server, the card provider, the customers' endpoints and the supplier.
#[derive(Debug, Default)]
pub struct Partners {
    /// Charges by their idempotency key.
    pub charges: Mutex<HashMap<String, i64>>,
    /// How many charges get lost on their way back: made, but not answered.
    pub lose_answers: AtomicU32,
    pub mails: Mutex<Vec<String>>,
    /// How many mails are refused before one is taken.
    pub refuse_mails: AtomicU32,
    /// What endpoints answer, by URL; the others say 200.
    pub replies: Mutex<HashMap<String, Reply>>,
    /// Pages of the supplier's list that were asked for.
    pub pages: Mutex<Vec<i32>>,
    pub page_takes: Duration,
}

pub const PAGES: i32 = 40;

pub fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("nothing panics while it holds one of these")
}

/// Takes one off a count; false when it is used up.
fn take(count: &AtomicU32) -> bool {
    count.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

impl Partners {
    pub async fn mail(&self, to: &str) -> anyhow::Result<()> {
        anyhow::ensure!(!take(&self.refuse_mails), "450 try again later");
        lock(&self.mails).push(to.to_owned());
        Ok(())
    }

    /// Charges a card, and says whether the bank agrees; a key seen before charges nothing.
    pub async fn charge(&self, key: &str, card: &str, cents: i64) -> anyhow::Result<bool> {
        if card == "tok_declined" {
            return Ok(false);
        }
        lock(&self.charges).entry(key.to_owned()).or_insert(cents);
        anyhow::ensure!(!take(&self.lose_answers), "the connection was reset");
        Ok(true)
    }

    /// Sends an event to a customer's endpoint.
    pub async fn post(&self, url: &str, _event: &str) -> anyhow::Result<Reply> {
        Ok(lock(&self.replies).get(url).copied().unwrap_or((200, None)))
    }

    /// A page of the supplier's list: numbers of products, and how many there are of each.
    pub async fn stock(&self, page: i32) -> Vec<(String, i32)> {
        lock(&self.pages).push(page);
        sleep(self.page_takes).await;
        let products = if page < PAGES { 0..25 } else { 0..0 };
        products.map(|n| (format!("sku-{}", page * 25 + n), n)).collect()
    }
}
