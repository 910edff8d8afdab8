//! What is happening now.

use std::sync::Arc;

use askama::Template;
use jobkit::{Attention, DeadLetterGroup, Overview};

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "overview.html")]
struct Page<'a> {
    frame: Frame<'a>,
    now: Arc<Overview>,
    groups: Vec<DeadLetterGroup>,
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let admin = visit.admin();
    let overview = visit.shared.overview.get(admin.overview());
    let (now, groups) = tokio::try_join!(overview, admin.dead_letter_groups(5))?;
    Ok(html(&Page { frame: visit.frame("Overview"), now, groups }))
}
