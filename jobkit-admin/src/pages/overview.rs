//! What is happening now.

use std::sync::Arc;

use askama::Template;
use jobkit::{Attention, DeadLetterGroup, MeasureFilter, Overview};

use crate::charts::Charts;
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
    charts: Charts,
    /// Where this page is, up to its range.
    here: &'static str,
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let admin = visit.admin();
    let overview = visit.shared.overview.get(admin.overview());
    let charts = Charts::of(visit, MeasureFilter::all());
    let overview = async { Ok(overview.await?) };
    let groups = async { Ok(admin.dead_letter_groups(5).await?) };
    let (now, groups, charts) = tokio::try_join!(overview, groups, charts)?;
    Ok(html(&Page { frame: visit.frame("Overview"), now, groups, charts, here: "/?" }))
}
