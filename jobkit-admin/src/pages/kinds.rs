//! The kinds of jobs.

use askama::Template;
use jobkit::admin::kinds::KindSummary;
use jobkit::admin::limits::{Limit, LimitFilter};

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "kinds.html")]
struct Kinds<'a> {
    frame: Frame<'a>,
    kinds: Vec<KindSummary>,
    limits: Vec<Limit>,
}

pub(crate) async fn list(context: &Context) -> Answer {
    let admin = context.admin();
    let of_kinds = LimitFilter::all().of(&["all", "kind"]);
    let (kinds, limits) = tokio::try_join!(admin.kinds(), admin.limits(&of_kinds))?;
    Ok(html(&Kinds { frame: Frame::of(context, "Kinds"), kinds, limits }))
}
