//! Dead letters by their cause.

use std::time::Duration;

use askama::Template;
use jobkit::admin::Count;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterGroup, DeadLetterState};

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::render::spark::Spark;

const GROUPS: u32 = 50;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Template)]
#[template(path = "dead_groups.html")]
struct Groups<'a> {
    frame: Frame<'a>,
    groups: Vec<DeadLetterGroup>,
    open: Count,
    replaying: Count,
    resolved: Count,
}

pub(crate) async fn show(context: &Context) -> Answer {
    let admin = context.admin();
    let of = |state| DeadLetterFilter::all().state(state);
    let [open, replaying, resolved] =
        [DeadLetterState::Open, DeadLetterState::Replaying, DeadLetterState::Resolved].map(of);
    let (groups, open, replaying, resolved) = tokio::try_join!(
        admin.dead_letter_groups(GROUPS),
        admin.count_dead_letters(&open),
        admin.count_dead_letters(&replaying),
        admin.count_dead_letters(&resolved),
    )?;
    Ok(html(&Groups {
        frame: Frame::of(context, "Dead letters"),
        groups,
        open,
        replaying,
        resolved,
    }))
}

pub(crate) async fn note(context: &Context) -> Answer {
    let fingerprint = context.request.must("fingerprint")?;
    let note = context.request.field("note").unwrap_or("");
    context.admin().cause(fingerprint).note(note).await?;
    context.redirect("/dead", "The note is saved.")
}

pub(crate) async fn mute(context: &Context) -> Answer {
    let fingerprint = context.request.must("fingerprint")?;
    let days = context.request.must("days")?;
    let days: u32 =
        days.parse().map_err(|_| Failure::Invalid("“days” must be a number.".into()))?;
    let until = context.admin().cause(fingerprint).mute(DAY * days).await?;
    let until = show::utc(&until);
    context.redirect("/dead", &format!("Muted until {until}."))
}

pub(crate) async fn unmute(context: &Context) -> Answer {
    let fingerprint = context.request.must("fingerprint")?;
    context.admin().cause(fingerprint).unmute().await?;
    context.redirect("/dead", "The cause is no longer muted.")
}
