//! Schedules and their runs.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use jobkit::admin::schedules::{ScheduleDetail, ScheduleRun, ScheduleSummary};
use jobkit::schedule::Times;

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::{payload, show};
use crate::render::frame::Frame;
use crate::render::html;

/// Schedules on one page.
const PAGE: u32 = 200;

/// Runs shown on the page of a schedule.
const RUNS: u32 = 50;

/// The bar of a day has this many parts, each of this many minutes.
const PARTS: u32 = 96;
const MINUTES: i64 = 15;

#[derive(Template)]
#[template(path = "schedules.html")]
struct Schedules<'a> {
    frame: Frame<'a>,
    schedules: Vec<Row>,
    /// Where the next page is.
    next: Option<String>,
}

/// A schedule, and when it fires in the next 24 hours: first parts and lengths.
struct Row {
    it: ScheduleSummary,
    day: Vec<(u32, u32)>,
}

pub(crate) async fn list(context: &Context) -> Answer {
    let after = context.request.query("after").unwrap_or("");
    let found = context.admin().schedules(after, PAGE).await?;
    let last = found.last().filter(|_| found.len() == PAGE as usize);
    let next =
        last.map(|last| context.link(&format!("/schedules?after={}", show::url(&last.name))));
    let frame = Frame::of(context, "Schedules");
    let row = |it: ScheduleSummary| Row { day: day(&it.times, frame.now), it };
    let schedules = found.into_iter().map(row).collect();
    Ok(html(&Schedules { frame, schedules, next }))
}

/// The parts of the next 24 hours in which it fires. Computes at most one instant per part.
fn day(times: &str, now: DateTime<Utc>) -> Vec<(u32, u32)> {
    let Ok(times) = times.parse::<Times>() else { return Vec::new() };
    let mut parts: Vec<(u32, u32)> = Vec::new();
    let mut from = now;
    while let Some(next) = times.next_after(from) {
        let part = u32::try_from((next - now).num_minutes() / MINUTES).unwrap_or(PARTS);
        if part >= PARTS {
            break;
        }
        match parts.last_mut().filter(|(first, length)| first + length == part) {
            Some((_, length)) => *length += 1,
            None => parts.push((part, 1)),
        }
        from = now + TimeDelta::minutes(MINUTES * i64::from(part + 1)) - TimeDelta::seconds(1);
        from = from.max(next);
    }
    parts
}

#[derive(Template)]
#[template(path = "schedule.html")]
struct Schedule<'a> {
    frame: Frame<'a>,
    schedule: ScheduleDetail,
    args: String,
    runs: Vec<ScheduleRun>,
    day: Vec<(u32, u32)>,
}

pub(crate) async fn show(context: &Context) -> Answer {
    let name = context.request.query("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Failure::Invalid("A name is required.".into()))?;
    let admin = context.admin();
    let schedule = admin.schedule(name);
    let (schedule, runs) = tokio::try_join!(schedule.get(), schedule.runs(None, RUNS))?;
    let schedule = schedule.ok_or(Failure::NotFound)?;
    let frame = Frame::of(context, "Schedule");
    let day = day(&schedule.summary.times, frame.now);
    let args = payload::shown(&schedule.args, context.redaction());
    Ok(html(&Schedule { frame, schedule, args, runs, day }))
}

/// The link to a schedule.
pub(super) fn page(name: &str) -> String {
    format!("/schedules/schedule?name={}", show::url(name))
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let name = context.request.must("name")?;
    let reason = context.request.field("reason").unwrap_or("");
    context.admin().schedule(name).pause(reason).await?.ok_or(Failure::NotFound)?;
    let message = format!("{name} is paused: runs that come due are recorded as skipped.");
    context.redirect(&page(name), &message)
}

pub(crate) async fn resume(context: &Context) -> Answer {
    let name = context.request.must("name")?;
    context.admin().schedule(name).resume().await?.ok_or(Failure::NotFound)?;
    context.redirect(&page(name), &format!("{name} is not paused."))
}

pub(crate) async fn run(context: &Context) -> Answer {
    let name = context.request.must("name")?;
    let job = context.admin().schedule(name).run().await?.ok_or(Failure::NotFound)?;
    context.redirect(&page(name), &format!("Job {job} is enqueued."))
}

pub(crate) async fn delete(context: &Context) -> Answer {
    let name = context.request.must("name")?;
    if !context.admin().schedule(name).delete().await? {
        return Err(Failure::NotFound);
    }
    context.redirect("/schedules", &format!("{name} is deleted."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_drawn_in_quarters_of_an_hour() {
        let now = "2026-11-25T12:00:00Z".parse().unwrap_or_default();
        let drawn = |times: &str| day(times, now);
        assert_eq!(drawn("0 13 * * *"), [(4, 1)]);
        assert_eq!(drawn("* * * * * *"), [(0, PARTS)]);
        assert_eq!(drawn("every 15m"), [(1, PARTS - 1)]);
        assert_eq!(drawn("30 * * * *").len(), 24);
        assert_eq!(drawn("0 0 1 1 *"), []);
        assert_eq!(drawn("at dusk"), []);
    }
}
