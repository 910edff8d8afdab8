//! What was measured of one queue or one kind.

use askama::Template;
use jobkit::admin::measures::MeasureFilter;

use crate::charts::Charts;
use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "measured.html")]
struct Measured<'a> {
    frame: Frame<'a>,
    /// `queue` or `kind`.
    what: &'static str,
    name: &'a str,
    charts: Charts,
    /// Where this page is, up to its range.
    here: String,
}

pub(crate) async fn queue(visit: &Visit) -> Answer {
    show(visit, "queue", "/queues/queue").await
}

pub(crate) async fn kind(visit: &Visit) -> Answer {
    show(visit, "kind", "/kinds/kind").await
}

async fn show(visit: &Visit, what: &'static str, path: &str) -> Answer {
    let name = visit.query(what).ok_or(Failure::NotFound)?;
    let filter = match what {
        "queue" => MeasureFilter::all().queue(name),
        _ => MeasureFilter::all().kind(name),
    };
    let charts = Charts::of(visit, filter).await?;
    let here = format!("{path}?{what}={}&", show::url(name));
    Ok(html(&Measured { frame: visit.frame(name), what, name, charts, here }))
}
