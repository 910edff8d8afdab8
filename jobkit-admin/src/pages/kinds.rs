//! The kinds of jobs.

use askama::Template;
use jobkit::admin::kinds::KindSummary;

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "kinds.html")]
struct Kinds<'a> {
    frame: Frame<'a>,
    kinds: Vec<KindSummary>,
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let kinds = visit.admin().kinds().await?;
    Ok(html(&Kinds { frame: visit.frame("Kinds"), kinds }))
}
