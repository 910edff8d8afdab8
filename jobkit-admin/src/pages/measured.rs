//! The measures of one queue or kind.

use askama::Template;
use jobkit::admin::measures::MeasureFilter;

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::show;
use crate::render::charts::Charts;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "measured.html")]
struct Measured<'a> {
    frame: Frame<'a>,
    /// `queue` or `kind`.
    what: &'static str,
    name: &'a str,
    charts: Charts,
    /// The address of this page, up to its range.
    here: String,
}

pub(crate) async fn queue(context: &Context) -> Answer {
    show(context, "queue", "/queues/queue").await
}

pub(crate) async fn kind(context: &Context) -> Answer {
    show(context, "kind", "/kinds/kind").await
}

async fn show(context: &Context, what: &'static str, path: &str) -> Answer {
    let name = context.request.query(what).ok_or(Failure::NotFound)?;
    let filter = match what {
        "queue" => MeasureFilter::all().queue(name),
        _ => MeasureFilter::all().kind(name),
    };
    let charts = Charts::of(context, filter).await?;
    let here = format!("{path}?{what}={}&", show::url(name));
    Ok(html(&Measured { frame: Frame::of(context, name), what, name, charts, here }))
}
