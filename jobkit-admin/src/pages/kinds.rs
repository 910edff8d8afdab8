//! The kinds of jobs.

use askama::Template;
use jobkit::admin::brakes::Brake;
use jobkit::admin::kinds::KindSummary;

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
    brakes: Vec<Brake>,
}

pub(crate) async fn list(context: &Context) -> Answer {
    let admin = context.admin();
    let (kinds, brakes) = tokio::try_join!(admin.kinds(), admin.brakes())?;
    Ok(html(&Kinds { frame: Frame::of(context, "Kinds"), kinds, brakes }))
}
