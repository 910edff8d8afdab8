//! Dead letters by their cause.

use askama::Template;
use jobkit::admin::Count;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterGroup, DeadLetterState};

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::render::spark::Spark;

const GROUPS: u32 = 50;

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
