use super::Link;
use super::statements::sweep_keys;
use crate::error::DatabaseError;

/// Keys looked at by one call.
const PAGE: i32 = 500;

/// A page that unblocked this many may have more: a key grants 1,000 permits at a time.
const AGAIN: i32 = 1000;

/// Fills every key with free permits and blocked jobs, page by page; returns how many jobs became
/// ready.
pub(crate) async fn sweep_all(link: &mut Link) -> Result<i32, DatabaseError> {
    let mut unblocked = 0;
    let mut after = (String::new(), String::new());
    loop {
        let (swept, group, key) = link.call(&sweep_keys(&after.0, &after.1, PAGE)).await?;
        unblocked += swept;
        if swept >= AGAIN {
            continue;
        }
        match group.zip(key) {
            Some(last) => after = last,
            None => return Ok(unblocked),
        }
    }
}
