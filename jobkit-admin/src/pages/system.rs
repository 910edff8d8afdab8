//! What the doctor says.

use askama::Template;
use jobkit::admin::Severity;
use jobkit::admin::doctor::Diagnosis;

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "system.html")]
struct System<'a> {
    frame: Frame<'a>,
    diagnosis: Diagnosis,
}

/// How a finding looks.
fn look(severity: &Severity) -> &'static str {
    match severity {
        Severity::Critical => "failed",
        Severity::Warning => "paused",
        _ => "scheduled",
    }
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let diagnosis = visit.admin().doctor().await?;
    Ok(html(&System { frame: visit.frame("System"), diagnosis }))
}
