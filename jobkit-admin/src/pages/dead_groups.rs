//! Dead letters by their cause.

use askama::Template;
use jobkit::admin::Count;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterGroup, DeadLetterState};

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::spark::Spark;
use crate::visit::Visit;

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

pub(crate) async fn show(visit: &Visit) -> Answer {
    let admin = visit.admin();
    let of = |state| DeadLetterFilter::all().state(state);
    let [open, replaying, resolved] =
        [DeadLetterState::Open, DeadLetterState::Replaying, DeadLetterState::Resolved].map(of);
    let (groups, open, replaying, resolved) = tokio::try_join!(
        admin.dead_letter_groups(GROUPS),
        admin.count_dead_letters(&open),
        admin.count_dead_letters(&replaying),
        admin.count_dead_letters(&resolved),
    )?;
    Ok(html(&Groups { frame: visit.frame("Dead letters"), groups, open, replaying, resolved }))
}
