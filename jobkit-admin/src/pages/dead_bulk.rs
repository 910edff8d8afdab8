//! Acts on all dead letters that a filter means.

use std::time::Duration;

use super::dead_letters::Asked;
use crate::access::Permission;
use crate::failure::Failure;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

const DAY: u64 = 24 * 60 * 60;

/// The act's own permission, besides the one for acting in bulk.
fn must(visit: &Visit, permission: Permission) -> Result<(), Failure> {
    visit.may(permission).then_some(()).ok_or(Failure::NotFound)
}

pub(crate) async fn replay_all(visit: &Visit) -> Answer {
    must(visit, Permission::Replay)?;
    let asked = Asked::of(|name| visit.field(name));
    let counts = visit.admin().replay_all(&asked.filter()).await?;
    let said = format!("{} being replayed.", show::plural(counts.replayed, "dead letter"));
    visit.redirect(&format!("/dead/entries?{}", asked.query()), &said)
}

pub(crate) async fn discard_all(visit: &Visit) -> Answer {
    must(visit, Permission::Discard)?;
    let asked = Asked::of(|name| visit.field(name));
    let counts = visit.admin().discard_dead_letters(&asked.filter()).await?;
    let said = format!("{} discarded.", show::plural(counts.discarded, "dead letter"));
    visit.redirect(&format!("/dead/entries?{}", asked.query()), &said)
}

pub(crate) async fn purge(visit: &Visit) -> Answer {
    let asked = Asked::of(|name| visit.field(name));
    let days: u32 = visit.parsed("days")?.unwrap_or(30);
    let age = Duration::from_secs(u64::from(days.min(36_500)) * DAY);
    let counts = visit.admin().purge_dead_letters(age, &asked.filter()).await?;
    let said = format!("{} purged.", show::plural(counts.discarded, "dead letter"));
    visit.redirect(&format!("/dead/entries?{}", asked.query()), &said)
}
