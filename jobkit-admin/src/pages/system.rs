//! The findings of the doctor.

use askama::Template;
use jobkit::admin::doctor::Diagnosis;

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "system.html")]
struct System<'a> {
    frame: Frame<'a>,
    diagnosis: Diagnosis,
}

pub(crate) async fn show(context: &Context) -> Answer {
    let diagnosis = context.admin().doctor().await?;
    Ok(html(&System { frame: Frame::of(context, "System"), diagnosis }))
}
